//! The encoder's thread: what local programs give becomes groups, in the order in which it comes.

use std::collections::HashMap;

use clock::Stopwatch;
use dedup::{Encoder, Flow, History, RunId, Tally};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::decoding::forget;
use super::{HeldGroup, Link, Work, kib};
use crate::frame::Frame;

pub(super) fn encode(
    link: &Link,
    runtime: &Handle,
    run: RunId,
    mut work: mpsc::Receiver<Work>,
    groups: &mpsc::Sender<Frame>,
) {
    let counters = &link.common.counters;
    let mut encoder = Encoder::new(link.common.settings, &mut *link.common.memory.lock(), run);
    let mut flows: HashMap<(u32, u8), Flow> = HashMap::new();
    let mut level = None;
    while let Some(piece) = runtime.block_on(next(link, &mut work)) {
        counters.encoder_queue.sub(1);
        let frame = match piece {
            Work::Data { stream, lane, bytes } => {
                let Ok(room) = runtime.block_on(link.room.acquire_many(kib(bytes.len()))) else {
                    break;
                };
                // It is given back when the group is acknowledged.
                room.forget();
                let wanted = link.common.steering.level();
                if level.replace(wanted) != Some(wanted) {
                    encoder.set_effort(wanted.effort());
                }
                let before = encoder.tally();
                let (busy, cpu) = (Stopwatch::start(), clock::thread_cpu());
                let mut group = Vec::new();
                let flow = flows.entry((stream, lane)).or_default();
                encoder.encode(&mut *link.common.memory.lock(), flow, &bytes, &mut group);
                count(link, before, encoder.tally());
                counters.encoder_busy_ns_total.add(busy.elapsed_ns());
                counters.encoder_cpu_ns_total.add((clock::thread_cpu() - cpu).as_nanos() as u64);
                counters.unacknowledged_bytes.add(bytes.len() as u64);
                link.held().groups.push_back(HeldGroup { data: bytes, n_asked: 0 });
                Frame::Data { stream, lane, group }
            }
            Work::End { stream } => {
                forget(&mut flows, stream);
                Frame::End { stream }
            }
            Work::Reset { stream, reason } => {
                forget(&mut flows, stream);
                Frame::Reset { stream, reason }
            }
        };
        if groups.blocking_send(frame).is_err() {
            break;
        }
    }
    work.close();
    while work.try_recv().is_ok() {
        counters.encoder_queue.sub(1);
    }
    let mut store = link.common.memory.lock();
    let run = store.run(run);
    store.finish(run);
}

async fn next(link: &Link, work: &mut mpsc::Receiver<Work>) -> Option<Work> {
    tokio::select! {
        biased;
        () = link.ended() => None,
        piece = work.recv() => piece,
    }
}

fn count(link: &Link, before: Tally, after: Tally) {
    let counters = &link.common.counters;
    counters.given_bytes_total.add(after.n_given - before.n_given);
    counters.matched_bytes_total.add(after.n_matched - before.n_matched);
    counters.sent_bytes_total.add(after.n_wire - before.n_wire);
    counters.groups_sent_total.add(1);
}
