//! Recommendation of a model: one text, and the reason.

use std::collections::BTreeMap;

use predict::Spec;

use super::verdict::{Verdict, mean};
use crate::results::{Record, Results};

/// A model with fewer windows than this is not told from luck.
const N_WINDOWS_MIN: usize = 8;
/// Numbers of a family are looked at one by one, each in so many ranges.
const N_RANGES: usize = 3;

/// A model, and how it was come by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recommendation {
    pub(crate) family_idx: usize,
    pub(crate) model: String,
    /// The mean over leads of the share of comparisons won.
    pub(crate) win_share: f64,
    /// The way in which the numbers of the model were chosen.
    pub(crate) choice: Choice,
}

/// The way in which one of a family was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Choice {
    /// There is only one.
    Only,
    /// The least coefficients among those within one standard error of the best (Breiman et al. 1984, section 3.4.3).
    WithinOneError {
        /// The best.
        best: String,
        /// The number of models within that error.
        n_within: usize,
        /// The number of models that there were.
        n: usize,
    },
    /// Too many to judge each: for each number the range of its values that did best, and the middle of that.
    NumberByNumber,
}

/// `None` where no model was judged on most of its windows.
pub(crate) fn recommend(results: &Results, verdicts: &[Verdict]) -> Option<Recommendation> {
    let mut shares: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for standing in verdicts.iter().flat_map(|verdict| &verdict.standings) {
        shares.entry(standing.family_idx).or_default().push(standing.win_share);
    }
    // A peer is no text that a node could use.
    let n_models = results.families.len() - results.identity.peers.len();
    let shares = shares.into_iter().filter(|(idx, _)| *idx < n_models && was_judged(results, *idx));
    let shares = shares.map(|(family_idx, shares)| (family_idx, mean(shares.into_iter())));
    let (family_idx, win_share) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (model, choice) = of_family(results, family_idx)?;
    Some(Recommendation { family_idx, model, win_share, choice })
}

/// Whether most cases of a family could be fitted and scored.
fn was_judged(results: &Results, family_idx: usize) -> bool {
    let cases = || results.records.iter().filter(|record| record.family_idx == family_idx);
    2 * cases().filter(|record| log_loss(record).is_finite()).count() > cases().count()
}

/// The mean over leads of the logarithm of the loss over that of the mean; NaN where nothing can be said.
fn log_loss(record: &Record) -> f64 {
    if record.has_failed {
        return f64::INFINITY;
    }
    let logarithms = record.scores.iter().map(|score| (score.loss / score.naive).ln());
    mean(logarithms.map(|logarithm| if logarithm.is_finite() { logarithm } else { f64::NAN }))
}

fn of_family(results: &Results, family_idx: usize) -> Option<(String, Choice)> {
    let records: Vec<&Record> = results.records.iter().filter(|record| record.family_idx == family_idx).collect();
    let mut by_model: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for record in &records {
        by_model.entry(record.model_idx).or_default().push(log_loss(record));
    }
    if let [only] = by_model.keys().collect::<Vec<_>>()[..] {
        return Some((results.models[*only].clone(), Choice::Only));
    }
    let judged: Vec<(usize, f64, f64)> =
        by_model.iter().filter_map(|(idx, losses)| mean_and_error(losses).map(|(m, error)| (*idx, m, error))).collect();
    // As a rule of thumb half of a family has to be judged for its best to be known.
    if 2 * judged.len() >= by_model.len() {
        let (best, least, error) = judged.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let within: Vec<_> = judged.iter().filter(|(_, mean, _)| *mean <= least + error).collect();
        let simplest = within.iter().min_by(|a, b| {
            let coefficients = |idx: usize| results.n_coefficients[idx];
            coefficients(a.0).cmp(&coefficients(b.0)).then(a.1.total_cmp(&b.1))
        })?;
        let choice =
            Choice::WithinOneError { best: results.models[best].clone(), n_within: within.len(), n: judged.len() };
        return Some((results.models[simplest.0].clone(), choice));
    }
    number_by_number(results, &records).map(|model| (model, Choice::NumberByNumber))
}

/// `None` of too few, or of one that failed.
fn mean_and_error(losses: &[f64]) -> Option<(f64, f64)> {
    let known: Vec<f64> = losses.iter().copied().filter(|loss| !loss.is_nan()).collect();
    if known.len() < N_WINDOWS_MIN || known.iter().any(|loss| loss.is_infinite()) {
        return None;
    }
    let (n, mean) = (known.len() as f64, mean(known.iter().copied()));
    let variance = known.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((mean, (variance / n).sqrt()))
}

/// The text of a model with a better number in each place.
fn number_by_number(results: &Results, records: &[&Record]) -> Option<String> {
    let rows: Vec<(Vec<usize>, f64)> =
        records.iter().map(|record| (numbers(&results.models[record.model_idx]), log_loss(record))).collect();
    let (n_numbers, words) = (rows.first()?.0.len(), words(&results.models[records[0].model_idx]));
    let chosen = (0..n_numbers).map(|place| {
        let mut by_value: Vec<(usize, f64)> = rows
            .iter()
            .filter_map(|(numbers, loss)| numbers.get(place).map(|number| (*number, *loss)))
            .filter(|(_, loss)| loss.is_finite())
            .collect();
        by_value.sort_by_key(|(number, _)| *number);
        let ranges = by_value.chunks(by_value.len().div_ceil(N_RANGES).max(1));
        let best = ranges.min_by(|a, b| average(a).total_cmp(&average(b)))?;
        Some(best[best.len() / 2].0)
    });
    let chosen: Vec<usize> = chosen.collect::<Option<_>>()?;
    let text: String = words
        .iter()
        .enumerate()
        .map(|(place, word)| chosen.get(place).map_or_else(|| word.clone(), |number| format!("{word}{number}")))
        .collect();
    text.parse::<Spec>().ok().map(|spec| spec.to_string())
}

fn average(range: &[(usize, f64)]) -> f64 {
    mean(range.iter().map(|(_, loss)| *loss))
}

/// The whole numbers in a text.
fn numbers(text: &str) -> Vec<usize> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Returns the text around the whole numbers of a text.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_digit = false;
    for c in text.chars() {
        if c.is_ascii_digit() {
            is_digit = true;
            continue;
        }
        if std::mem::take(&mut is_digit) {
            words.push(String::new());
        }
        words.last_mut().expect("there is one").push(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart_at_its_numbers() {
        let text = "REFIT(AR(16),every=100,window=600)";
        assert_eq!(numbers(text), [16, 100, 600]);
        assert_eq!(words(text), ["REFIT(AR(", "),every=", ",window=", ")"]);
    }

    #[test]
    fn too_few_windows_are_not_judged() {
        assert_eq!(mean_and_error(&[1.0; 7]), None);
        assert_eq!(mean_and_error(&[1.0; 8]), Some((1.0, 0.0)));
        assert_eq!(mean_and_error(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, f64::INFINITY]), None);
    }
}
