//! How probable something is, from the samples so far.

use predict::{Outlook, Paths, Periods};

use crate::question::{Question, share};
use crate::record::Record;

/// Futures drawn for the answer, and for each of the earlier ones in its record.
const N_PATHS: usize = 2000;
const N_PATHS_RECORD: usize = 250;

/// Earlier answers in a record, at most.
const N_RECORD_MAX: usize = 200;

/// The record begins when so much of the series is known: before, forecasts are those of a young series.
const SHARE_YOUNG: f64 = 0.3;

/// Evenly spaced samples, and what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    /// Oldest first, NaN for a gap.
    pub samples: &'a [f64],
    /// The lengths of seasons that they may have.
    pub periods: Periods,
    /// What the quantity can be, both ends included.
    pub range: (f64, f64),
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
    /// Of the same question, asked at earlier moments of the same series about what is known by now.
    pub record: Record,
}

/// Answers a question about what comes after the samples; `None` when they are too few for any forecast.
///
/// The same samples, question and seed have the same answer. Each earlier moment in the record is answered from the samples before it
/// alone.
#[must_use]
pub fn ask(history: History<'_>, question: &Question, seed: u64) -> Option<Answer> {
    let History { samples, periods, range } = history;
    let mut outlook = Outlook::new(periods, question.n_leads).within(range.0, range.1);
    let mut record = Record::default();
    let from = (SHARE_YOUNG * samples.len() as f64) as usize;
    let n_known = samples.len().saturating_sub(question.n_leads).saturating_sub(from);
    let every = n_known.div_ceil(N_RECORD_MAX).max(1);
    for (idx, sample) in samples.iter().enumerate() {
        outlook.step(*sample);
        if idx < from || !(idx - from).is_multiple_of(every) || !outlook.is_ready() {
            continue;
        }
        if let Some(came) = question.of_samples(&samples[idx + 1..]) {
            let paths = outlook.paths(N_PATHS_RECORD, question.n_leads, seed.wrapping_add(idx as u64));
            record.add(question.probability(&paths), came.is_some());
        }
    }
    Some(Answer { chance: Chance::of(&futures(&outlook, question.n_leads, seed)?, question), record })
}

/// What may come after the samples that `outlook` has taken; `None` when they are too few for any forecast. The same seed draws the same
/// futures.
#[must_use]
pub fn futures(outlook: &Outlook, n_leads: usize, seed: u64) -> Option<Paths> {
    outlook.is_ready().then(|| outlook.paths(N_PATHS, n_leads, seed))
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
