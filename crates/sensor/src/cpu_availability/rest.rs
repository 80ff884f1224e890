//! The work of tasks that were not followed: those too short-lived, those looked at too seldom, those unseen.
//!
//! The amount of that work is known to the tick: what the cores were used, less what the followed tasks used. Its
//! owners are estimated by the young ones met lately.

use std::{collections::BTreeMap, time::Duration};

use super::{group::Place, recent::Recent};

/// A share of the unfollowed that is smaller than this is forgotten.
const SHARE_MIN: f64 = 0.001;

/// Work, and waiting for a core, in cores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Work {
    pub used: f64,
    pub waited: f64,
}

/// The places of the unfollowed tasks, and their weights.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    met: BTreeMap<(Place, u32), Recent<1>>,
}

impl Rest {
    /// Takes in one moment's young tasks: where each is, its weight, and how much of a core it wanted.
    pub(crate) fn meet<'a>(&mut self, span: Duration, young: impl Iterator<Item = (&'a Place, f64, f64)>) {
        let mut wanted: BTreeMap<(Place, u32), f64> = BTreeMap::new();
        for (place, weight, share) in young {
            // Weights are whole numbers below 100,000.
            *wanted.entry((place.clone(), weight as u32)).or_default() += share;
        }
        for key in wanted.keys() {
            self.met.entry(key.clone()).or_insert_with(Recent::idle);
        }
        self.met.retain(|key, recent| {
            let share = wanted.get(key).copied().unwrap_or_default();
            recent.add(span, [share * span.as_secs_f64()]);
            recent.rates().is_none_or(|[rate]| rate >= SHARE_MIN)
        });
    }

    /// Splits `work` among the places and weights that were met and satisfy `is_meant`, or gives all of it to
    /// `otherwise` when none was.
    pub(crate) fn split(
        &self,
        work: Work,
        is_meant: impl Fn(f64) -> bool,
        otherwise: (Place, f64),
    ) -> Vec<(Place, f64, Work)> {
        let met = self.met.iter().filter_map(|((place, weight), recent)| {
            let weight = f64::from(*weight);
            let [share] = recent.rates()?;
            (is_meant(weight) && share > 0.0).then(|| (place.clone(), weight, share))
        });
        let mut met: Vec<(Place, f64, f64)> = met.collect();
        if met.is_empty() {
            met.push((otherwise.0, otherwise.1, 1.0));
        }
        let total: f64 = met.iter().map(|(_, _, share)| share).sum();
        let part = |share: f64| Work { used: work.used * share / total, waited: work.waited * share / total };
        met.into_iter().map(|(place, weight, share)| (place, weight, part(share))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_rest_is_split_as_the_young_were_met() {
        let (mut rest, session) = (Rest::default(), Place::Session(7, 0));
        for _ in 0..3 {
            rest.meet(SECOND, [(&session, 1024.0, 0.75), (&Place::Root, 1024.0, 0.25)].into_iter());
        }
        let split = rest.split(Work { used: 0.4, waited: 0.8 }, |_| true, (Place::Root, 1024.0));
        let shares: Vec<(&Place, f64)> =
            split.iter().map(|(place, _, work)| (place, work.used / work.waited)).collect();
        assert_eq!(shares, [(&Place::Root, 0.5), (&session, 0.5)]);
        // A few roundings of numbers below 1.
        assert!((split[0].2.used - 0.1).abs() < 1e-12 && (split[1].2.waited - 0.6).abs() < 1e-12, "{split:?}");
    }

    #[test]
    fn without_any_met_it_goes_where_it_is_told() {
        let work = Work { used: 0.4, waited: 0.0 };
        let split = Rest::default().split(work, |_| true, (Place::Session(1, 0), 110.0));
        assert_eq!(split, [(Place::Session(1, 0), 110.0, work)]);
    }

    #[test]
    fn those_not_met_for_long_are_forgotten() {
        let mut rest = Rest::default();
        rest.meet(SECOND, [(&Place::Root, 1024.0, 0.5)].into_iter());
        for _ in 0..60 {
            rest.meet(SECOND, std::iter::empty());
        }
        assert!(rest.met.is_empty());
    }
}
