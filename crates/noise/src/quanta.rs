//! Quanta as they are measured: the same work again and again, or the same time (Sottile and Minnich 2004).
//!
//! What is kept is written to memory that was touched before, since a page that is only then made is noise of our own.

use std::hint::black_box;
use std::time::Duration;

use clock::Stopwatch;
use mpi_run::turn;

use super::plan::N_KEPT_MAX;

/// Lengths of pieces of work, one after the other but for the gaps between stretches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lengths {
    /// Each piece's, in nanoseconds; those beyond 4.29 s count as that long.
    pub lengths_ns: Vec<u32>,
    /// Pieces that do not begin when the one before them ended: the first piece is one.
    pub stretches: Vec<Stretch>,
}

/// Pieces without a gap between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    /// Its first piece.
    pub first: usize,
    /// Start of that piece, in nanoseconds of the run's clock.
    pub start_ns: u64,
}

/// Amount of work that was done in each of many equal lengths of time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    /// Start of the first quantum, in nanoseconds of the run's clock.
    pub start_ns: u64,
    /// Length of each quantum.
    pub quantum: Duration,
    /// Pieces of work that ended in each.
    pub counts: Vec<u32>,
}

/// Room for `n` numbers that costs nothing when it is first written to.
#[must_use]
pub(crate) fn touched(n: u64) -> Vec<u32> {
    // A number other than 0, since the system hands out zeros without a page behind them.
    let mut room = vec![1; n.min(N_KEPT_MAX) as usize];
    room.clear();
    room
}

/// Does work of `turns` again and again until `until_ns` or until the room that [`touched`] made is full. After each
/// piece, `look` is told when it ended and how long it took; when that says that it took time itself, what follows
/// begins a stretch.
pub(crate) fn fixed_work(
    clock: &Stopwatch,
    turns: u64,
    until_ns: u64,
    room: Vec<u32>,
    mut look: impl FnMut(usize, u64, u64) -> bool,
) -> Lengths {
    let mut lengths_ns = room;
    let mut start_ns = clock.elapsed_ns();
    let mut stretches = vec![Stretch { first: 0, start_ns }];
    loop {
        turn(turns);
        let end_ns = clock.elapsed_ns();
        let length_ns = end_ns - start_ns;
        lengths_ns.push(saturated(length_ns));
        if end_ns >= until_ns || lengths_ns.len() == lengths_ns.capacity() {
            return Lengths { lengths_ns, stretches };
        }
        start_ns = end_ns;
        if look(lengths_ns.len() - 1, end_ns, length_ns) {
            // What the look left cold takes some hundred nanoseconds to warm up, which is no noise but ours.
            turn(turns.div_ceil(16));
            black_box(clock.elapsed_ns());
            start_ns = clock.elapsed_ns();
            stretches.push(Stretch { first: lengths_ns.len(), start_ns });
        }
    }
}

/// Counts how often work of `turns` ends within each of as many quanta as there is room for. A piece belongs to the
/// quantum that it ends in, so that one that is interrupted for long leaves quanta of nothing behind it.
#[must_use]
pub(crate) fn fixed_time(clock: &Stopwatch, turns: u64, quantum: Duration, n: u64, room: Vec<u32>) -> Counts {
    let quantum_ns = quantum.as_nanos() as u64;
    let mut counts = room;
    let n = (n as usize).min(counts.capacity());
    let start_ns = clock.elapsed_ns();
    let mut next_ns = start_ns + quantum_ns;
    let mut count = 0;
    while counts.len() < n {
        turn(turns);
        let now_ns = clock.elapsed_ns();
        while now_ns >= next_ns && counts.len() < n {
            counts.push(count);
            count = 0;
            next_ns += quantum_ns;
        }
        count += 1;
    }
    Counts { start_ns, quantum, counts }
}

/// Returns a length as it is kept.
#[must_use]
pub(crate) fn saturated(length_ns: u64) -> u32 {
    u32::try_from(length_ns).unwrap_or(u32::MAX)
}

impl Lengths {
    /// Returns the start of each piece, in nanoseconds of the run's clock.
    pub(crate) fn starts_ns(&self) -> impl Iterator<Item = u64> {
        let mut stretches = self.stretches.iter().peekable();
        let mut next_ns = 0;
        self.lengths_ns.iter().enumerate().map(move |(idx, &length_ns)| {
            if let Some(stretch) = stretches.next_if(|stretch| stretch.first == idx) {
                next_ns = stretch.start_ns;
            }
            let start_ns = next_ns;
            next_ns += u64::from(length_ns);
            start_ns
        })
    }

    /// Time spent in pieces, in nanoseconds.
    #[must_use]
    pub(crate) fn observed_ns(&self) -> u64 {
        self.lengths_ns.iter().copied().map(u64::from).sum()
    }
}

impl Counts {
    /// Returns the part of each quantum that was lost, in nanoseconds, if the best one lost nothing.
    #[must_use]
    pub(crate) fn losses_ns(&self) -> Vec<u32> {
        let best = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let unit_ns = self.quantum.as_nanos() as f64 / f64::from(best);
        self.counts.iter().map(|count| saturated((f64::from(best - count) * unit_ns) as u64)).collect()
    }

    /// Returns the time that one piece of work more or less amounts to, in nanoseconds.
    #[must_use]
    pub(crate) fn unit_ns(&self) -> f64 {
        self.quantum.as_nanos() as f64 / f64::from(self.counts.iter().copied().max().unwrap_or(0).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_work_are_counted_from_where_a_look_ended() {
        let clock = Stopwatch::start();
        let lengths = fixed_work(&clock, 10, u64::MAX, touched(50), |idx, _, _| idx == 9);
        assert_eq!(lengths.lengths_ns.len(), 50);
        assert_eq!(lengths.stretches.iter().map(|stretch| stretch.first).collect::<Vec<_>>(), [0, 10]);
        let starts: Vec<u64> = lengths.starts_ns().collect();
        assert_eq!(starts[10], lengths.stretches[1].start_ns);
        assert_eq!(starts[12] - starts[10], u64::from(lengths.lengths_ns[10]) + u64::from(lengths.lengths_ns[11]));
        assert!(starts[10] >= starts[9] + u64::from(lengths.lengths_ns[9]));
    }

    #[test]
    fn a_run_ends_when_its_time_does() {
        let clock = Stopwatch::start();
        assert_eq!(fixed_work(&clock, 10, 0, touched(50), |_, _, _| false).lengths_ns.len(), 1);
    }

    #[test]
    fn each_quantum_of_time_has_its_count() {
        let counts = fixed_time(&Stopwatch::start(), 100, Duration::from_micros(20), 200, touched(200));
        assert_eq!(counts.counts.len(), 200);
        assert!(counts.counts.iter().any(|count| *count > 0));
    }

    #[test]
    fn losses_are_what_the_best_quantum_did_not_lose() {
        let counts = Counts { start_ns: 0, quantum: Duration::from_micros(100), counts: vec![100, 90, 0, 100] };
        assert_eq!(counts.losses_ns(), [0, 10_000, 100_000, 0]);
        assert_eq!(counts.unit_ns(), 1_000.0);
        let nothing = Counts { counts: vec![0, 0], ..counts };
        assert_eq!(nothing.losses_ns(), [100_000, 100_000]);
    }
}
