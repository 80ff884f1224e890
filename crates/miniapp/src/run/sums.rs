//! Global sums, and sorting between them.

use std::hint::black_box;

use mpi::collective::{CommunicatorCollectives, SystemOperation};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statistics::median;

use super::{Measured, PILOT, Run, work_ns};
use crate::plan::SumPlan;

/// Sums before those that are counted.
const N_WARM: u64 = 50;
/// Sums by which sorting is tuned, or fewer if they would take longer than [`PILOT`].
const N_PILOT: u64 = 200;
/// Times that the tuning is corrected by what both take together.
const N_CORRECTIONS: usize = 3;
/// Times that the length of sorting alone is looked at, and sorts each time.
const N_GUESSES: usize = 6;
const N_SORTS: usize = 15;
/// Integers that a rank has to sort at most: 16 MiB.
const N_SORTED_MAX: usize = 1 << 22;
/// Sums between two words of how far the run is.
const N_TOLD: u64 = 4096;
/// Number of values that are summed in turn, so that a result of the call before is a wrong one.
const N_VALUES: u64 = 8;

impl Run<'_> {
    pub(super) fn sums(&self, plan: &SumPlan, tell: &mut dyn FnMut(&str, u64, u64)) -> Measured {
        let sizes = Sizes { n_values: (plan.size.bytes() / 4) as usize, n: u64::from(plan.n_sizes) };
        let mut sorting = Sorting::new(self.seed, self.session.rank());
        self.summed(sizes, N_WARM, None, &mut |_, _, _| ());
        let n_sorted = plan.communication_ratio.map(|ratio| self.tuned(sizes, ratio, &mut sorting));
        let mut work = || {
            n_sorted.iter().for_each(|&n_sorted| sorting.sort(n_sorted));
            self.straggle();
        };
        let has_work = n_sorted.is_some() || self.additional_turns > 0;
        let work = has_work.then_some(&mut work as &mut dyn FnMut());
        let measured = self.summed(sizes, plan.n_calls, work, tell);
        Measured { size_bytes: plan.size.bytes(), n_sorted: n_sorted.unwrap_or(0) as u64, ..measured }
    }

    /// So many sums, with work before each.
    fn summed(
        &self,
        sizes: Sizes,
        n_calls: u64,
        mut work: Option<&mut dyn FnMut()>,
        tell: &mut dyn FnMut(&str, u64, u64),
    ) -> Measured {
        let world = self.session.world();
        let (mine, all) = (u64::from(self.session.rank()) + 1, u64::from(self.session.n_ranks()));
        let mut measured = Measured { n_calls, ..Measured::default() };
        let [mut values, mut sums] = [(); 2].map(|()| vec![0_i32; sizes.most()]);
        let value = |factor: u64, call: u64, idx: usize| (factor * (1 + (call + idx as u64) % N_VALUES)) as i32;
        world.barrier();
        let began_ns = self.clock.elapsed_ns();
        for call in 0..n_calls {
            let n_values = sizes.of(call);
            let (values, sums) = (&mut values[..n_values], &mut sums[..n_values]);
            values.iter_mut().enumerate().for_each(|(idx, it)| *it = value(mine, call, idx));
            if let Some(work) = &mut work {
                let before_ns = self.clock.elapsed_ns();
                work();
                measured.work.record(self.clock.elapsed_ns() - before_ns);
            }
            let before_ns = self.clock.elapsed_ns();
            world.all_reduce_into(&*values, &mut *sums, SystemOperation::sum());
            measured.call.record(self.clock.elapsed_ns() - before_ns);
            let is_right = sums.iter().enumerate().all(|(idx, sum)| *sum == value(all * (all + 1) / 2, call, idx));
            measured.n_wrong += u64::from(!is_right);
            if call.is_multiple_of(N_TOLD) {
                tell("sums", call, n_calls);
            }
        }
        measured.run_ns = self.clock.elapsed_ns() - began_ns;
        measured
    }

    /// Returns the number of integers to sort, so that sums have this share of the time. Stragglers do not count.
    /// Collective.
    fn tuned(&self, sizes: Sizes, communication_ratio: f64, sorting: &mut Sorting) -> usize {
        let pilot = self.summed(sizes, N_PILOT, None, &mut |_, _, _| ());
        let mut call_ns = self.means_ns(&pilot).0;
        let mut n_sorted = self.of_first(self.guessed(work_ns(call_ns, communication_ratio), sorting)) as usize;
        for _ in 0..N_CORRECTIONS {
            let n_calls = PILOT.as_nanos() as f64 / (call_ns + work_ns(call_ns, communication_ratio));
            let n_calls = self.of_first((n_calls as u64).clamp(10, N_PILOT));
            let pilot = self.summed(sizes, n_calls, Some(&mut || sorting.sort(n_sorted)), &mut |_, _, _| ());
            let (measured_ns, sorted_ns) = self.means_ns(&pilot);
            call_ns = measured_ns;
            n_sorted = scaled(n_sorted, work_ns(call_ns, communication_ratio) / sorted_ns.max(1.0));
        }
        n_sorted
    }

    /// Returns the number of integers that take so long to sort.
    fn guessed(&self, span_ns: f64, sorting: &mut Sorting) -> u64 {
        let mut n_sorted = 64;
        for _ in 0..N_GUESSES {
            let mut spans_ns = [0.0; N_SORTS];
            for span_ns in &mut spans_ns {
                let before_ns = self.clock.elapsed_ns();
                sorting.sort(n_sorted);
                *span_ns = (self.clock.elapsed_ns() - before_ns) as f64;
            }
            n_sorted = scaled(n_sorted, span_ns / median(&spans_ns).unwrap_or(1.0).max(1.0));
        }
        n_sorted as u64
    }
}

fn scaled(n_sorted: usize, factor: f64) -> usize {
    ((n_sorted as f64 * factor).round() as usize).clamp(1, N_SORTED_MAX)
}

/// Numbers of values that sums have, one after the other.
#[derive(Clone, Copy)]
struct Sizes {
    n_values: usize,
    n: u64,
}

impl Sizes {
    fn of(self, call: u64) -> usize {
        self.n_values * (1 + (call % self.n) as usize)
    }

    fn most(self) -> usize {
        self.n_values * self.n as usize
    }
}

/// The same integers, sorted again and again.
struct Sorting {
    chance: ChaCha8Rng,
    shuffled: Vec<u32>,
    sorted: Vec<u32>,
}

impl Sorting {
    fn new(seed: u64, rank: u32) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        chance.set_stream(rank.into());
        Self { chance, shuffled: Vec::new(), sorted: Vec::new() }
    }

    fn sort(&mut self, n_sorted: usize) {
        while self.shuffled.len() < n_sorted {
            self.shuffled.push(self.chance.random());
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.shuffled[..n_sorted]);
        self.sorted.sort_unstable();
        black_box(&self.sorted);
    }
}
