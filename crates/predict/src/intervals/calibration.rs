//! Forecasts at the watched leads, and the calibration that is learned from them when the samples come.

use serde::{Deserialize, Serialize};

use super::Intervals;
use super::adaptive::Adaptive;
use super::empirical::Sorted;
use super::reach::Reach;
use crate::forecast::Forecast;
use crate::ladder::DENSE;

const N_LEADS: usize = DENSE.leads.len();

/// The forecasts under way of one predictor, and the ends of intervals that follow from earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    clock: u64,
    /// Each forecast under way.
    said: Vec<Said>,
    watched: Watched,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Said {
    mean: f64,
    standard_error: f64,
    /// Unit of the errors, in standard errors; 0 if there is no forecast that counts.
    unit: f64,
}

/// Statistics of the errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Watched {
    /// One for each watched lead.
    Empirical(Vec<Sorted>),
    Adaptive(Adaptive),
}

impl Calibration {
    /// Builds the calibration of a predictor whose model was fitted to `n_known` samples; `None` for intervals that
    /// need no calibration.
    pub(crate) fn new(intervals: Intervals, n_known: usize) -> Option<Self> {
        let watched = match intervals {
            Intervals::Gaussian => return None,
            Intervals::Empirical => Watched::Empirical(vec![Sorted::default(); N_LEADS]),
            Intervals::Adaptive => Watched::Adaptive(Adaptive::new(n_known)),
        };
        let nothing = Said { mean: 0.0, standard_error: 0.0, unit: 0.0 };
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
        if let Watched::Adaptive(adaptive) = &mut self.watched
            && !sample.is_nan()
        {
            adaptive.know();
        }
        for due in DENSE.due(self.clock) {
            let said = &self.said[due.slot];
            let error = sample - said.mean;
            // Without an error and without an error bar there is nothing to be learned.
            let error = if error == 0.0 { 0.0 } else { error / said.standard_error };
            if error.is_nan() || said.unit == 0.0 {
                continue;
            }
            match &mut self.watched {
                Watched::Empirical(sorted) => sorted[due.idx].learn(error),
                Watched::Adaptive(adaptive) => adaptive.learn(&due, error, said.unit),
            }
        }
    }

    /// Returns the length of the forecast that [`Calibration::note`] is to be given next.
    pub(crate) fn n_leads_due(&self) -> usize {
        DENSE.n_leads_due(self.clock)
    }

    /// Takes the forecast made with the sample known.
    pub(crate) fn note(&mut self, forecast: &Forecast) {
        for due in DENSE.due(self.clock) {
            let (mean, standard_error) = (forecast.means[due.lead - 1], forecast.standard_errors[due.lead - 1]);
            self.said[due.slot] = match &self.watched {
                Watched::Empirical(_) => Said { mean, standard_error, unit: 1.0 },
                Watched::Adaptive(adaptive) => {
                    let unit = if adaptive.counts(due.lead) { adaptive.unit(due.idx) } else { 0.0 };
                    Said { mean, standard_error, unit }
                }
            };
        }
    }

    /// One for each watched lead.
    pub(crate) fn reaches_into(&self, reaches: &mut Vec<Reach>) {
        reaches.clear();
        match &self.watched {
            Watched::Empirical(sorted) => reaches.extend(sorted.iter().map(Sorted::reach)),
            Watched::Adaptive(adaptive) => adaptive.reaches_into(reaches),
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.said.len() == DENSE.n_slots()
            && self.said.iter().all(|said| !said.mean.is_infinite() && said.standard_error >= 0.0 && said.unit >= 0.0)
            && match &self.watched {
                Watched::Empirical(sorted) => sorted.len() == N_LEADS && sorted.iter().all(Sorted::is_sound),
                Watched::Adaptive(adaptive) => adaptive.is_sound(),
            }
    }
}
