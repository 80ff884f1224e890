//! The reader: frames go where they belong, and it never waits for anything but the next one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncRead, BufReader};
use tokio::sync::mpsc;

use super::decoding::Repair;
use super::{Inbound, Incoming, Link, Opening, QUEUED_BYTES_MAX};
use crate::error::LinkError;
use crate::frame::{Frame, next};

/// A link on which nothing comes for so long has failed: pings are answered sooner.
const SILENCE: Duration = Duration::from_secs(45);
/// A group may lack parts, and then be wrong.
const N_ASKED_MAX: u32 = 2;

pub(super) async fn read(
    link: &Link,
    reader: impl AsyncRead + Unpin,
    incoming: mpsc::UnboundedSender<Incoming>,
    repairs: mpsc::UnboundedSender<Repair>,
) -> LinkError {
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    loop {
        let frame = match tokio::time::timeout(SILENCE, next(&mut reader)).await {
            Ok(Ok(Some(frame))) => frame,
            Ok(Ok(None)) => return LinkError::Ended,
            Ok(Err(error)) => return error,
            Err(_) => return LinkError::Silent { seconds: SILENCE.as_secs() },
        };
        if let Err(error) = take(link, frame, &incoming, &repairs) {
            return error;
        }
    }
}

fn take(
    link: &Link,
    frame: Frame,
    incoming: &mpsc::UnboundedSender<Incoming>,
    repairs: &mpsc::UnboundedSender<Repair>,
) -> Result<(), LinkError> {
    let is_taken = match frame {
        Frame::Data { stream, lane, group } => {
            let n_bytes = group.len() as u64;
            if link.n_queued.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes > QUEUED_BYTES_MAX {
                return Err(LinkError::Protocol { what: "it does not wait for acknowledgements" });
            }
            link.common.counters.decoder_queue.add(1);
            incoming.send(Incoming::Group { stream, lane, group }).is_ok()
        }
        Frame::End { stream } => incoming.send(Incoming::End { stream }).is_ok(),
        Frame::Reset { stream, reason } => incoming.send(Incoming::Reset { stream, reason }).is_ok(),
        Frame::Repair { group, bytes } => repairs.send((group, bytes)).is_ok(),
        Frame::Open { stream, component, target } => return open(link, stream, component, target),
        Frame::Opened { stream } => {
            if let Some(entry) = link.streams().get(&stream) {
                // The task that waits for it may just be ending.
                let _ = entry.inbound.send(Inbound::Opened);
            }
            true
        }
        Frame::Ack { n_groups } => return acknowledged(link, n_groups),
        Frame::Ask { group, ranges } => return repair(link, group, &ranges),
        Frame::Credit { stream, n_bytes } => return credited(link, stream, n_bytes as usize),
        Frame::Ping { number } => {
            link.say(Frame::Pong { number });
            true
        }
        Frame::Pong { .. } => true,
        Frame::Borrow { .. } | Frame::Lend { .. } => {
            return Err(LinkError::Protocol { what: "it takes a link for a neighbour's connection" });
        }
    };
    if is_taken { Ok(()) } else { Err(LinkError::Ended) }
}

fn open(link: &Link, stream: u32, component: String, target: String) -> Result<(), LinkError> {
    let Some(openings) = &link.openings else {
        return Err(LinkError::Protocol { what: "a far end opens no streams" });
    };
    if link.streams().contains_key(&stream) {
        return Err(LinkError::Protocol { what: "it opens a stream twice" });
    }
    let inbound = link.add(stream).ok_or(LinkError::Protocol { what: "it opens more streams than there may be" })?;
    let opening = Opening { stream, component, target, inbound };
    openings.send(opening).map_err(|_| LinkError::Ended)
}

fn acknowledged(link: &Link, n_groups: u64) -> Result<(), LinkError> {
    let mut held = link.held();
    for _ in 0..n_groups {
        let group = held.groups.pop_front();
        let group = group.ok_or(LinkError::Protocol { what: "it acknowledges what was not sent" })?;
        held.first += 1;
        link.common.counters.unacknowledged_bytes.sub(group.data.len() as u64);
        link.room.add_permits(super::kib(group.data.len()) as usize);
    }
    Ok(())
}

fn repair(link: &Link, number: u64, ranges: &[std::ops::Range<usize>]) -> Result<(), LinkError> {
    let mut held = link.held();
    let first = held.first;
    let found = number.checked_sub(first).and_then(|idx| held.groups.get_mut(usize::try_from(idx).ok()?));
    let group = found.ok_or(LinkError::Protocol { what: "it asks for a group that is not on the way" })?;
    group.n_asked += 1;
    if group.n_asked > N_ASKED_MAX {
        return Err(LinkError::Protocol { what: "it asks for a group over and over" });
    }
    let mut bytes = Vec::new();
    for range in ranges {
        let part = group.data.get(range.clone());
        bytes.extend_from_slice(part.ok_or(LinkError::Protocol { what: "it asks for more than a group has" })?);
    }
    link.common.counters.repaired_bytes_total.add(bytes.len() as u64);
    link.say(Frame::Repair { group: number, bytes });
    Ok(())
}

fn credited(link: &Link, stream: u32, n_bytes: usize) -> Result<(), LinkError> {
    if let Some(entry) = link.streams().get(&stream) {
        if entry.credit.available_permits() + n_bytes > link.their_window {
            return Err(LinkError::Protocol { what: "it grants more than its window" });
        }
        entry.credit.add_permits(n_bytes);
    }
    Ok(())
}
