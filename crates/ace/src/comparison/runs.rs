//! Sweeps beside each other: runs with the same settings, by a test of their ranks.
//!
//! A run is one observation, however many cycles it has, so that what differs from run to run is known as chance.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use statistics::median;
use units::{ByteCount, Confidence};

use super::{Change, Figure, Subject, shared};
use crate::record::SweepResult;

/// Runs of each result, of which a rank test at 95 % can say anything: of 4 and 4, one order in 35 is as extreme as the
/// most extreme on either side.
const N_RUNS_MIN: usize = 4;
/// Orders drawn where there are too many to go through.
const N_ORDERS: usize = 20_000;

/// Returns the changes among the settings that both sweeps have, and the number of those compared.
pub(super) fn compare(
    sweeps: &(Vec<SweepResult>, Vec<SweepResult>),
    confidence: Confidence,
    seed: u64,
    omissions: &mut Vec<String>,
) -> (Vec<Change>, usize) {
    let (before, after) = (by_settings(&sweeps.0), by_settings(&sweeps.1));
    let mut compared = Vec::new();
    for (settings, runs) in &before {
        match after.get(settings) {
            None => omissions.push(format!("{settings} are in the first sweep only")),
            Some(others) if runs.len().min(others.len()) < N_RUNS_MIN => omissions.push(format!(
                "{settings}: {} and {} runs; a test of run times needs {N_RUNS_MIN} of each (--repetitions {N_RUNS_MIN})",
                runs.len(),
                others.len()
            )),
            Some(others) => compared.push((settings, runs, others)),
        }
    }
    let only_after = after.keys().filter(|settings| !before.contains_key(*settings));
    omissions.extend(only_after.map(|settings| format!("{settings} are in the second sweep only")));
    let chance_max = 1.0 - shared(confidence, compared.len()).probability();
    let change = |(settings, before, after): &(&String, &Vec<f64>, &Vec<f64>)| {
        let subject = Subject::Runs { settings: (*settings).clone() };
        let (before_ns, after_ns) = (median(before)?, median(after)?);
        let change = Change { subject, figure: Figure::Median, before_ns, after_ns, ratio: None };
        (chance_of(before, after, seed) <= chance_max).then_some(change)
    };
    (compared.iter().filter_map(change).collect(), compared.len())
}

/// Run times by what was asked for.
fn by_settings(results: &[SweepResult]) -> BTreeMap<String, Vec<f64>> {
    let mut runs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for SweepResult { key, application, run_ns, .. } in results {
        let settings = format!(
            "{} {} of {}, load {} %, {application} of {} applications",
            key.mode,
            key.pattern,
            ByteCount::new(key.size_bytes),
            key.load_percent,
            key.n_applications
        );
        runs.entry(settings).or_default().push(*run_ns);
    }
    runs
}

/// The probability that ranks as far apart as these come about by chance, on either side (Mann and Whitney 1947), by
/// orders drawn at random.
fn chance_of(before: &[f64], after: &[f64], seed: u64) -> f64 {
    let mut all = [before, after].concat();
    let away = |all: &[f64]| {
        let (before, after) = all.split_at(before.len());
        let n_pairs = (before.len() * after.len()) as f64;
        let score = |a: f64, b: f64| {
            if b > a {
                1.0
            } else if b == a {
                0.5
            } else {
                0.0
            }
        };
        let n_above: f64 = before.iter().flat_map(|a| after.iter().map(move |b| score(*a, *b))).sum();
        (n_above - 0.5 * n_pairs).abs()
    };
    let found = away(&all);
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let n_as_far = (0..N_ORDERS).filter(|_| {
        all.shuffle(&mut chance);
        away(&all) >= found
    });
    // The order found is one of those possible (Davison and Hinkley 1997, section 4.2.5).
    (n_as_far.count() + 1) as f64 / (N_ORDERS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_apart_are_no_chance_and_mixed_ones_are() {
        // R: wilcox.test(…, exact = TRUE) gives 0.02857, 1 and 0.34286; 20,000 orders are off by 0.0034 at most of
        // those by one deviation.
        let apart = chance_of(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 1);
        assert!((apart - 2.0 / 70.0).abs() < 0.005, "{apart}");
        let mixed = chance_of(&[1.0, 4.0, 5.0, 8.0], &[2.0, 3.0, 6.0, 7.5], 1);
        assert!(mixed > 0.99, "{mixed}");
        let near = chance_of(&[1.0, 3.0, 4.0, 6.0], &[2.0, 5.0, 7.0, 8.0], 1);
        assert!((near - 0.3429).abs() < 0.02, "{near}");
    }

    #[test]
    fn runs_that_are_all_the_same_do_not_differ() {
        assert_eq!(chance_of(&[2.0; 5], &[2.0; 5], 1), 1.0);
    }
}
