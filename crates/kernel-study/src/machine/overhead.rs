//! What watching costs the work that is watched: the table that SESAME's report lacks.

use statistics::{Interval, bootstrap, median};
use text::figure::{number, percent};
use units::Confidence;

use crate::Answer;
use crate::answer::names;

/// Pairs of the same work, watched and not.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What was on, and how.
    pub what: String,
    /// Seconds from a pull to the next.
    pub interval_s: f64,
    /// Nanoseconds of processor time that the work took: without probes, and with them.
    pub pairs: Vec<[f64; 2]>,
    /// Events that were counted in each second of the work.
    pub events_per_sec: f64,
    /// What the probes took of a core, by their prices.
    pub account_cores: f64,
    /// What pulling and receiving took of a core.
    pub agent_cores: f64,
}

impl Watched {
    /// How much longer the work took, as a share: the median of the pairs, and its interval.
    #[must_use]
    pub fn added(&self) -> (f64, Option<Interval>) {
        let shares: Vec<f64> = self.pairs.iter().map(|[off, on]| on / off - 1.0).collect();
        (median(&shares).unwrap_or(f64::NAN), bootstrap(&shares, median, Confidence::P95, 1))
    }
}

/// At most so much in all, SESAME claims.
const CLAIM: f64 = 0.001;
/// From this pull interval on.
const CLAIM_INTERVAL_S: f64 = 10.0;

/// The table of costs.
#[must_use]
pub fn overhead(watched: &[Watched], conditions: String) -> Answer {
    let row = |one: &Watched| {
        let (added, interval) = one.added();
        let ends =
            interval.map_or_else(String::new, |ends| format!(" ({} to {})", percent(ends.lower), percent(ends.upper)));
        vec![
            one.what.clone(),
            format!("{} s", one.interval_s),
            number(one.events_per_sec),
            format!("{}{ends}", percent(added)),
            percent(one.account_cores),
            percent(one.agent_cores),
        ]
    };
    let agrees = |one: &&Watched| one.added().1.is_some_and(|ends| ends.contains(one.account_cores));
    let n_agreeing = watched.iter().filter(agrees).count();
    let rare: Vec<&Watched> = watched.iter().filter(|one| one.interval_s >= CLAIM_INTERVAL_S).collect();
    let claim = rare.iter().map(|one| {
        let is_below = one.account_cores + one.agent_cores < CLAIM;
        format!(
            "{} at pulls of {} s take {} by account, {} the {} that SESAME claims",
            one.what,
            one.interval_s,
            percent(one.account_cores + one.agent_cores),
            if is_below { "below" } else { "above" },
            percent(CLAIM)
        )
    });
    let mut verdict = vec![format!(
        "the account is within the interval of the paired runs in {n_agreeing} of {} rows; it is a matter of events, and hardly of pulls",
        watched.len()
    )];
    verdict.extend(claim);
    Answer {
        title: "What watching costs (section 4.3 of the report, which has no table)".into(),
        conditions,
        columns: names(&["on", "pulled every", "events a second", "added to the work", "probes, by account", "agent"]),
        rows: watched.iter().map(row).collect(),
        verdict: verdict.join(". "),
        pictures: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_watching_adds_is_the_median_of_pairs_with_its_interval() {
        let pairs = vec![[100.0, 102.0], [100.0, 103.0], [200.0, 208.0]];
        let watched = Watched {
            what: "all".into(),
            interval_s: 10.0,
            pairs,
            events_per_sec: 1e4,
            account_cores: 0.025,
            agent_cores: 0.0,
        };
        let (added, ends) = watched.added();
        assert!((added - 0.03).abs() < 1e-9 && ends.unwrap().contains(0.025));
        let told = overhead(&[watched], String::new()).to_text();
        assert!(told.contains("in 1 of 1 rows") && told.contains("above the 0.10 %"), "{told}");
    }
}
