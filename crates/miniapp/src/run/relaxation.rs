//! Successive over-relaxation: each rank has a strip of the grid.

use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::point_to_point::send_receive_into;
use mpi::topology::Communicator;

use super::noise::ask;
use super::{Measured, PILOT, Run, work_ns};
use crate::grid::{Colour, Strip, relaxation};
use crate::plan::{ConvergenceTest, Length, PlanError, SorPlan};
use crate::record::Relaxed;

/// Iterations by which the size of a grid is tuned, or fewer if they would take longer than [`PILOT`].
const N_PILOT: u64 = 30;
/// Number of times that the size is tuned.
const N_TUNINGS: usize = 5;
/// Points on a side at which tuning begins.
const SIDE_FIRST: u32 = 256;
/// Iterations between two words of how far the run is.
const N_TOLD: u64 = 64;

impl SorPlan {
    pub(super) fn blocked_ratio(&self) -> Option<f64> {
        match self.length {
            Length::Points(_) => None,
            Length::BlockedRatio(ratio) => Some(ratio),
        }
    }
}

impl Run<'_> {
    pub(super) fn relaxation(
        &self,
        plan: &SorPlan,
        tell: &mut dyn FnMut(&str, u64, u64),
    ) -> Result<Measured, PlanError> {
        let side = match plan.length {
            Length::Points(side) => side,
            Length::BlockedRatio(ratio) => self.tuned_side(plan, ratio)?,
        };
        self.relaxed(plan, side, tell)
    }

    /// Returns the side of a grid that leaves this share of the time to communication. Collective.
    fn tuned_side(&self, plan: &SorPlan, blocked_ratio: f64) -> Result<u32, PlanError> {
        let (least, most) = SorPlan::sides(self.session.n_ranks());
        let mut pilot = SorPlan { epsilon: 0.0, n_iterations_max: N_PILOT, ..*plan };
        let mut side = SIDE_FIRST.clamp(least, most);
        for _ in 0..N_TUNINGS {
            let (communication_ns, relaxing_ns) = self.means_ns(&self.relaxed(&pilot, side, &mut |_, _, _| ())?);
            let needed_ns = work_ns(communication_ns, blocked_ratio);
            let factor = (needed_ns / relaxing_ns.max(1.0)).sqrt();
            side = ((f64::from(side) * factor).round() as u32).clamp(least, most);
            let n_iterations = PILOT.as_nanos() as f64 / (communication_ns + needed_ns);
            pilot.n_iterations_max = self.of_first((n_iterations as u64).clamp(3, N_PILOT));
        }
        Ok(side)
    }

    fn relaxed(&self, plan: &SorPlan, side: u32, tell: &mut dyn FnMut(&str, u64, u64)) -> Result<Measured, PlanError> {
        let (world, rank) = (self.session.world(), self.session.rank());
        let mut strip = Strip::new(plan.data, self.seed, side, rank, self.session.n_ranks());
        let mut borders = vec![0.0; side as usize];
        let mut measured = Measured { size_bytes: size_of::<f64>() as u64, ..Measured::default() };
        let (mut changed, mut is_converged) = (None, false);
        let mut conditional = match plan.test {
            ConvergenceTest::Conditional => Some(ask(plan.epsilon)?),
            _ => None,
        };
        world.barrier();
        let began_ns = self.clock.elapsed_ns();
        while measured.n_calls < plan.n_iterations_max && !is_converged {
            let mut mine = 0.0;
            let (mut exchange_ns, mut work_ns) = (0, 0);
            for colour in [Colour::Red, Colour::Black] {
                let before_ns = self.clock.elapsed_ns();
                self.exchange(&mut strip, &mut borders);
                let between_ns = self.clock.elapsed_ns();
                mine += strip.relax(colour);
                if colour == Colour::Black {
                    self.straggle();
                }
                exchange_ns += between_ns - before_ns;
                work_ns += self.clock.elapsed_ns() - between_ns;
            }
            measured.exchange.record(exchange_ns);
            measured.work.record(work_ns);
            if let Some(condar) = &mut conditional {
                let before_ns = self.clock.elapsed_ns();
                let answer = condar.call(mine).map_err(|error| PlanError::Conditional(error.to_string()))?;
                measured.call.record(self.clock.elapsed_ns() - before_ns);
                is_converged = !answer.verdict;
                changed = Some(answer.value);
            } else if plan.test == ConvergenceTest::Plain {
                let mut sum = 0.0;
                let before_ns = self.clock.elapsed_ns();
                world.all_reduce_into(&mine, &mut sum, SystemOperation::sum());
                measured.call.record(self.clock.elapsed_ns() - before_ns);
                // Nobody's part is negative, so that their sum is not below any of them. A NaN is.
                measured.n_wrong += u64::from(sum.partial_cmp(&mine).is_none_or(std::cmp::Ordering::is_lt));
                changed = Some(sum);
                is_converged = sum < plan.epsilon;
            }
            if measured.n_calls.is_multiple_of(N_TOLD) {
                tell("iterations", measured.n_calls, plan.n_iterations_max);
            }
            measured.n_calls += 1;
        }
        measured.run_ns = self.clock.elapsed_ns() - began_ns;
        conditional
            .map_or(Ok(()), |condar| condar.free().map_err(|error| PlanError::Conditional(error.to_string())))?;
        let mut checksum = 0_u64;
        world.all_reduce_into(&strip.checksum(), &mut checksum, SystemOperation::sum());
        measured.relaxed = Some(Relaxed {
            data: plan.data,
            side,
            relaxation: relaxation(side),
            epsilon: plan.epsilon,
            test: plan.test,
            n_iterations: measured.n_calls,
            changed,
            is_converged,
            checksum: format!("{checksum:016x}"),
        });
        Ok(measured)
    }

    /// Gives the neighbours this strip's first and last row, and takes theirs. Even ranks begin with those below, odd
    /// ones with those above.
    fn exchange(&self, strip: &mut Strip, border: &mut [f64]) {
        let (world, rank) = (self.session.world(), self.session.rank());
        let is_below_first = rank % 2 == 0;
        for is_below in [is_below_first, !is_below_first] {
            if is_below && rank + 1 < self.session.n_ranks() {
                let neighbour = world.process_at_rank(rank as i32 + 1);
                send_receive_into(strip.last(), &neighbour, border, &neighbour);
                strip.set_below(border);
            } else if !is_below && rank > 0 {
                let neighbour = world.process_at_rank(rank as i32 - 1);
                send_receive_into(strip.first(), &neighbour, border, &neighbour);
                strip.set_above(border);
            }
        }
    }
}
