//! The receiver: segments from its memory where ids lead to them, all others asked for, and nothing handed on before
//! the hash holds.

use std::collections::{HashMap, VecDeque};

use super::codec::{Message, N_GROUP_MAX, N_SEGMENT_MAX};
use super::{Filter, GroupHash, HASH_BYTES, ProtocolError, Settings};
use crate::segmenter::Area;

/// Memory of a receiver for segments. Anything may be forgotten at any time, and be wrong.
pub trait Segments {
    /// The segment that was put last under this id.
    fn get(&mut self, id: u64) -> Option<Vec<u8>>;

    /// Remembers a segment in place of another with its id.
    fn put(&mut self, id: u64, segment: &[u8]);
}

/// Segments in memory, up to a number of bytes; the oldest go first. A Bloom filter says of most strange ids that they
/// are strange.
#[derive(Debug)]
pub struct MemorySegments {
    segments: HashMap<u64, Vec<u8>>,
    ages: VecDeque<u64>,
    filter: Filter,
    n_bytes: usize,
    n_max: usize,
}

/// One direction of a connection, at the receiver.
#[derive(Debug)]
pub struct Receiver<S> {
    settings: Settings,
    segments: S,
    next: u32,
    fields: VecDeque<Coming>,
    groups: VecDeque<Group>,
    /// Segments that were pushed before their ids.
    pushed: VecDeque<(u32, Vec<u8>)>,
    /// Ids that were asked for, and the numbers of later segments with the same ids, which wait for the answer.
    asked: HashMap<u64, Vec<u32>>,
    /// The fetches from a neighbour where segments are looked for before the sender is asked.
    neighbour: Option<Fetching>,
    /// Groups that hold before all earlier ones do, if those are wanted.
    early: Option<Vec<Early>>,
    /// Number of fields that were handed on.
    n_complete: u64,
}

/// Ids that a neighbour is asked for.
#[derive(Debug, Default)]
struct Fetching {
    /// Ids to ask for.
    due: Vec<u64>,
    /// Ids that were asked for, and the numbers of the segments that wait.
    waiting: HashMap<u64, Vec<u32>>,
}

/// A segment whose group holds, though something before it may still be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Early {
    /// The number of its field, from 0.
    pub field: u64,
    /// The area of the segment in the field.
    pub area: Area,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A peer that has segments, and is nearer to a receiver than the sender.
#[derive(Debug)]
pub struct Neighbour<S>(pub S);

/// A field that is not complete.
#[derive(Debug)]
struct Coming {
    width: usize,
    bytes: Vec<u8>,
    is_covered: Vec<bool>,
    n_uncovered: usize,
    last: Area,
    n_segments_to_come: u32,
    n_groups: usize,
    literals: Vec<u8>,
}

/// Ids whose hash did not hold yet.
#[derive(Debug)]
struct Group {
    first: u32,
    slots: Vec<Slot>,
    hash: Option<[u8; HASH_BYTES]>,
    /// Whether all of it was there and its hash was computed.
    is_checked: bool,
}

#[derive(Debug)]
struct Slot {
    id: u64,
    area: Area,
    bytes: Option<Vec<u8>>,
    origin: Origin,
}

/// The source of a segment. A segment from elsewhere than the sender may be another one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Sender,
    Memory,
    Neighbour,
}

impl MemorySegments {
    /// Empty, of at most so many bytes in segments of some `n_segment`.
    #[must_use]
    pub fn new(n_max: usize, n_segment: usize) -> Self {
        let filter = Filter::new(n_max / n_segment.max(1));
        Self { segments: HashMap::new(), ages: VecDeque::new(), filter, n_bytes: 0, n_max }
    }

    /// Returns the number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

impl<S: Segments> Neighbour<S> {
    /// The answer to what a receiver fetches.
    ///
    /// # Errors
    /// When it says something else.
    pub fn answer(&mut self, message: &Message) -> Result<Message, ProtocolError> {
        let Message::Fetch { id } = *message else {
            return Err(ProtocolError::Unexpected { message: "what a neighbour is not told" });
        };
        let found = self.0.get(id).filter(|bytes| bytes.len() <= N_SEGMENT_MAX);
        Ok(found.map_or(Message::Unknown { id }, |bytes| Message::Fetched { id, bytes }))
    }
}

impl Segments for MemorySegments {
    fn get(&mut self, id: u64) -> Option<Vec<u8>> {
        if self.filter.may_have(id) { self.segments.get(&id).cloned() } else { None }
    }

    fn put(&mut self, id: u64, segment: &[u8]) {
        self.filter.insert(id);
        self.n_bytes += segment.len();
        match self.segments.insert(id, segment.to_vec()) {
            Some(old) => self.n_bytes -= old.len(),
            None => self.ages.push_back(id),
        }
        while self.n_bytes > self.n_max {
            let Some(oldest) = self.ages.pop_front() else { break };
            self.n_bytes -= self.segments.remove(&oldest).map_or(0, |segment| segment.len());
        }
    }
}

impl<S: Segments> Receiver<S> {
    /// One to which nothing has come yet.
    #[must_use]
    pub fn new(settings: Settings, segments: S) -> Self {
        let (fields, groups, pushed, asked) = Default::default();
        let (neighbour, early, n_complete) = (None, None, 0);
        let next = settings.first_sequence;
        Self { settings, segments, next, fields, groups, pushed, asked, neighbour, early, n_complete }
    }

    /// The same, looking for segments nearby before it asks the sender: see [`Receiver::fetches`]. It costs a trip
    /// there for what is new.
    #[must_use]
    pub fn with_neighbour(self) -> Self {
        Self { neighbour: Some(Fetching::default()), ..self }
    }

    /// The same, handing on each group as soon as its own hash holds, for protocols that do not need order: see
    /// [`Receiver::take_early`]. Fields still arrive in order and whole, with what no segment covers.
    #[must_use]
    pub fn with_early(self) -> Self {
        Self { early: Some(Vec::new()), ..self }
    }

    /// Returns the memory for segments.
    pub fn segments(&mut self) -> &mut S {
        &mut self.segments
    }

    /// Takes a message of the sender, appends answers, and gives the bytes of fields that are complete, in order.
    ///
    /// # Errors
    /// When the sender breaks the protocol. Nothing that comes later on this connection can be used then.
    pub fn receive(&mut self, message: Message, answers: &mut Vec<Message>) -> Result<Vec<Vec<u8>>, ProtocolError> {
        match message {
            Message::Open { n_bytes, width, n_segments } => self.open(n_bytes, width, n_segments)?,
            Message::Id { id, meta } => self.id(id, &meta, answers)?,
            Message::Hash(hash) => self.hash(hash)?,
            Message::Segment { sequence, bytes } => self.segment(sequence, bytes, answers)?,
            Message::Literal(bytes) => self.literal(&bytes)?,
            Message::Request { .. }
            | Message::Ack
            | Message::Fetch { .. }
            | Message::Fetched { .. }
            | Message::Unknown { .. } => {
                return Err(ProtocolError::Unexpected { message: "what a receiver says" });
            }
        }
        self.settle(answers)
    }

    fn open(&mut self, n_bytes: u32, width: u32, n_segments: u32) -> Result<(), ProtocolError> {
        let max = self.settings.n_field_max;
        let fits = n_bytes as usize <= max && (n_bytes == 0 || width > 0 && n_bytes.is_multiple_of(width));
        if !fits || n_segments > n_bytes {
            return Err(ProtocolError::Field { n_bytes, width, max });
        }
        let is_open = |field: &Coming| field.n_segments_to_come > 0 || field.n_literals_to_come() > 0;
        if self.fields.back().is_some_and(is_open) || self.groups.back().is_some_and(|group| group.hash.is_none()) {
            return Err(ProtocolError::Unexpected { message: "a field within another" });
        }
        let n_bytes = n_bytes as usize;
        self.fields.push_back(Coming {
            width: width as usize,
            bytes: vec![0; n_bytes],
            is_covered: vec![false; n_bytes],
            n_uncovered: n_bytes,
            last: Area::default(),
            n_segments_to_come: n_segments,
            n_groups: 0,
            literals: Vec::new(),
        });
        Ok(())
    }

    fn id(&mut self, id: u64, meta: &[u8], answers: &mut Vec<Message>) -> Result<(), ProtocolError> {
        let sequence = self.next;
        let unexpected = ProtocolError::Unexpected { message: "an id" };
        let field = self.fields.back_mut().filter(|field| field.n_segments_to_come > 0).ok_or(unexpected)?;
        let area = Area::of_meta(meta, field.last, field.width, field.bytes.len());
        let area = area.ok_or(ProtocolError::Outside { sequence })?;
        (field.last, self.next) = (area, sequence.wrapping_add(1));
        field.n_segments_to_come -= 1;
        field.n_uncovered -= area.mark(&mut field.is_covered, field.width);
        if self.groups.back().is_none_or(|group| group.hash.is_some()) {
            field.n_groups += 1;
            self.groups.push_back(Group { first: sequence, slots: Vec::new(), hash: None, is_checked: false });
        }
        let group = self.groups.back_mut().expect("one was pushed");
        if group.slots.len() == N_GROUP_MAX {
            return Err(unexpected);
        }
        let mut slot = Slot { id, area, bytes: None, origin: Origin::Sender };
        if self.pushed.front().is_some_and(|(pushed, _)| *pushed == sequence) {
            let (_, bytes) = self.pushed.pop_front().expect("there is one");
            slot.fill(sequence, bytes)?;
        } else if let Some(bytes) = self.segments.get(id).filter(|bytes| bytes.len() == area.n_bytes()) {
            (slot.bytes, slot.origin) = (Some(bytes), Origin::Memory);
        } else if let Some(later) = self.asked.get_mut(&id) {
            slot.origin = Origin::Memory;
            later.push(sequence);
        } else if let Some(fetching) = &mut self.neighbour {
            slot.origin = Origin::Neighbour;
            let waiting = fetching.waiting.entry(id).or_default();
            if waiting.is_empty() {
                fetching.due.push(id);
            }
            waiting.push(sequence);
        } else {
            self.asked.insert(id, Vec::new());
            answers.push(Message::Request { sequence });
        }
        group.slots.push(slot);
        Ok(())
    }

    fn hash(&mut self, hash: [u8; HASH_BYTES]) -> Result<(), ProtocolError> {
        let open = self.groups.back_mut().filter(|group| group.hash.is_none());
        open.ok_or(ProtocolError::Unexpected { message: "a hash" })?.hash = Some(hash);
        Ok(())
    }

    fn segment(&mut self, sequence: u32, bytes: Vec<u8>, answers: &mut Vec<Message>) -> Result<(), ProtocolError> {
        let Some(slot) = self.slot(sequence) else {
            return self.push(sequence, bytes);
        };
        if slot.bytes.is_some() {
            return Err(ProtocolError::Sequence { sequence });
        }
        slot.origin = Origin::Sender;
        slot.fill(sequence, bytes)?;
        let id = slot.id;
        let filled = slot.bytes.clone();
        for later in self.asked.remove(&id).unwrap_or_default() {
            let Some(slot) = self.slot(later).filter(|slot| slot.bytes.is_none() && slot.origin != Origin::Sender)
            else {
                continue;
            };
            if filled.as_ref().is_some_and(|bytes| bytes.len() == slot.area.n_bytes()) {
                slot.bytes.clone_from(&filled);
            } else {
                slot.origin = Origin::Sender;
                answers.push(Message::Request { sequence: later });
            }
        }
        Ok(())
    }

    /// Keeps a segment that was pushed: those have numbers of the next group, each greater than the last.
    fn push(&mut self, sequence: u32, bytes: Vec<u8>) -> Result<(), ProtocolError> {
        let last = self.pushed.back().map_or(self.next.wrapping_sub(1), |(last, _)| *last);
        let is_later = (1..=N_GROUP_MAX as u32).contains(&sequence.wrapping_sub(last));
        if !is_later || self.pushed.len() == N_GROUP_MAX {
            return Err(ProtocolError::Sequence { sequence });
        }
        self.pushed.push_back((sequence, bytes));
        Ok(())
    }

    /// The segment of this number, if its group waits.
    fn slot(&mut self, sequence: u32) -> Option<&mut Slot> {
        let front = self.groups.front()?.first;
        let n_before = |group: &Group| group.first.wrapping_sub(front);
        let i = self.groups.partition_point(|group| n_before(group) <= sequence.wrapping_sub(front)).checked_sub(1)?;
        let group = &mut self.groups[i];
        group.slots.get_mut(sequence.wrapping_sub(group.first) as usize)
    }

    fn literal(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected { message: "bytes without an id" };
        let field = self.fields.back_mut().filter(|field| field.n_segments_to_come == 0).ok_or(unexpected)?;
        if bytes.len() > field.n_literals_to_come() {
            return Err(unexpected);
        }
        field.literals.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the messages to ask the neighbour.
    pub fn fetches(&mut self) -> Vec<Message> {
        let due = self.neighbour.as_mut().map(|fetching| std::mem::take(&mut fetching.due)).unwrap_or_default();
        due.into_iter().map(|id| Message::Fetch { id }).collect()
    }

    /// Takes an answer of the neighbour's, as [`Receiver::receive`] takes what the sender says. What it does not have,
    /// or has otherwise, the sender is asked for.
    ///
    /// # Errors
    /// When it was not asked for that.
    pub fn receive_nearby(
        &mut self,
        message: Message,
        answers: &mut Vec<Message>,
    ) -> Result<Vec<Vec<u8>>, ProtocolError> {
        let (id, bytes) = match message {
            Message::Fetched { id, bytes } => (id, Some(bytes)),
            Message::Unknown { id } => (id, None),
            _ => return Err(ProtocolError::Unexpected { message: "what a neighbour does not say" }),
        };
        let waiting = self.neighbour.as_mut().and_then(|fetching| fetching.waiting.remove(&id));
        let waiting = waiting.ok_or(ProtocolError::Unexpected { message: "a segment that was not fetched" })?;
        for sequence in waiting {
            let is_asked = self.asked.contains_key(&id);
            // It may have been pushed, or asked for with all of its group.
            let Some(slot) = self.slot(sequence).filter(|slot| slot.bytes.is_none() && slot.origin != Origin::Sender)
            else {
                continue;
            };
            if bytes.as_ref().is_some_and(|bytes| bytes.len() == slot.area.n_bytes()) {
                slot.bytes.clone_from(&bytes);
                continue;
            }
            if !is_asked {
                slot.origin = Origin::Sender;
                answers.push(Message::Request { sequence });
            }
            let later = self.asked.entry(id).or_default();
            if is_asked {
                later.push(sequence);
            }
        }
        self.settle(answers)
    }

    /// Returns the segments that arrived early since the last call.
    pub fn take_early(&mut self) -> Vec<Early> {
        self.early.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Hands on groups that hold, whatever is missing before them.
    fn hand_early(&mut self) {
        let Some(early) = &mut self.early else { return };
        let numbers = self.fields.iter().zip(self.n_complete..);
        let numbers = numbers.flat_map(|(field, number)| std::iter::repeat_n(number, field.n_groups));
        for (group, field) in self.groups.iter_mut().zip(numbers).filter(|(group, _)| !group.is_checked) {
            let Some(holds) = group.holds(&self.settings) else { continue };
            group.is_checked = true;
            if holds {
                let segments = group.slots.iter().filter_map(|slot| Some((slot.area, slot.bytes.clone()?)));
                early.extend(segments.map(|(area, bytes)| Early { field, area, bytes }));
            }
        }
    }

    /// Acknowledges the oldest groups as long as their hashes hold, and hands on the fields that are complete.
    fn settle(&mut self, answers: &mut Vec<Message>) -> Result<Vec<Vec<u8>>, ProtocolError> {
        self.hand_early();
        let mut complete = Vec::new();
        loop {
            if self.fields.front().is_some_and(Coming::is_complete) {
                self.n_complete += 1;
                complete.extend(self.fields.pop_front().map(Coming::finish));
                continue;
            }
            let Some(group) = self.groups.front_mut() else { break };
            let Some(holds) = group.holds(&self.settings) else { break };
            if !holds {
                group.ask_again(answers)?;
                break;
            }
            let group = self.groups.pop_front().expect("there is one");
            let field = self.fields.iter_mut().find(|field| field.n_groups > 0).expect("a group has a field");
            field.n_groups -= 1;
            for slot in group.slots {
                let bytes = slot.bytes.expect("the hash was made of all bytes");
                let fits = slot.area.put(&bytes, &mut field.bytes, field.width);
                debug_assert!(fits, "areas were checked when they came");
                if slot.origin != Origin::Memory {
                    self.segments.put(slot.id, &bytes);
                }
            }
            answers.push(Message::Ack);
        }
        Ok(complete)
    }
}

impl Coming {
    fn n_literals_to_come(&self) -> usize {
        self.n_uncovered - self.literals.len()
    }

    fn is_complete(&self) -> bool {
        self.n_segments_to_come == 0 && self.n_groups == 0 && self.n_literals_to_come() == 0
    }

    fn finish(mut self) -> Vec<u8> {
        let holes = self.bytes.iter_mut().zip(self.is_covered).filter(|(_, is_covered)| !is_covered);
        holes.zip(self.literals).for_each(|((hole, _), byte)| *hole = byte);
        self.bytes
    }
}

impl Group {
    /// Whether the hash holds; `None` if something has still to come.
    fn holds(&self, settings: &Settings) -> Option<bool> {
        let expected = self.hash?;
        if self.slots.iter().any(|slot| slot.bytes.is_none()) {
            return None;
        }
        let mut hash = GroupHash::new(settings);
        for slot in &self.slots {
            hash.add(slot.area, slot.bytes.as_ref()?);
        }
        Some(hash.finish() == expected)
    }

    /// Asks for all that came from memory.
    fn ask_again(&mut self, answers: &mut Vec<Message>) -> Result<(), ProtocolError> {
        self.is_checked = false;
        let n_before = answers.len();
        for (sequence, slot) in (0..).map(|i| self.first.wrapping_add(i)).zip(&mut self.slots) {
            if slot.origin != Origin::Sender {
                (slot.bytes, slot.origin) = (None, Origin::Sender);
                answers.push(Message::Request { sequence });
            }
        }
        if answers.len() > n_before { Ok(()) } else { Err(ProtocolError::Hash) }
    }
}

impl Slot {
    fn fill(&mut self, sequence: u32, bytes: Vec<u8>) -> Result<(), ProtocolError> {
        if bytes.len() != self.area.n_bytes() {
            let (given, announced) = (bytes.len(), self.area.n_bytes());
            return Err(ProtocolError::Length { sequence, given, announced });
        }
        self.bytes = Some(bytes);
        Ok(())
    }
}
