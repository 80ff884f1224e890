//! Work and allreduces in turn, with contributions that somebody else made.

use condar::{Condar, Condition, Question, Reduction, Sign};
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi_run::{Calibration, turn};

use super::{Measured, Run};
use crate::contribution::Changes;
use crate::plan::{Contributions, ConvergenceTest, NoisePlan, PlanError};
use crate::record::Noised;

/// Allreduces between two words of how far the run is.
const N_TOLD: u64 = 64;

/// The contributions of one rank, and the results of a plain allreduce of them.
struct Replay {
    values: Vec<f64>,
    /// Whether to go on, by call.
    verdicts: Vec<bool>,
}

impl Run<'_> {
    pub(super) fn noise(
        &self,
        plan: &NoisePlan,
        calibration: &Calibration,
        tell: &mut dyn FnMut(&str, u64, u64),
    ) -> Result<Measured, PlanError> {
        let world = self.session.world();
        let replay = self.replay(plan)?;
        let mut conditional = match plan.test {
            ConvergenceTest::Conditional => Some(ask(plan.epsilon)?),
            _ => None,
        };
        let n_turns = calibration.turns(plan.work);
        let mut measured =
            Measured { size_bytes: size_of::<f64>() as u64, n_calls: plan.n_calls, ..Measured::default() };
        let mut noised = Noised {
            work_ns: plan.work.as_nanos() as u64,
            is_slept: self.is_oversubscribed,
            test: plan.test,
            is_conditional: conditional.as_ref().is_some_and(Condar::is_conditional),
            n_true: 0,
            n_exact: 0,
        };
        world.barrier();
        let began_ns = self.clock.elapsed_ns();
        for call in 0..plan.n_calls {
            let before_ns = self.clock.elapsed_ns();
            self.straggle();
            // Ranks that share a core would work by turns, and each for longer than it is to.
            if self.is_oversubscribed {
                clock::sleep(plan.work)
            } else {
                turn(n_turns);
            }
            let between_ns = self.clock.elapsed_ns();
            let at = call as usize % replay.values.len();
            let (value, is_last) = (replay.values[at], call + 1 == plan.n_calls);
            let value = if is_last && plan.contributions == Contributions::Best { 0.0 } else { value };
            let (verdict, is_exact) = match &mut conditional {
                Some(condar) => {
                    let answer = condar.call(value).map_err(|error| PlanError::Conditional(error.to_string()))?;
                    (answer.verdict, answer.is_exact)
                }
                None => {
                    let mut sum = 0.0;
                    world.all_reduce_into(&value, &mut sum, SystemOperation::sum());
                    (sum >= plan.epsilon, true)
                }
            };
            measured.work.record(between_ns - before_ns);
            measured.call.record(self.clock.elapsed_ns() - between_ns);
            let needed = replay.verdicts[at] && !(is_last && plan.contributions == Contributions::Best);
            measured.n_wrong += u64::from(verdict != needed);
            noised.n_true += u64::from(verdict);
            noised.n_exact += u64::from(is_exact);
            if call.is_multiple_of(N_TOLD) {
                tell("allreduces", call, plan.n_calls);
            }
        }
        measured.run_ns = self.clock.elapsed_ns() - began_ns;
        measured.noised = Some(noised);
        conditional
            .map_or(Ok(()), |condar| condar.free().map_err(|error| PlanError::Conditional(error.to_string())))?;
        Ok(measured)
    }

    fn replay(&self, plan: &NoisePlan) -> Result<Replay, PlanError> {
        let (rank, n_ranks) = (self.session.rank(), self.session.n_ranks());
        Ok(match &plan.contributions {
            Contributions::Best => Replay { values: vec![plan.epsilon + 1.0], verdicts: vec![true] },
            Contributions::Worst => Replay { values: vec![0.0], verdicts: vec![0.0 >= plan.epsilon] },
            Contributions::File(path) => {
                let unread = |error| PlanError::Unread { path: path.clone(), error };
                let text = std::fs::read_to_string(path).map_err(|error| unread(error.to_string()))?;
                let changes = Changes::parse(&text)?;
                let of_ranks: Vec<Vec<f64>> = (0..n_ranks).map(|rank| changes.of_rank(rank, n_ranks)).collect();
                let sum = |at: usize| of_ranks.iter().map(|values| values[at]).sum::<f64>();
                let verdicts = (0..changes.n_iterations()).map(|at| sum(at) >= plan.epsilon).collect();
                Replay { values: of_ranks[rank as usize].clone(), verdicts }
            }
        })
    }
}

/// Whether the sum of all changes is not yet below epsilon.
pub(super) fn ask(epsilon: f64) -> Result<Condar, PlanError> {
    let question = Question::new(Reduction::Sum, Sign::NonNegative, Condition::Greater, epsilon.next_down());
    let question = question.expect("a sum of changes that is greater is a sound question");
    Condar::on_world(question, None).map_err(|error| PlanError::Conditional(error.to_string()))
}
