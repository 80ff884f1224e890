//! How probable something is, from the samples so far.

use std::time::Duration;

use predict::{Calendar, FoundSeason, Outlook, Paths, Periods};
use units::Timestamp;

use crate::foresight::Foresight;
use crate::question::{Question, share};
use crate::record::Record;

/// Futures drawn for the answer, and for each of the earlier ones in its record.
const N_PATHS: usize = 2000;
const N_PATHS_RECORD: usize = 250;

/// Earlier answers in a record, at most.
const N_RECORD_MAX: usize = 200;

/// The record begins when so much of the series is known: before, forecasts are those of a young series.
const SHARE_YOUNG: f64 = 0.3;

/// Evenly spaced samples, and how to look ahead from them.
#[derive(Clone, Debug)]
pub struct History<'a> {
    /// Of each signal of the expression, in their order, equally many: oldest first, NaN for a gap.
    pub samples: &'a [Vec<f64>],
    /// Of the expression, as far as the question goes; it has taken none of them.
    pub foresight: Foresight,
}

impl History<'_> {
    /// What the expression was at each step, and what is to be expected after the last.
    #[must_use]
    pub fn follow(mut self) -> (Vec<f64>, Foresight) {
        let rows: Vec<Vec<f64>> = self.steps().collect();
        let values = rows.iter().map(|row| self.foresight.step(row)).collect();
        (values, self.foresight)
    }

    /// The samples of each step, one after the other.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<f64>> {
        let n = self.samples.iter().map(Vec::len).min().unwrap_or(0);
        (0..n).map(|idx| self.samples.iter().map(|samples| samples[idx]).collect())
    }
}

/// What an outlook has to know of a series.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Where the first step begins.
    pub start: Timestamp,
    /// How long each is.
    pub step: Duration,
    /// How many of them are looked at, at most: of a season that is longer nothing can be said.
    pub n_steps: usize,
    /// What the quantity can be, both ends included.
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

/// How probable it is, and when it will be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// In [0, 1].
    pub probability: f64,
    /// The leads by which it is true with probability 0.1, 0.5 and 0.9; `None` for later than was asked about.
    pub leads: [Option<usize>; 3],
}

/// A chance, and what such answers were worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How probable it is, and when it will be.
    pub chance: Chance,
    /// Those that were found beside days and weeks, the one that explains most first.
    pub seasons: Vec<FoundSeason>,
    /// Of the same question, asked at earlier moments of the same series about what is known by now.
    pub record: Record,
}

/// Answers a question about what comes after the samples; `None` when they are too few for any forecast.
///
/// The same samples, question and seed have the same answer. Each earlier moment in the record is answered from the samples before it
/// alone.
#[must_use]
pub fn ask(history: History<'_>, question: &Question, seed: u64) -> Option<Answer> {
    let mut foresight = history.foresight.clone();
    let rows: Vec<Vec<f64>> = history.steps().collect();
    let samples = foresight.values(&rows);
    let mut record = Record::default();
    let from = (SHARE_YOUNG * samples.len() as f64) as usize;
    let n_known = samples.len().saturating_sub(question.n_leads).saturating_sub(from);
    let every = n_known.div_ceil(N_RECORD_MAX).max(1);
    for (idx, row) in rows.iter().enumerate() {
        foresight.step(row);
        if idx < from || !(idx - from).is_multiple_of(every) || !foresight.is_ready() {
            continue;
        }
        if let Some(came) = question.of_samples(&samples[idx + 1..]) {
            let paths = foresight.paths(N_PATHS_RECORD, question.n_leads, seed.wrapping_add(idx as u64));
            record.add(question.probability(&paths), came.is_some());
        }
    }
    let chance = Chance::of(&futures(&foresight, question.n_leads, seed)?, question);
    Some(Answer { chance, seasons: foresight.found(), record })
}

/// What may come after the samples that `foresight` has taken; `None` when they are too few for any forecast. The same seed draws the same
/// futures.
#[must_use]
pub fn futures(foresight: &Foresight, n_leads: usize, seed: u64) -> Option<Paths> {
    foresight.is_ready().then(|| foresight.paths(N_PATHS, n_leads, seed))
}

impl Chance {
    /// That of a question, by the share of futures in which it comes true.
    #[must_use]
    pub fn of(futures: &Paths, question: &Question) -> Self {
        let mut leads = question.of_paths(futures);
        let probability = share(&leads);
        // Those that never are come last.
        leads.sort_unstable_by_key(|lead| lead.unwrap_or(usize::MAX));
        let at = |quantile: f64| leads[(quantile * leads.len() as f64).ceil() as usize - 1];
        Self { probability, leads: [0.1, 0.5, 0.9].map(at) }
    }
}
