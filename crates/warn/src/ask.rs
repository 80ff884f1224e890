//! Probability that something comes true, from the samples so far.

use std::time::Duration;

use predict::{Calendar, FoundSeason, Outlook, Paths, Periods, Record, Worth};
use units::Timestamp;

use crate::first_passage::{self, rises};
use crate::foresight::Foresight;
use crate::question::{Question, share};

/// Futures drawn for the answer, and for each of the earlier ones in its record.
const N_PATHS: usize = 2000;
const N_PATHS_RECORD: usize = 250;

/// Earlier answers in a record, at most.
const N_RECORD_MAX: usize = 200;

/// Share of the series that is known when the record begins: before, forecasts are those of a young series.
const SHARE_YOUNG: f64 = 0.3;

/// Evenly spaced samples, and how to look ahead from them.
#[derive(Clone, Debug)]
pub struct History<'a> {
    /// Samples of each signal of the expression, in the signals' order, equally many: oldest first, NaN for a gap.
    pub samples: &'a [Vec<f64>],
    /// Foresight of the expression, as far as the question goes; it has taken none of the samples.
    pub foresight: Foresight,
}

impl History<'_> {
    /// Returns the number of steps.
    #[must_use]
    pub fn n(&self) -> usize {
        self.samples.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The samples of each step, one after the other.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<f64>> {
        (0..self.n()).map(|idx| self.samples.iter().map(|samples| samples[idx]).collect())
    }
}

/// Properties of a series that an outlook needs.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Begin of the first step.
    pub start: Timestamp,
    /// Length of each step.
    pub step: Duration,
    /// Largest number of steps that are looked at: of a season that is longer nothing can be said.
    pub n_steps: usize,
    /// Range of the quantity, both ends included.
    pub range: (f64, f64),
    /// The days and weeks that it may follow, and with them any other season; `None` to see none at all.
    pub calendar: Option<&'a Calendar>,
}

impl Frame<'_> {
    /// An outlook of so many steps that has no sample yet.
    #[must_use]
    pub fn outlook(&self, n_leads: usize) -> Outlook {
        let Self { start, step, n_steps, range: (min, max), calendar } = *self;
        let outlook = match calendar {
            Some(calendar) => {
                let periods = Periods::day_and_week(step).known_in(n_steps);
                Outlook::new(periods, n_leads).in_days_of(calendar, start, step)
            }
            None => Outlook::new(Periods::NONE, n_leads).only_given(),
        };
        outlook.within(min, max)
    }
}

/// Probability that a question comes true, and the time when it will.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// Probability, in [0, 1].
    pub probability: f64,
    /// The leads by which it is true with probability 0.1, 0.5 and 0.9; `None` for later than was asked about, and
    /// where only the end of the time can tell.
    pub leads: [Option<usize>; 3],
}

/// A chance, and what such answers were worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Probability that the question comes true, and the time when it will.
    pub chance: Chance,
    /// Futures that may come, of which the chance is a share.
    pub futures: Paths,
    /// Those that were found beside days and weeks, the one that explains most first.
    pub seasons: Vec<FoundSeason>,
    /// Record of the same question, asked at earlier moments of the same series about what is known by now.
    pub record: Record,
}

/// Answers a question about what comes after the samples; `None` when they are too few for any forecast.
///
/// The same samples, question and seed have the same answer. Each earlier moment in the record is answered from the
/// samples before it alone.
#[must_use]
pub fn ask(history: History<'_>, question: &Question, seed: u64) -> Option<Answer> {
    let n = history.n();
    let (foresight, mut records) = rehearse(history, &[*question], N_RECORD_MAX, N_PATHS_RECORD, seed);
    let record = records.pop()?;
    let futures = futures(&foresight, question.n_leads, seed)?;
    let chance = Chance::of(&futures, question, record.worth(n));
    Some(Answer { chance, futures, seasons: foresight.found(), record })
}

/// Goes through the samples, and at most `n_moments` times on the way asks questions about equally many steps, each
/// time of `n_paths` futures. Gives what is to be expected after the last sample, and what became of the answers to
/// each question.
#[must_use]
pub fn rehearse(
    history: History<'_>,
    questions: &[Question],
    n_moments: usize,
    n_paths: usize,
    seed: u64,
) -> (Foresight, Vec<Record>) {
    let rows: Vec<Vec<f64>> = history.steps().collect();
    let mut foresight = history.foresight;
    let samples = foresight.values(&rows);
    let n_leads = questions.iter().map(|question| question.n_leads).max().unwrap_or(1);
    let mut records: Vec<Record> = questions.iter().map(|question| Record::new(question.n_leads)).collect();
    let from = (SHARE_YOUNG * samples.len() as f64) as usize;
    let n_known = samples.len().saturating_sub(n_leads).saturating_sub(from);
    let every = n_known.div_ceil(n_moments).max(1);
    for (idx, row) in rows.iter().enumerate() {
        foresight.step(row);
        let is_moment = (from..from + n_known).contains(&idx) && (idx - from).is_multiple_of(every);
        if questions.is_empty() || !is_moment || !foresight.is_ready() {
            continue;
        }
        let paths = foresight.paths(n_paths, n_leads, seed.wrapping_add(idx as u64));
        for (question, record) in questions.iter().zip(&mut records) {
            if let Some(came) = question.of_samples(&samples[idx + 1..]) {
                let drawn = question.probability(&paths);
                record.add(idx, drawn, record.worth(idx), came.is_some());
            }
        }
    }
    (foresight, records)
}

/// Draws what may come after the samples that `foresight` has taken; `None` when the samples are too few for any
/// forecast. The same seed draws the same futures.
#[must_use]
pub fn futures(foresight: &Foresight, n_leads: usize, seed: u64) -> Option<Paths> {
    foresight.is_ready().then(|| foresight.paths(N_PATHS, n_leads, seed))
}

impl Chance {
    /// Returns the chance of a question, by the share of futures in which it comes true and what such shares are
    /// worth. The time when it comes true, if it does, is as in these futures.
    #[must_use]
    pub fn of(futures: &Paths, question: &Question, worth: Worth) -> Self {
        let leads = question.of_paths(futures);
        let probability = worth.told(share(&leads));
        let rises = rises(leads, question, probability);
        let at = |quantile: f64| if question.is_of_one() { first_passage::quantile(&rises, quantile) } else { None };
        Self { probability, leads: [0.1, 0.5, 0.9].map(at) }
    }
}
