//! Likeness of messages to patterns: the shares of all messages that go from one rank to another,
//! beside those of each pattern.

use std::collections::BTreeMap;

use mpi_trace::{Mode, Row};
use units::Rank;

use crate::pattern::{Direction, Pattern};

/// A permutation is made from the messages themselves, so that it is a little like any: it must be so much more like
/// than others.
const PERMUTATION_GAIN: f64 = 0.05;
/// Share of the cycles in which messages are a permutation, for them to be one that changes.
const CHANGING_RATIO: f64 = 0.8;

/// A pattern that messages could be of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Likeness {
    pub(super) pattern: Pattern,
    /// Difference of the messages from those of the emulated pattern, whatever their likeness; empty if there is none.
    pub(super) difference: String,
    /// Share of the messages that the pattern has too.
    pub(super) ratio: f64,
}

/// Messages by sender and receiver.
pub(super) struct Matrix {
    n_ranks: u32,
    counts: BTreeMap<(Rank, Rank), f64>,
    total: f64,
}

impl Matrix {
    /// Counts the sends among these calls by sender and receiver; messages of a rank to itself are left out.
    pub(super) fn of<'a>(n_ranks: u32, sends: impl Iterator<Item = &'a Row>) -> Self {
        let mut counts = BTreeMap::new();
        for row in sends {
            if let Some(peer) = row.peer.filter(|peer| *peer != row.rank) {
                *counts.entry((row.rank, peer)).or_insert(0.0) += 1.0;
            }
        }
        Self { n_ranks, total: counts.values().sum(), counts }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// All patterns, the likest first, each in the form in which it is likest. `by_cycle` has the receivers of each
    /// cycle of each rank.
    pub(super) fn likenesses(&self, by_cycle: &[Vec<Vec<Rank>>]) -> Vec<Likeness> {
        let mut found = self.fixed();
        let permutation = self.permutation();
        let best = found.iter().map(|likeness| likeness.ratio).fold(0.0, f64::max);
        let changing = if permutation.ratio < CHANGING_RATIO { changing_ratio(by_cycle) } else { 0.0 };
        if changing >= CHANGING_RATIO {
            let difference = "another permutation in each cycle; the emulated one stays".to_owned();
            found.insert(
                0,
                Likeness { pattern: Pattern::Permutation, difference, ratio: 1.0_f64.min(best.max(changing)) },
            );
        } else if permutation.ratio > best + PERMUTATION_GAIN {
            found.insert(0, permutation);
        } else {
            found.push(Likeness { ratio: permutation.ratio.min(best), ..permutation });
        }
        // A stable sort leaves the plainer one of two alike in front.
        found.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        let mut seen = Vec::new();
        found.retain(|likeness| {
            let is_first = !seen.contains(&likeness.pattern);
            seen.push(likeness.pattern);
            is_first
        });
        found
    }

    fn likeness(&self, pattern: Pattern, difference: impl Into<String>, messages: &[(Rank, Rank)]) -> Likeness {
        let mut expected: BTreeMap<(Rank, Rank), f64> = BTreeMap::new();
        for message in messages {
            *expected.entry(*message).or_insert(0.0) += 1.0;
        }
        let share = |(message, n): (&(Rank, Rank), &f64)| {
            let found = self.counts.get(message).map_or(0.0, |count| count / self.total);
            found.min(n / messages.len() as f64)
        };
        Likeness { pattern, difference: difference.into(), ratio: expected.iter().map(share).sum::<f64>().min(1.0) }
    }

    /// Patterns that go by the number of ranks and by who is the first among them.
    fn fixed(&self) -> Vec<Likeness> {
        let n = self.n_ranks;
        let emulated = [Pattern::Pairs, Pattern::Ring, Pattern::Halo2d, Pattern::Halo3d];
        let mut found: Vec<Likeness> = emulated
            .into_iter()
            .filter(|pattern| pattern.check(Mode::Blocking, n).is_ok())
            .map(|pattern| self.likeness(pattern, "", &messages_of(pattern, n)))
            .collect();
        let upward: Vec<_> = (0..n).map(|rank| (rank, (rank + 1) % n)).collect();
        let downward: Vec<_> = upward.iter().map(|&(from, to)| (to, from)).collect();
        let chain: Vec<_> =
            upward.iter().chain(&downward).copied().filter(|(from, to)| from.abs_diff(*to) == 1).collect();
        found.push(self.likeness(
            Pattern::Ring,
            "from each to the rank before; the emulated one goes to the next",
            &downward,
        ));
        let both = [upward, downward].concat();
        found.push(self.likeness(Pattern::Ring, "both ways; the emulated one goes one way", &both));
        found.push(self.likeness(
            Pattern::Ring,
            "both ways along an open chain; the emulated one is closed and goes one way",
            &chain,
        ));
        found.extend(self.halos(Pattern::Halo2d, &grids(n, 2)));
        found.extend(self.halos(Pattern::Halo3d, &grids(n, 3)));
        found.extend(self.rooted());
        let all: Vec<_> =
            (0..n).flat_map(|from| (0..n).map(move |to| (from, to))).filter(|(from, to)| from != to).collect();
        found.push(self.likeness(Pattern::Alltoall, "by single messages; the emulated one is one call", &all));
        found
    }

    fn halos(&self, pattern: Pattern, grids: &[Vec<u32>]) -> Vec<Likeness> {
        let mut found = Vec::new();
        for grid in grids {
            let extents = grid.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
            let closed = format!("on a torus of {extents}; the emulated one is as even as it can be");
            found.push(self.likeness(pattern, closed, &halo(grid, Edge::Joined)));
            let open = format!("on a grid of {extents} with open ends; the emulated one is a torus");
            found.push(self.likeness(pattern, open, &halo(grid, Edge::Open)));
        }
        found
    }

    /// Patterns with a rank unlike the others: the one with the most messages.
    fn rooted(&self) -> Vec<Likeness> {
        let mut at_rank = vec![0.0; self.n_ranks as usize];
        for ((from, to), count) in &self.counts {
            at_rank[*from as usize] += count;
            at_rank[*to as usize] += count;
        }
        let busiest = (0..self.n_ranks).rev().max_by(|a, b| at_rank[*a as usize].total_cmp(&at_rank[*b as usize]));
        let Some(root) = busiest else { return Vec::new() };
        let others = || (0..self.n_ranks).filter(move |rank| *rank != root);
        let out: Vec<_> = others().map(|rank| (root, rank)).collect();
        let back: Vec<_> = others().map(|rank| (rank, root)).collect();
        let who = if root == 0 { String::new() } else { format!("from rank {root}; the emulated one is from rank 0") };
        let single = |who: &str| {
            [who, "by single messages; the emulated one is one call"]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", and ")
        };
        vec![
            self.likeness(Pattern::MasterWorker, who.clone(), &[out.clone(), back.clone()].concat()),
            self.likeness(Pattern::Scatter, single(&who), &out),
            self.likeness(Pattern::Gather, single(&who), &back),
        ]
    }

    /// Returns the permutation from each rank to the one that it sends most to, as far as no rank receives from two.
    fn permutation(&self) -> Likeness {
        let mut entries: Vec<_> = self.counts.iter().collect();
        entries.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
        let n = self.n_ranks as usize;
        let (mut sends, mut receives, mut messages) = (vec![false; n], vec![false; n], Vec::new());
        for (&(from, to), _) in entries {
            if !sends[from as usize] && !receives[to as usize] {
                (sends[from as usize], receives[to as usize]) = (true, true);
                messages.push((from, to));
            }
        }
        let likeness = self.likeness(Pattern::Permutation, "the emulated one is another of its kind", &messages);
        // Ranks that neither send nor receive would in a permutation.
        Likeness { ratio: likeness.ratio * messages.len() as f64 / f64::from(self.n_ranks), ..likeness }
    }
}

/// Share of the cycles in which each rank sends to one other, and no two to the same.
fn changing_ratio(by_cycle: &[Vec<Vec<Rank>>]) -> f64 {
    let n_cycles = by_cycle.iter().map(Vec::len).min().unwrap_or(0);
    let is_permutation = |cycle: &usize| {
        let mut receivers: Vec<Rank> = by_cycle.iter().flat_map(|cycles| cycles[*cycle].iter().copied()).collect();
        receivers.sort_unstable();
        let n_distinct = receivers.chunk_by(|a, b| a == b).count();
        n_distinct == by_cycle.len() && by_cycle.iter().all(|cycles| cycles[*cycle].len() == 1)
    };
    if n_cycles == 0 { 0.0 } else { (0..n_cycles).filter(is_permutation).count() as f64 / n_cycles as f64 }
}

fn messages_of(pattern: Pattern, n_ranks: u32) -> Vec<(Rank, Rank)> {
    let rounds = pattern.rounds(n_ranks, 0);
    let sends = |rank: Rank| {
        let steps = rounds.steps(rank).into_iter().filter(|step| step.direction == Direction::Send);
        steps.map(move |step| (rank, step.peer)).collect::<Vec<_>>()
    };
    (0..n_ranks).flat_map(sends).collect()
}

/// All grids of so many dimensions, each at least 2 long.
fn grids(n_ranks: u32, n_dimensions: u32) -> Vec<Vec<u32>> {
    if n_dimensions == 1 {
        return if n_ranks >= 2 { vec![vec![n_ranks]] } else { Vec::new() };
    }
    let first = (2..=n_ranks / 2).filter(|extent| n_ranks.is_multiple_of(*extent));
    first
        .flat_map(|extent| {
            grids(n_ranks / extent, n_dimensions - 1).into_iter().map(move |rest| [vec![extent], rest].concat())
        })
        .collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Edge {
    Joined,
    Open,
}

/// Both ways along each dimension; ranks count along the last dimension first.
fn halo(grid: &[u32], edge: Edge) -> Vec<(Rank, Rank)> {
    let n_ranks: u32 = grid.iter().product();
    let mut messages = Vec::new();
    for (dimension, &extent) in grid.iter().enumerate() {
        let stride: u32 = grid[dimension + 1..].iter().product();
        for rank in 0..n_ranks {
            let place = rank / stride % extent;
            let corner = rank - place * stride;
            if place + 1 < extent || edge == Edge::Joined {
                messages.push((rank, corner + (place + 1) % extent * stride));
            }
            if place > 0 || edge == Edge::Joined {
                messages.push((rank, corner + (place + extent - 1) % extent * stride));
            }
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use mpi_trace::Call;

    use super::*;

    fn best(n_ranks: u32, messages: &[(Rank, Rank)]) -> Likeness {
        let row = |&(rank, peer): &(Rank, Rank)| Row {
            rank,
            start_ns: 0,
            end_ns: 0,
            call: Call::Send(Mode::Blocking),
            peer: Some(peer),
            size_bytes: 0,
        };
        let rows: Vec<Row> = messages.iter().map(row).collect();
        Matrix::of(n_ranks, rows.iter()).likenesses(&[]).swap_remove(0)
    }

    #[test]
    fn an_open_grid_is_a_halo_with_a_difference() {
        let likeness = best(12, &halo(&[2, 6], Edge::Open));
        assert_eq!((likeness.pattern, likeness.ratio), (Pattern::Halo2d, 1.0));
        assert_eq!(likeness.difference, "on a grid of 2 x 6 with open ends; the emulated one is a torus");
    }

    #[test]
    fn a_root_elsewhere_is_found() {
        let messages: Vec<_> = [0, 1, 3, 4].into_iter().flat_map(|rank| [(2, rank), (rank, 2)]).collect();
        let likeness = best(5, &messages);
        assert_eq!(
            (likeness.pattern, likeness.difference.as_str()),
            (Pattern::MasterWorker, "from rank 2; the emulated one is from rank 0")
        );
    }

    #[test]
    fn what_is_like_nothing_is_hardly_like_the_nearest() {
        // Each to those 3, 5 and 7 ranks on: no neighbours on any grid of 17.
        let messages: Vec<_> = (0..17).flat_map(|rank| [3, 5, 7].map(|on| (rank, (rank + on) % 17))).collect();
        let likeness = best(17, &messages);
        assert!(likeness.ratio < 0.5, "{likeness:?}");
    }

    #[test]
    fn grids_have_no_dimension_of_one() {
        assert_eq!(grids(12, 2), [[2, 6], [3, 4], [4, 3], [6, 2]]);
        assert_eq!(grids(8, 3), [[2, 2, 2]]);
        assert_eq!(grids(7, 2), [[0; 2]; 0]);
    }
}
