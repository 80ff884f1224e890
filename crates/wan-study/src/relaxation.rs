//! Time of a relaxation over Longcut's four parts by the model of its links alone: the report's Table VI.
//!
//! Nothing is waited for: messages go through [`netmodel::Link`]s in simulated time. A red-black relaxation exchanges
//! borders twice in an iteration, and ends it with an allreduce by one root. Longcut does not say how long its
//! relaxation computes, only that some 70 % of its time over NWS's links is communication; here it computes for as long
//! as that takes.

use std::collections::BTreeMap;
use std::time::Duration;

use netmodel::{Fate, Link};
use units::ByteCount;

use crate::Links;
use crate::site::parts;

/// Bytes of a border.
const BORDER: ByteCount = ByteCount::new(19_800);
/// Bytes of a sum.
const SUM: ByteCount = ByteCount::new(8);
/// Share of communication with NWS's links.
const COMMUNICATION_RATIO: f64 = 0.7;
const N_ITERATIONS: u32 = 5_000;
const N_PARTS: usize = 4;
/// Seed that traces are drawn from.
const SEED: u64 = 1;

/// Computes the time of an iteration over each kind of links, in nanoseconds.
pub(crate) fn iterations() -> [(Links, f64); 3] {
    let alone_ns = iteration_ns(Links::Nws, Duration::ZERO);
    let work = Duration::from_nanos((alone_ns * (1.0 - COMMUNICATION_RATIO) / COMMUNICATION_RATIO) as u64);
    Links::ALL.map(|links| (links, iteration_ns(links, work)))
}

fn iteration_ns(links: Links, work: Duration) -> f64 {
    let link = |(ends, description): ((usize, usize), netmodel::Description)| {
        let link =
            description.link(SEED + (ends.0 * N_PARTS + ends.1) as u64, |_| unreachable!("profiles need no file"));
        (ends, link.expect("each profile is a link"))
    };
    let mut links: BTreeMap<(usize, usize), Link> = parts(links).map(link).collect();
    let mut send =
        |from: usize, to: usize, at, size| match links.get_mut(&(from, to)).expect("all pairs").send(at, size) {
            Fate::Arrives { at } => at,
            Fate::Dropped(why) => unreachable!("nothing is lost and queues are short: {why}"),
        };
    let mut now = [Duration::ZERO; N_PARTS];
    for _ in 0..N_ITERATIONS {
        for _ in 0..2 {
            let sent = now;
            for part in 0..N_PARTS - 1 {
                now[part + 1] = now[part + 1].max(send(part, part + 1, sent[part], BORDER));
                now[part] = now[part].max(send(part + 1, part, sent[part + 1], BORDER));
            }
            now = now.map(|at| at + work / 2);
        }
        let summed = (1..N_PARTS).map(|part| send(part, 0, now[part], SUM)).fold(now[0], Duration::max);
        now = std::array::from_fn(|part| if part == 0 { summed } else { send(0, part, summed, SUM) });
    }
    let end = now.into_iter().max().unwrap_or_default();
    end.as_nanos() as f64 / f64::from(N_ITERATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_links_and_traces_differ_little_and_nws_is_slower() {
        let [(_, constant), (_, trace), (_, nws)] = iterations();
        assert!(trace / constant > 1.0 && trace / constant < 1.1, "{}", trace / constant);
        assert!(nws / constant > 1.1, "{}", nws / constant);
    }
}
