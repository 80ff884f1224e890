//! What was said at the watched leads, and what is learned of it when the samples come.

use serde::{Deserialize, Serialize};

use super::Intervals;
use super::adaptive::Tracker;
use super::empirical::Sorted;
use super::reach::Reach;
use crate::forecast::Forecast;
use crate::ladder::DENSE;

const N_LEADS: usize = DENSE.leads.len();

/// The forecasts under way of one predictor, and the ends of intervals that follow from earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    clock: u64,
    /// Of each forecast under way; the mean is NaN where there is none.
    said: Vec<Said>,
    watched: Watched,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Said {
    mean: f64,
    standard_error: f64,
    reach: Reach,
}

/// One for each watched lead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Watched {
    Empirical(Vec<Sorted>),
    Adaptive(Vec<Tracker>),
}

impl Calibration {
    /// `None` for intervals that need none.
    pub(crate) fn new(intervals: Intervals) -> Option<Self> {
        let watched = match intervals {
            Intervals::Gaussian => return None,
            Intervals::Empirical => Watched::Empirical(vec![Sorted::default(); N_LEADS]),
            Intervals::Adaptive => Watched::Adaptive(vec![Tracker::NORMAL; N_LEADS]),
        };
        let nothing = Said { mean: f64::NAN, standard_error: 0.0, reach: Reach::NORMAL };
        Some(Self { clock: 0, said: vec![nothing; DENSE.n_slots()], watched })
    }

    pub(crate) fn intervals(&self) -> Intervals {
        match self.watched {
            Watched::Empirical(_) => Intervals::Empirical,
            Watched::Adaptive(_) => Intervals::Adaptive,
        }
    }

    /// Learns from `sample` (NaN in a gap) how far the forecasts made for it should have reached.
    pub(crate) fn score(&mut self, sample: f64) {
        self.clock += 1;
        for due in DENSE.due(self.clock) {
            let said = &self.said[due.slot];
            let error = sample - said.mean;
            // Without an error and without an error bar there is nothing to be learned.
            let error = if error == 0.0 { 0.0 } else { error / said.standard_error };
            if error.is_nan() {
                continue;
            }
            match &mut self.watched {
                Watched::Empirical(sorted) => sorted[due.idx].learn(error),
                Watched::Adaptive(trackers) => trackers[due.idx].learn(error, &said.reach, due.n_under_way),
            }
        }
    }

    /// How far the forecast reaches that [`Calibration::note`] is to be given next.
    pub(crate) fn n_leads_due(&self) -> usize {
        DENSE.n_leads_due(self.clock)
    }

    /// Takes the forecast made with the sample known.
    pub(crate) fn note(&mut self, forecast: &Forecast) {
        for due in DENSE.due(self.clock) {
            let (mean, standard_error) = (forecast.means[due.lead - 1], forecast.standard_errors[due.lead - 1]);
            self.said[due.slot] = Said { mean, standard_error, reach: self.reach(due.idx) };
        }
    }

    /// One for each watched lead.
    pub(crate) fn reaches_into(&self, reaches: &mut Vec<Reach>) {
        reaches.clear();
        reaches.extend((0..N_LEADS).map(|idx| self.reach(idx)));
    }

    fn reach(&self, idx: usize) -> Reach {
        match &self.watched {
            Watched::Empirical(sorted) => sorted[idx].reach(),
            Watched::Adaptive(trackers) => trackers[idx].reach(),
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.said.len() == DENSE.n_slots()
            && self.said.iter().all(|said| !said.mean.is_infinite() && said.standard_error >= 0.0)
            && match &self.watched {
                Watched::Empirical(sorted) => sorted.len() == N_LEADS && sorted.iter().all(Sorted::is_sound),
                Watched::Adaptive(trackers) => trackers.len() == N_LEADS && trackers.iter().all(Tracker::is_sound),
            }
    }
}
