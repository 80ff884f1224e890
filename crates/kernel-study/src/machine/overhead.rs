//! Costs of watching for the work that is watched: the table that SESAME's report lacks.

use statistics::{Interval, bootstrap, median};
use text::figure::{number, percent};
use units::Confidence;

use crate::Answer;
use crate::answer::names;

/// Pairs of the same work, watched and not.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The probes that were on, and how.
    pub what: String,
    /// Seconds from a pull to the next.
    pub interval_s: f64,
    /// Nanoseconds of processor time that the work took: without probes, and with them.
    pub pairs: Vec<[f64; 2]>,
    /// Events that were counted in each second of the work.
    pub events_per_sec: f64,
    /// Share that the probes add to the work by their prices.
    pub account: f64,
    /// Share of a core that pulling and receiving took.
    pub agent_cores: f64,
}

impl Watched {
    /// Returns the share by which the work took longer: the median of the pairs, and its interval.
    #[must_use]
    pub fn added(&self) -> (f64, Option<Interval>) {
        let shares: Vec<f64> = self.pairs.iter().map(|[off, on]| on / off - 1.0).collect();
        (median(&shares).unwrap_or(f64::NAN), bootstrap(&shares, median, Confidence::P95, 1))
    }
}

/// Largest share in all, as SESAME claims.
const CLAIM: f64 = 0.001;
/// Pull interval from which on the claim is made.
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
            percent(one.account),
            percent(one.agent_cores),
        ]
    };
    let agrees = |one: &&Watched| one.added().1.is_some_and(|ends| ends.contains(one.account));
    let n_agreeing = watched.iter().filter(agrees).count();
    let rare: Vec<&Watched> = watched.iter().filter(|one| one.interval_s >= CLAIM_INTERVAL_S).collect();
    let claim = rare.iter().map(|one| {
        let is_below = one.account + one.agent_cores < CLAIM;
        format!(
            "{} at pulls of {} s: {} by account and for the agent, {} the {} that SESAME claims",
            one.what,
            one.interval_s,
            percent(one.account + one.agent_cores),
            if is_below { "below" } else { "above" },
            percent(CLAIM)
        )
    });
    let mut verdict = vec![format!(
        "the account is within the interval of the paired runs in {n_agreeing} of {} rows",
        watched.len()
    )];
    verdict.extend(pulling(watched));
    verdict.extend(claim);
    Answer {
        title: "What watching costs (section 4.3 of the report, which has no table)".into(),
        conditions,
        columns: names(&["on", "pulled every", "events a second", "added to the work", "by account", "agent"]),
        rows: watched.iter().map(row).collect(),
        verdict: verdict.join(". "),
        pictures: Vec::new(),
    }
}

/// Returns what the agent takes at the shortest and at the longest interval of what was pulled at several.
fn pulling(watched: &[Watched]) -> Option<String> {
    let alike = |one: &&Watched| watched.iter().filter(|other| other.what == one.what).count();
    let what = &watched.iter().max_by_key(alike)?.what;
    let by_interval = |a: &&Watched, b: &&Watched| a.interval_s.total_cmp(&b.interval_s);
    let own = || watched.iter().filter(|one| one.what == *what);
    let (often, seldom) = (own().min_by(by_interval)?, own().max_by(by_interval)?);
    let told = |one: &Watched| format!("{} of a core at pulls of {} s", percent(one.agent_cores), one.interval_s);
    (often.interval_s < seldom.interval_s).then(|| {
        format!(
            "With {what} on, the agent takes {} and {}; the probes' price is by events, and not by pulls",
            told(often),
            told(seldom)
        )
    })
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
            account: 0.025,
            agent_cores: 0.0,
        };
        let (added, ends) = watched.added();
        assert!((added - 0.03).abs() < 1e-9 && ends.unwrap().contains(0.025));
        let often = Watched { interval_s: 0.1, agent_cores: 0.02, ..watched.clone() };
        let told = overhead(&[often, watched], String::new()).to_text();
        assert!(
            told.contains("takes 2.00 % of a core at pulls of 0.1 s and 0.00 % of a core at pulls of 10 s"),
            "{told}"
        );
        assert!(told.contains("in 2 of 2 rows") && told.contains("above the 0.10 %"), "{told}");
    }
}
