//! Times of a rank's cycles, kept while they run: structures of fixed size that take a few words per cycle.

use statistics::digest::Digest;
use units::Rank;

use crate::record::{N_WORST, WorstCycle};

/// Times of one rank's cycles.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Whole cycles.
    pub cycle: Digest,
    /// Compute phases.
    pub compute: Tracked,
    /// Waits for the other ranks.
    pub synchronization: Tracked,
    /// Exchanges.
    pub communication: Tracked,
    /// Steps of the exchange, where it has several, and whom each is with.
    pub steps: Vec<(Option<Rank>, Digest)>,
    /// Synchronization and exchange of each cycle since they were last taken away, in nanoseconds.
    pub messaging_ns: Vec<f64>,
}

/// Times of one part, and the longest of them.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    /// All times.
    pub digest: Digest,
    worst: Vec<WorstCycle>,
    /// No shorter time is among the worst.
    floor_ns: u64,
}

/// The looks at the clock in one cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks<'a> {
    /// Number of the cycle, from 0.
    pub cycle: u64,
    /// Time from the start of the run to the start of the cycle.
    pub at_ns: u64,
    /// Start of the cycle by the clock, which is the end of the last cycle.
    pub start_ns: u64,
    /// Time at which the rank's work was done.
    pub computed_ns: u64,
    /// Time at which all ranks were there.
    pub ready_ns: u64,
    /// Time at which each step of the exchange was through; not empty.
    pub ends_ns: &'a [u64],
}

impl Meter {
    /// Builds a meter for an exchange whose steps are with these peers, and for blocks of so many cycles.
    #[must_use]
    pub(crate) fn new(peers: &[Option<Rank>], n_block_cycles: usize) -> Self {
        let steps =
            if peers.len() > 1 { peers.iter().map(|&peer| (peer, Digest::default())).collect() } else { Vec::new() };
        Self {
            cycle: Digest::default(),
            compute: Tracked::default(),
            synchronization: Tracked::default(),
            communication: Tracked::default(),
            steps,
            messaging_ns: Vec::with_capacity(n_block_cycles),
        }
    }

    /// Takes note of a cycle.
    pub(crate) fn record(&mut self, looks: Looks<'_>) {
        let end_ns = looks.ends_ns.last().copied().unwrap_or(looks.ready_ns);
        let mut before = looks.ready_ns;
        for ((_, digest), &end) in self.steps.iter_mut().zip(looks.ends_ns) {
            digest.record(end - before);
            before = end;
        }
        self.cycle.record(end_ns - looks.start_ns);
        self.compute.record(looks.computed_ns - looks.start_ns, looks, || None);
        self.synchronization.record(looks.ready_ns - looks.computed_ns, looks, || None);
        let steps = &self.steps;
        self.communication.record(end_ns - looks.ready_ns, looks, || longest(steps, looks));
        self.messaging_ns.push((end_ns - looks.computed_ns) as f64);
    }
}

/// Returns the other rank of a cycle's longest step.
fn longest(steps: &[(Option<Rank>, Digest)], looks: Looks<'_>) -> Option<Rank> {
    let begins = std::iter::once(&looks.ready_ns).chain(looks.ends_ns);
    let spans = looks.ends_ns.iter().zip(begins).map(|(end, begin)| end - begin);
    steps.iter().zip(spans).max_by_key(|(_, span)| *span).and_then(|((peer, _), _)| *peer)
}

impl Tracked {
    fn record(&mut self, span_ns: u64, looks: Looks<'_>, peer: impl FnOnce() -> Option<Rank>) {
        self.digest.record(span_ns);
        if span_ns > self.floor_ns {
            self.note(WorstCycle { cycle: looks.cycle, at_ns: looks.at_ns, span_ns, peer: peer() });
        }
    }

    #[cold]
    fn note(&mut self, cycle: WorstCycle) {
        let place = self.worst.partition_point(|worse| worse.span_ns >= cycle.span_ns);
        self.worst.insert(place, cycle);
        self.worst.truncate(N_WORST);
        self.floor_ns = if self.worst.len() == N_WORST { self.worst[N_WORST - 1].span_ns } else { 0 };
    }

    /// The longest times, the longest first; at most [`N_WORST`].
    #[must_use]
    pub(crate) fn worst(&self) -> &[WorstCycle] {
        &self.worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metered(spans: impl IntoIterator<Item = [u64; 4]>) -> Meter {
        let mut meter = Meter::new(&[Some(1), Some(2)], 8);
        let mut now = 100;
        for (cycle, [compute, wait, first, second]) in (0..).zip(spans) {
            let ready_ns = now + compute + wait;
            let ends_ns = [ready_ns + first, ready_ns + first + second];
            meter.record(Looks {
                cycle,
                at_ns: now - 100,
                start_ns: now,
                computed_ns: now + compute,
                ready_ns,
                ends_ns: &ends_ns,
            });
            now = ends_ns[1];
        }
        meter
    }

    #[test]
    fn parts_of_cycles_add_up() {
        let meter = metered([[10, 1, 4, 5], [12, 0, 6, 2]]);
        assert_eq!(meter.cycle.summary().mean_ns, 20.0);
        assert_eq!(meter.compute.digest.summary().mean_ns, 11.0);
        assert_eq!(meter.synchronization.digest.summary().max_ns, 1.0);
        assert_eq!(meter.communication.digest.summary().mean_ns, 8.5);
        assert_eq!(meter.messaging_ns, [10.0, 8.0]);
        assert_eq!(meter.steps[0].1.summary().mean_ns, 5.0);
        assert_eq!(meter.steps[1].1.summary().mean_ns, 3.5);
    }

    #[test]
    fn the_worst_cycles_are_kept_with_whom_they_waited_for() {
        let meter = metered((0..1_000).map(|idx| if idx == 700 { [10, 0, 5, 900] } else { [10, 0, idx % 50, 3] }));
        let worst = meter.communication.worst();
        assert_eq!(worst.len(), N_WORST);
        assert_eq!((worst[0].cycle, worst[0].span_ns, worst[0].peer), (700, 905, Some(2)));
        assert!(worst.is_sorted_by(|a, b| a.span_ns >= b.span_ns));
        assert_eq!(worst[1].span_ns, 52);
        assert_eq!(worst[1].peer, Some(1));
    }
}
