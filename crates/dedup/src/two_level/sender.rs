//! The sender: ids and hashes at once, segments when they are asked for, and groups kept until they are acknowledged.

use std::collections::VecDeque;

use super::codec::{Message, N_GROUP_MAX, N_SEGMENT_MAX};
use super::{Filter, GroupHash, ProtocolError, Settings};
use crate::segmenter::{Area, Field, Segmenter};

/// One direction of a connection, at the sender.
#[derive(Debug)]
pub struct Sender {
    settings: Settings,
    next: u32,
    kept: VecDeque<Kept>,
    /// Number of groups that all receivers have acknowledged.
    n_dropped: u64,
    /// Number of groups that each receiver has acknowledged; none if the receiver has left.
    acknowledged: Vec<Option<u64>>,
    /// Ids that were sent: what is not among them is pushed.
    sent: Option<Filter>,
}

/// A group that was not acknowledged.
#[derive(Debug)]
struct Kept {
    first: u32,
    segments: Vec<Vec<u8>>,
}

impl Sender {
    /// One that waits to be asked, as published: a segment that the receiver lacks takes three trips.
    ///
    /// # Panics
    /// Unless ids have 1 to 8 bytes and groups 1 to 4096 segments.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        assert!((1..=8).contains(&settings.id_bytes), "an id has 1 to 8 bytes, not {}", settings.id_bytes);
        assert!((1..=N_GROUP_MAX).contains(&settings.n_group), "a group has 1 to {N_GROUP_MAX} segments");
        Self {
            settings,
            next: settings.first_sequence,
            kept: VecDeque::new(),
            n_dropped: 0,
            acknowledged: vec![Some(0)],
            sent: None,
        }
    }

    /// The same for so many receivers, numbered from 0: what is sent is cut, hashed and written once, and goes to all
    /// of them. A group is kept until each has acknowledged it or left. Answers go to who asked, and are written by a
    /// [`Codec`](super::Codec) for that receiver alone.
    ///
    /// # Panics
    /// When there is no receiver.
    #[must_use]
    pub fn with_receivers(mut self, n_receivers: usize) -> Self {
        assert!(n_receivers > 0, "somebody has to receive what is sent");
        self.acknowledged = vec![Some(0); n_receivers];
        self
    }

    /// A receiver is there no more: nothing is kept for it.
    pub fn leave(&mut self, receiver: usize) {
        if let Some(acknowledged) = self.acknowledged.get_mut(receiver) {
            *acknowledged = None;
        }
        self.drop_acknowledged();
    }

    /// One that sends at once what it never sent, with a filter for so many ids: one trip.
    #[must_use]
    pub fn pushing(settings: Settings, n_ids: usize) -> Self {
        Self { sent: Some(Filter::new(n_ids)), ..Self::new(settings) }
    }

    /// Returns the number of bytes that wait for an acknowledgement: a caller bounds this number by sending no more.
    #[must_use]
    pub fn n_kept(&self) -> usize {
        self.kept.iter().flat_map(|group| &group.segments).map(Vec::len).sum()
    }

    /// Returns the messages that describe all of a field.
    ///
    /// # Panics
    /// When it has more bytes than [`Settings::n_field_max`].
    pub fn send(&mut self, field: &Field<'_>, segmenter: &mut dyn Segmenter) -> Vec<Message> {
        let n_bytes = field.bytes().len();
        assert!(n_bytes <= self.settings.n_field_max, "a field of {n_bytes} bytes is too great");
        let areas: Vec<Area> = segmenter.cut(field).into_iter().flat_map(|area| area.split(N_SEGMENT_MAX)).collect();
        let mut messages = vec![Message::Open {
            n_bytes: n_bytes as u32,
            width: field.width() as u32,
            n_segments: areas.len() as u32,
        }];
        let mut last = Area::default();
        for group in areas.chunks(self.settings.n_group) {
            self.send_group(field, group, &mut last, &mut messages);
        }
        let rest = uncovered(field, &areas);
        messages.extend(rest.chunks(N_SEGMENT_MAX).map(|part| Message::Literal(part.to_vec())));
        messages
    }

    fn send_group(&mut self, field: &Field<'_>, group: &[Area], last: &mut Area, messages: &mut Vec<Message>) {
        let is_line = field.width() == field.bytes().len();
        let first = self.next;
        let mut hash = GroupHash::new(&self.settings);
        let (mut segments, mut ids) = (Vec::with_capacity(group.len()), Vec::with_capacity(group.len() + 1));
        for &area in group {
            let bytes = field.taken(area);
            hash.add(area, &bytes);
            let id = self.settings.id(&bytes);
            if self.sent.as_mut().is_some_and(|sent| !sent.insert(id)) {
                messages.push(Message::Segment { sequence: self.next, bytes: bytes.clone() });
            }
            let mut meta = Vec::new();
            area.put_meta(*last, is_line, &mut meta);
            ids.push(Message::Id { id, meta });
            segments.push(bytes);
            *last = area;
            self.next = self.next.wrapping_add(1);
        }
        ids.push(Message::Hash(hash.finish()));
        messages.append(&mut ids);
        self.kept.push_back(Kept { first, segments });
    }

    /// Returns the answer to a message of the only receiver.
    ///
    /// # Errors
    /// When it breaks the protocol.
    pub fn answer(&mut self, message: &Message) -> Result<Option<Message>, ProtocolError> {
        self.answer_to(0, message)
    }

    /// Returns the answer to a message of one of several receivers.
    ///
    /// # Errors
    /// When it breaks the protocol, or has left.
    pub fn answer_to(&mut self, receiver: usize, message: &Message) -> Result<Option<Message>, ProtocolError> {
        let n_sent = self.n_dropped + self.kept.len() as u64;
        let acknowledged = self.acknowledged.get_mut(receiver).and_then(Option::as_mut);
        let acknowledged = acknowledged.ok_or(ProtocolError::Unexpected { message: "what one says who has left" })?;
        match *message {
            Message::Request { sequence } => {
                let bytes = self.kept(sequence).ok_or(ProtocolError::Sequence { sequence })?.clone();
                Ok(Some(Message::Segment { sequence, bytes }))
            }
            Message::Ack if *acknowledged == n_sent => Err(ProtocolError::Acknowledged),
            Message::Ack => {
                *acknowledged += 1;
                self.drop_acknowledged();
                Ok(None)
            }
            _ => Err(ProtocolError::Unexpected { message: "what a sender says" }),
        }
    }

    fn drop_acknowledged(&mut self) {
        let n_sent = self.n_dropped + self.kept.len() as u64;
        let least = self.acknowledged.iter().flatten().copied().min().unwrap_or(n_sent);
        self.kept.drain(..(least - self.n_dropped) as usize);
        self.n_dropped = least;
    }

    /// The segment of this number, if its group was not acknowledged.
    fn kept(&self, sequence: u32) -> Option<&Vec<u8>> {
        let front = self.kept.front()?.first;
        let n_before = |group: &Kept| group.first.wrapping_sub(front);
        let i = self.kept.partition_point(|group| n_before(group) <= sequence.wrapping_sub(front)).checked_sub(1)?;
        self.kept[i].segments.get(sequence.wrapping_sub(self.kept[i].first) as usize)
    }
}

/// Returns the bytes of a field that no segment covers.
pub(super) fn uncovered(field: &Field<'_>, areas: &[Area]) -> Vec<u8> {
    let mut is_covered = vec![false; field.bytes().len()];
    for area in areas {
        area.mark(&mut is_covered, field.width());
    }
    field.bytes().iter().zip(is_covered).filter(|(_, is_covered)| !is_covered).map(|(&byte, _)| byte).collect()
}
