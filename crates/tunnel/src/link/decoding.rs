//! The decoder's thread: groups become what the peer's programs gave; what is missing is asked for.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use clock::Stopwatch;
use dedup::{Decoded, Decoder, Flow, History, Lacking, Place, RunId};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::{Common, Inbound, Incoming, Link, STREAMS_MAX};
use crate::error::LinkError;
use crate::frame::{Frame, Wanted};
use crate::part::N_LANES;

/// So many groups are acknowledged at once while more are waiting.
const N_ACK: u64 = 16;

/// The repair that was asked for: the number of the group, and the bytes.
pub(super) type Repair = (u64, Vec<u8>);

pub(super) fn decode(
    link: &Link,
    runtime: Handle,
    run: RunId,
    incoming: mpsc::UnboundedReceiver<Incoming>,
    repairs: mpsc::UnboundedReceiver<Repair>,
) -> LinkError {
    let decoder = Decoder::new(link.common.settings, &mut *link.common.memory.lock(), run);
    let flows = HashMap::new();
    let mut receiver = Receiver { link, runtime, decoder, repairs, flows, n_groups: 0, n_unacknowledged: 0 };
    let error = receiver.run(incoming);
    let mut store = link.common.memory.lock();
    let run = store.run(run);
    store.finish(run);
    error
}

/// Forgets all lanes of a stream.
pub(super) fn forget(flows: &mut HashMap<(u32, u8), Flow>, stream: u32) {
    (0..N_LANES).for_each(|lane| drop(flows.remove(&(stream, lane))));
}

struct Receiver<'a> {
    link: &'a Link,
    runtime: Handle,
    decoder: Decoder,
    repairs: mpsc::UnboundedReceiver<Repair>,
    flows: HashMap<(u32, u8), Flow>,
    n_groups: u64,
    n_unacknowledged: u64,
}

impl Receiver<'_> {
    fn run(&mut self, mut incoming: mpsc::UnboundedReceiver<Incoming>) -> LinkError {
        while let Some(next) = incoming.blocking_recv() {
            let done = match next {
                Incoming::Group { stream, lane, group } => self.group((stream, lane), &group),
                Incoming::End { stream } => {
                    forget(&mut self.flows, stream);
                    self.hand(stream, Inbound::End)
                }
                Incoming::Reset { stream, reason } => {
                    forget(&mut self.flows, stream);
                    self.hand(stream, Inbound::Reset(reason))
                }
            };
            if let Err(error) = done {
                return error;
            }
            if self.n_unacknowledged == N_ACK || incoming.is_empty() {
                self.acknowledge();
            }
        }
        LinkError::Ended
    }

    fn group(&mut self, at: (u32, u8), group: &[u8]) -> Result<(), LinkError> {
        let counters = &self.link.common.counters;
        counters.decoder_queue.sub(1);
        counters.came_bytes_total.add(group.len() as u64);
        self.link.n_queued.fetch_sub(group.len() as u64, Ordering::Relaxed);
        if self.flows.len() >= 2 * STREAMS_MAX * usize::from(N_LANES) && !self.flows.contains_key(&at) {
            return Err(LinkError::Protocol { what: "it has data for more streams than there may be" });
        }
        let flow = self.flows.entry(at).or_default();
        let busy = Stopwatch::start();
        let mut decoded = self.decoder.decode(&mut *self.link.common.memory.lock(), flow, group)?;
        counters.decoder_busy_ns_total.add(busy.elapsed_ns());
        loop {
            match decoded {
                Decoded::Whole(bytes) => {
                    counters.groups_received_total.add(1);
                    counters.received_bytes_total.add(bytes.len() as u64);
                    self.n_groups += 1;
                    self.n_unacknowledged += 1;
                    return self.hand(at.0, Inbound::Data(bytes));
                }
                Decoded::Lacking(lacking) => decoded = self.ask(at, lacking)?,
            }
        }
    }

    fn ask(&mut self, at: (u32, u8), lacking: Lacking) -> Result<Decoded, LinkError> {
        let counters = &self.link.common.counters;
        let counter =
            if lacking.is_collision() { &counters.groups_collided_total } else { &counters.groups_lacking_total };
        counter.add(1);
        if let Some(whole) = self.borrow(at, &lacking) {
            return Ok(whole);
        }
        self.link.say(Frame::Ask { group: self.n_groups, ranges: lacking.ranges().to_vec() });
        let (number, bytes) = self.repairs.blocking_recv().ok_or(LinkError::Ended)?;
        if number != self.n_groups {
            return Err(LinkError::Protocol { what: "it sent again what nobody asked for" });
        }
        let flow = self.flows.entry(at).or_default();
        Ok(self.decoder.repair(&mut *self.link.common.memory.lock(), flow, lacking, &bytes)?)
    }

    /// The group with what neighbours have of it, if it is whole then. If not, it is as if nobody had been asked.
    fn borrow(&mut self, at: (u32, u8), lacking: &Lacking) -> Option<Decoded> {
        let Common { neighbours, memory, counters, .. } = &self.link.common;
        let neighbours = neighbours.as_ref()?;
        let wanted: Vec<Wanted> = {
            let store = memory.lock();
            let wanted = |(place, n_bytes): (Place, usize)| Wanted {
                run: store.id(place.run),
                position: place.position,
                n_bytes: n_bytes as u32,
            };
            lacking.places().map(wanted).collect()
        };
        let borrowed = async {
            tokio::select! {
                () = self.link.ended() => None,
                lent = neighbours.borrow(&wanted) => lent,
            }
        };
        let lent = self.runtime.block_on(borrowed)?;
        let flow = self.flows.entry(at).or_default();
        let tried = self.decoder.repair(&mut *memory.lock(), flow, lacking.clone(), &lent.bytes);
        if let Ok(whole @ Decoded::Whole(_)) = tried {
            counters.borrowed_bytes_total.add(lent.bytes.len() as u64);
            return Some(whole);
        }
        counters.groups_misled_total.add(1);
        self.runtime.block_on(neighbours.distrust(&lent));
        None
    }

    fn acknowledge(&mut self) {
        let n_groups = std::mem::take(&mut self.n_unacknowledged);
        if n_groups > 0 {
            self.link.say(Frame::Ack { n_groups });
        }
    }

    /// Hands something to a local program. One that has gone away gets nothing.
    fn hand(&self, stream: u32, inbound: Inbound) -> Result<(), LinkError> {
        let mut streams = self.link.streams();
        let Some(entry) = streams.get_mut(&stream) else {
            return Ok(());
        };
        if let Inbound::Data(bytes) = &inbound {
            let left = entry.n_granted.checked_sub(bytes.len());
            entry.n_granted = left.ok_or(LinkError::Protocol { what: "it sends more than it was granted" })?;
        }
        // The task that took it may just be ending.
        let _ = entry.inbound.send(inbound);
        Ok(())
    }
}
