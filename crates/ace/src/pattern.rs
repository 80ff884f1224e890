//! Messages of an exchange and their order, so that no rank waits for ever whatever the size of messages.
//!
//! Messages between two ranks are put into rounds: in a round no rank has more than one message, sent or received.
//! Ranks go through the rounds in the same order, so that the two ends of the earliest message that is not through
//! always come to it: with sends that wait for their receives no cycle of waiting ranks can close.

use std::fmt;
use std::str::FromStr;

use mpi_trace::Mode;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use units::Rank;

/// Pattern of an exchange: which rank sends to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pattern {
    /// Each to the next, the last to the first.
    Ring,
    /// Each with its partner, both ways: 0 with 1, 2 with 3.
    Pairs,
    /// Each with its four neighbours on a torus of two dimensions.
    Halo2d,
    /// Each with its six neighbours on a torus of three dimensions.
    Halo3d,
    /// Each to one other and from one other, by chance; none to itself.
    Permutation,
    /// A message from rank 0 to each.
    Scatter,
    /// A message from each to rank 0.
    Gather,
    /// The same message from each to all.
    Allgather,
    /// A message from each to each.
    Alltoall,
    /// The sum of all ranks' vectors, to all.
    Allreduce,
    /// A task from rank 0 to each of the others, and an answer from each.
    MasterWorker,
}

/// Reasons why ranks cannot exchange messages in a pattern.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// No such pattern.
    #[error("`{given}` is not a pattern: {}", names(&Pattern::ALL))]
    Unknown {
        /// The pattern as given.
        given: String,
    },
    /// A number of ranks that the pattern does not fit.
    #[error("{pattern} does not fit {n_ranks} ranks: it needs {}; {would} would fit", pattern.needs())]
    Misfit {
        /// The pattern.
        pattern: Pattern,
        /// The number of ranks.
        n_ranks: u32,
        /// The nearest numbers that it fits.
        would: String,
    },
    /// A mode of a collective.
    #[error("{pattern} is a collective operation, which has no {mode} mode; leave the mode out")]
    Mode {
        /// The pattern.
        pattern: Pattern,
        /// The mode.
        mode: Mode,
    },
}

/// One message of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
}

/// Action of one rank for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The other rank.
    pub peer: Rank,
    /// Whether the message goes there or comes from there.
    pub direction: Direction,
    /// The message's number in the exchange.
    pub tag: i32,
}

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Sent to the other rank.
    Send,
    /// Received from the other rank.
    Receive,
}

/// The messages of an exchange in rounds, in each of which no rank has more than one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    rounds: Vec<Vec<(i32, Message)>>,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Ring,
        Self::Pairs,
        Self::Halo2d,
        Self::Halo3d,
        Self::Permutation,
        Self::Scatter,
        Self::Gather,
        Self::Allgather,
        Self::Alltoall,
        Self::Allreduce,
        Self::MasterWorker,
    ];

    /// Returns the name of the pattern, as people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Pairs => "pairs",
            Self::Halo2d => "halo-2d",
            Self::Halo3d => "halo-3d",
            Self::Permutation => "permutation",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
            Self::Allreduce => "allreduce",
            Self::MasterWorker => "master-worker",
        }
    }

    /// Whether MPI does the exchange in one call of all ranks.
    #[must_use]
    pub fn is_collective(self) -> bool {
        matches!(self, Self::Scatter | Self::Gather | Self::Allgather | Self::Alltoall | Self::Allreduce)
    }

    /// Whether so many ranks can exchange messages so, and in such a mode.
    ///
    /// # Errors
    /// [`PatternError::Misfit`] with the nearest numbers of ranks that fit, or [`PatternError::Mode`].
    pub fn check(self, mode: Mode, n_ranks: u32) -> Result<(), PatternError> {
        if self.is_collective() && mode != Mode::Blocking {
            return Err(PatternError::Mode { pattern: self, mode });
        }
        if self.fits(n_ranks) {
            return Ok(());
        }
        let below = (2..n_ranks).rev().find(|&n| self.fits(n));
        let above = (n_ranks + 1..).find(|&n| self.fits(n));
        let would = [below, above].into_iter().flatten().map(|n| n.to_string()).collect::<Vec<_>>().join(" or ");
        Err(PatternError::Misfit { pattern: self, n_ranks, would })
    }

    fn fits(self, n_ranks: u32) -> bool {
        match self {
            Self::Pairs => n_ranks >= 2 && n_ranks.is_multiple_of(2),
            Self::Halo2d => torus::<2>(n_ranks).is_some(),
            Self::Halo3d => torus::<3>(n_ranks).is_some(),
            _ => n_ranks >= 2,
        }
    }

    fn needs(self) -> &'static str {
        match self {
            Self::Pairs => "an even number",
            Self::Halo2d => "a product of two numbers from 2 up",
            Self::Halo3d => "a product of three numbers from 2 up",
            _ => "at least 2",
        }
    }

    /// The messages of one exchange, in rounds; empty for a collective. The seed matters to [`Pattern::Permutation`]
    /// only.
    ///
    /// # Panics
    /// When the pattern does not fit the number of ranks (see [`Pattern::check`]).
    #[must_use]
    pub fn rounds(self, n_ranks: u32, seed: u64) -> Rounds {
        assert!(self.fits(n_ranks), "{self} on {n_ranks} ranks");
        let message = |from, to| Message { from, to };
        let messages = match self {
            Self::Ring => (0..n_ranks).map(|rank| message(rank, (rank + 1) % n_ranks)).collect(),
            Self::Pairs => (0..n_ranks).map(|rank| message(rank, rank ^ 1)).collect(),
            Self::Halo2d => halo(torus::<2>(n_ranks)),
            Self::Halo3d => halo(torus::<3>(n_ranks)),
            Self::Permutation => {
                (0..n_ranks).zip(derangement(n_ranks, seed)).map(|(from, to)| message(from, to)).collect()
            }
            Self::MasterWorker => {
                let tasks = (1..n_ranks).map(|worker| message(0, worker));
                tasks.chain((1..n_ranks).map(|worker| message(worker, 0))).collect()
            }
            Self::Scatter | Self::Gather | Self::Allgather | Self::Alltoall | Self::Allreduce => Vec::new(),
        };
        Rounds::of(&messages)
    }

    /// Returns the number of messages of an exchange that follow one another on the rank that has most of them:
    /// the `m` of equation 1.
    ///
    /// The number is that of rounds with blocking sends; with non-blocking ones, which go both ways at once, it is the
    /// most that a rank sends or receives. For collectives it is that of the plain algorithms: `n - 1` messages of a
    /// root, or around a ring, and for allreduce down and up a binary tree.
    #[must_use]
    pub fn n_messages(self, mode: Mode, n_ranks: u32, seed: u64) -> u32 {
        if self == Self::Allreduce {
            return 2 * n_ranks.next_power_of_two().ilog2();
        }
        if self.is_collective() {
            return n_ranks - 1;
        }
        let rounds = self.rounds(n_ranks, seed);
        match mode {
            Mode::Blocking | Mode::Synchronous => u32::try_from(rounds.rounds.len()).unwrap_or(u32::MAX),
            Mode::NonBlocking => {
                let busiest = (0..n_ranks).map(|rank| {
                    let steps = rounds.steps(rank);
                    let n_sends = steps.iter().filter(|step| step.direction == Direction::Send).count();
                    n_sends.max(steps.len() - n_sends)
                });
                busiest.max().and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
            }
        }
    }
}

impl Rounds {
    /// Puts each message into the first round in which neither of its ranks has another.
    fn of(messages: &[Message]) -> Self {
        let mut rounds: Vec<Vec<(i32, Message)>> = Vec::new();
        for (tag, &message) in (0..).zip(messages) {
            let is_busy = |round: &Vec<(i32, Message)>| round.iter().any(|(_, other)| other.shares_a_rank(message));
            match rounds.iter().position(|round| !is_busy(round)) {
                Some(idx) => rounds[idx].push((tag, message)),
                None => rounds.push(vec![(tag, message)]),
            }
        }
        Self { rounds }
    }

    /// Returns the steps of `rank` in an exchange, in its order.
    #[must_use]
    pub fn steps(&self, rank: Rank) -> Vec<Step> {
        let step = |&(tag, message): &(i32, Message)| match message {
            Message { from, to } if from == rank => Some(Step { peer: to, direction: Direction::Send, tag }),
            Message { from, to } if to == rank => Some(Step { peer: from, direction: Direction::Receive, tag }),
            Message { .. } => None,
        };
        self.rounds.iter().flatten().filter_map(step).collect()
    }
}

impl Message {
    fn shares_a_rank(self, other: Self) -> bool {
        [self.from, self.to].iter().any(|rank| [other.from, other.to].contains(rank))
    }
}

/// The extents of a torus of `n_ranks`, each at least 2 and as equal as can be.
fn torus<const N: usize>(n_ranks: u32) -> Option<[u32; N]> {
    let mut extents = [1; N];
    let mut left = n_ranks;
    for idx in 0..N - 1 {
        let n_after = u32::try_from(N - idx - 1).ok()?;
        let even = f64::from(left).powf(1.0 / f64::from(n_after + 1)).round() as u32;
        // The divisor nearest to an even share that leaves enough for the dimensions after this one.
        let fits = |&extent: &u32| left.is_multiple_of(extent) && is_product(left / extent, n_after);
        extents[idx] = (2..=left).filter(fits).min_by_key(|extent| extent.abs_diff(even))?;
        left /= extents[idx];
    }
    extents[N - 1] = left;
    (left >= 2).then_some(extents)
}

/// Whether `number` is a product of `n_factors` numbers from 2 up: whether it has as many prime factors.
fn is_product(mut number: u32, n_factors: u32) -> bool {
    let mut n_primes = 0;
    let mut prime = 2;
    while number > 1 && prime * prime <= number {
        while number.is_multiple_of(prime) {
            number /= prime;
            n_primes += 1;
        }
        prime += 1;
    }
    n_primes + u32::from(number > 1) >= n_factors
}

/// Both ways along each dimension of a torus; ranks count along the last dimension first.
fn halo<const N: usize>(extents: Option<[u32; N]>) -> Vec<Message> {
    let extents = extents.expect("checked that the pattern fits");
    let n_ranks: u32 = extents.iter().product();
    let mut messages = Vec::new();
    for dimension in 0..N {
        let stride: u32 = extents[dimension + 1..].iter().product();
        let extent = extents[dimension];
        for rank in 0..n_ranks {
            let place = rank / stride % extent;
            let neighbour = |place: u32| rank - (rank / stride % extent) * stride + (place % extent) * stride;
            messages.push(Message { from: rank, to: neighbour(place + 1) });
            messages.push(Message { from: rank, to: neighbour(place + extent - 1) });
        }
    }
    messages
}

/// A permutation by chance that leaves none in its place. Of all permutations, one in e is such.
fn derangement(n_ranks: u32, seed: u64) -> Vec<Rank> {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<Rank> = (0..n_ranks).collect();
    loop {
        order.shuffle(&mut chance);
        if (0..).zip(&order).all(|(rank, &to): (Rank, &Rank)| rank != to) {
            return order;
        }
    }
}

fn names(all: &[impl fmt::Display]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|pattern| pattern.name() == text)
            .ok_or_else(|| PatternError::Unknown { given: text.to_owned() })
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT_TO_POINT: [Pattern; 6] =
        [Pattern::Ring, Pattern::Pairs, Pattern::Halo2d, Pattern::Halo3d, Pattern::Permutation, Pattern::MasterWorker];

    /// Runs all ranks' steps with sends that wait for their receives, until nothing moves; how many steps are left.
    fn n_stuck(rounds: &Rounds, n_ranks: u32) -> usize {
        let mut left: Vec<Vec<Step>> = (0..n_ranks).map(|rank| rounds.steps(rank)).collect();
        loop {
            let next = |rank: Rank| left[rank as usize].first().copied();
            let pair = (0..n_ranks).find_map(|rank| {
                let send = next(rank).filter(|step| step.direction == Direction::Send)?;
                let receive = next(send.peer).filter(|step| step.direction == Direction::Receive)?;
                (receive.peer == rank && receive.tag == send.tag).then_some((rank, send.peer))
            });
            let Some((from, to)) = pair else { return left.iter().map(Vec::len).sum() };
            left[from as usize].remove(0);
            left[to as usize].remove(0);
        }
    }

    #[test]
    fn no_rank_waits_for_ever_in_any_pattern() {
        for pattern in POINT_TO_POINT {
            for n_ranks in (2..=36).filter(|&n| pattern.fits(n)) {
                assert_eq!(n_stuck(&pattern.rounds(n_ranks, 3), n_ranks), 0, "{pattern} on {n_ranks}");
            }
        }
    }

    #[test]
    fn rounds_are_few() {
        for (pattern, n_ranks, n_rounds) in [
            (Pattern::Ring, 2, 2),
            (Pattern::Ring, 6, 2),
            (Pattern::Ring, 5, 3),
            (Pattern::Pairs, 8, 2),
            (Pattern::MasterWorker, 4, 6),
        ] {
            assert_eq!(pattern.n_messages(Mode::Blocking, n_ranks, 1), n_rounds, "{pattern} on {n_ranks}");
        }
        assert_eq!(Pattern::Halo3d.n_messages(Mode::NonBlocking, 8, 1), 6);
        assert_eq!(Pattern::Alltoall.n_messages(Mode::Blocking, 8, 1), 7);
        assert_eq!(Pattern::Allreduce.n_messages(Mode::Blocking, 8, 1), 6);
    }

    #[test]
    fn each_rank_of_a_halo_sends_to_every_neighbour_and_hears_from_it() {
        for (pattern, n_ranks, n_faces) in [(Pattern::Halo2d, 12, 4), (Pattern::Halo3d, 24, 6), (Pattern::Halo2d, 4, 4)]
        {
            let rounds = pattern.rounds(n_ranks, 1);
            for rank in 0..n_ranks {
                let peers = |direction| {
                    let mut peers: Vec<Rank> = rounds
                        .steps(rank)
                        .iter()
                        .filter(|step| step.direction == direction)
                        .map(|step| step.peer)
                        .collect();
                    peers.sort_unstable();
                    peers
                };
                assert_eq!(peers(Direction::Send), peers(Direction::Receive), "{pattern}, rank {rank}");
                assert_eq!(peers(Direction::Send).len(), n_faces);
                assert!(!peers(Direction::Send).contains(&rank));
            }
        }
    }

    #[test]
    fn a_torus_is_as_even_as_can_be() {
        assert_eq!(torus::<2>(12), Some([3, 4]));
        assert_eq!(torus::<2>(16), Some([4, 4]));
        assert_eq!(torus::<3>(64), Some([4, 4, 4]));
        assert_eq!(torus::<3>(12), Some([2, 2, 3]));
        assert_eq!(torus::<2>(7), None);
        assert_eq!(torus::<3>(6), None);
    }

    #[test]
    fn permutations_go_by_their_seed_and_send_to_nobody_twice() {
        let first = derangement(9, 1);
        assert_eq!(first, derangement(9, 1));
        assert_ne!(first, derangement(9, 2));
        let mut sorted = first;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn a_misfit_says_what_would_fit() {
        let told = |pattern: Pattern, n| pattern.check(Mode::Blocking, n).unwrap_err().to_string();
        assert_eq!(told(Pattern::Ring, 1), "ring does not fit 1 ranks: it needs at least 2; 2 would fit");
        assert_eq!(told(Pattern::Pairs, 5), "pairs does not fit 5 ranks: it needs an even number; 4 or 6 would fit");
        assert_eq!(
            told(Pattern::Halo3d, 9),
            "halo-3d does not fit 9 ranks: it needs a product of three numbers from 2 up; 8 or 12 would fit"
        );
        assert!(Pattern::Gather.check(Mode::Synchronous, 4).unwrap_err().to_string().contains("no synchronous mode"));
    }

    #[test]
    fn names_read_back() {
        assert!(Pattern::ALL.iter().all(|pattern| pattern.to_string().parse() == Ok(*pattern)));
        assert!("rings".parse::<Pattern>().unwrap_err().to_string().ends_with("allreduce, master-worker"));
    }
}
