//! Queue between a stream that is pushed and a feed that is read: two messages, and the gaps that were reported
//! already.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::lineup::Lineup;

/// Messages that wait for a read. With more, a series that once stood still would stay as late as it was then.
const N_WAITING_MAX: usize = 2;

/// Messages that came in and were not read yet.
#[derive(Debug, Default)]
pub(super) struct Intake {
    waiting: VecDeque<Waiting>,
    /// The number of the last message that was read.
    last: Option<u64>,
    /// Reads since then that found nothing, each of them a gap.
    n_gaps_told: u64,
    refusal: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    values: Vec<f64>,
    lineup: Arc<Lineup>,
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum Taken {
    /// Values, and what they are of.
    Message { values: Vec<f64>, lineup: Arc<Lineup> },
    /// There is more to come; it is for a later step.
    Gap,
    /// Nothing came.
    Nothing,
}

impl Intake {
    /// Takes a message in. One that nobody read in time gives way.
    pub(super) fn put(&mut self, number: u64, values: Vec<f64>, lineup: Arc<Lineup>) {
        if self.waiting.len() == N_WAITING_MAX {
            self.waiting.pop_front();
        }
        self.refusal = None;
        self.waiting.push_back(Waiting { number, values, lineup });
    }

    /// Stores the reason why nothing is taken in, until something is.
    pub(super) fn refuse(&mut self, problem: String) {
        self.refusal = Some(problem);
    }

    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.clone()
    }

    /// Returns the next step of a series with this step.
    ///
    /// If the stream has shorter steps, or none, this is the last message. Otherwise each message is a step of its own,
    /// and numbers that are left out are gaps, unless there were reads that found nothing in their time.
    pub(super) fn take(&mut self, step: Duration) -> Taken {
        let Some(front) = self.waiting.front() else {
            self.n_gaps_told += 1;
            return Taken::Nothing;
        };
        if front.lineup.step < step {
            self.waiting.drain(..self.waiting.len() - 1);
        } else if self.n_left_out() > self.n_gaps_told && self.waiting.len() < N_WAITING_MAX {
            self.n_gaps_told += 1;
            return Taken::Gap;
        }
        self.n_gaps_told = 0;
        match self.waiting.pop_front() {
            Some(Waiting { number, values, lineup }) => {
                self.last = Some(number);
                Taken::Message { values, lineup }
            }
            None => Taken::Nothing,
        }
    }

    /// Returns the count of numbers missing before the first message that waits; zero if the sensor began again.
    fn n_left_out(&self) -> u64 {
        let (Some(last), Some(front)) = (self.last, self.waiting.front()) else { return 0 };
        front.number.saturating_sub(last).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(1);

    /// Puts what is said before each read, and gives what the reads find; a gap is a dash.
    fn played(step: Duration, arrivals: &[&[u64]]) -> String {
        let lineup = Arc::new(Lineup { signals: Vec::new(), step: STEP, problem: None });
        let mut intake = Intake::default();
        let read = |numbers: &&[u64]| {
            numbers.iter().for_each(|number| intake.put(*number, vec![*number as f64], Arc::clone(&lineup)));
            match intake.take(step) {
                Taken::Message { values, .. } => values[0].to_string(),
                Taken::Gap | Taken::Nothing => "-".to_owned(),
            }
        };
        arrivals.iter().map(read).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_message_that_just_missed_its_read_makes_one_gap_and_loses_nothing() {
        assert_eq!(played(STEP, &[&[0], &[], &[1, 2], &[3], &[4]]), "0 - 1 2 3");
    }

    #[test]
    fn a_number_that_is_left_out_is_a_gap_once() {
        assert_eq!(played(STEP, &[&[0], &[2], &[3], &[4]]), "0 - 2 3");
        assert_eq!(played(STEP, &[&[0], &[], &[2], &[3]]), "0 - 2 3");
    }

    #[test]
    fn after_a_stall_the_series_is_not_late_for_good() {
        assert_eq!(played(STEP, &[&[0], &[], &[], &[], &[1, 2, 3, 4], &[5], &[6]]), "0 - - - 3 4 5");
    }

    #[test]
    fn a_sensor_that_began_again_leaves_no_gap() {
        assert_eq!(played(STEP, &[&[900], &[0], &[1]]), "900 0 1");
    }

    #[test]
    fn of_shorter_steps_the_last_message_is_taken() {
        assert_eq!(played(4 * STEP, &[&[0, 1, 2, 3], &[4, 5, 6, 7], &[]]), "3 7 -");
    }

    #[test]
    fn what_is_not_read_does_not_pile_up() {
        let lineup = Arc::new(Lineup { signals: Vec::new(), step: STEP, problem: None });
        let mut intake = Intake::default();
        (0..1000).for_each(|number| intake.put(number, Vec::new(), Arc::clone(&lineup)));
        assert_eq!(intake.waiting.len(), N_WAITING_MAX);
    }
}
