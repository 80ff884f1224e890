//! AUTO: one forecaster for all leads. An [outlook](crate::Outlook) learns the seasons, the levels and the distribution
//! of errors. An ensemble of models of the latest samples, refitted in turns, is one of the outlook's candidates: it is
//! good at the next leads, where the outlook gives it weight.

mod cost;
mod ensemble;
mod record;
mod season;
mod standing;

use std::cell::Cell;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::cost::OF_OUTLOOK;
use crate::effort::spend;
use crate::intervals::Reach;
use crate::model::seasonal;
use crate::outlook::{ENSEMBLE_LEAD_MAX, Outlook, Periods};
use crate::task::{Done, Task, Ticket};
use ensemble::Ensemble;
use season::SeasonSearch;

pub(crate) use cost::BUDGET_MIN;
pub use standing::{LeadStanding, SeasonLead, SeasonStanding, Standing};

/// Number of latest samples that an outlook is begun with: six weeks of minutes.
const N_OUTLOOK_MAX: usize = 1 << 16;

/// The numbers of an `AUTO`'s specification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AutoSettings {
    pub(crate) periods: Periods,
    pub(crate) every: usize,
    pub(crate) window: usize,
    pub(crate) budget: u64,
}

/// The managed predictor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Auto {
    ensemble: Ensemble,
    outlook: Outlook,
    /// `None` if the seasons are given.
    search: Option<SeasonSearch>,
}

impl Auto {
    /// An AUTO that has no sample yet.
    pub(crate) fn new(AutoSettings { periods, every, window, budget }: AutoSettings, range: (f64, f64)) -> Self {
        let ensemble = Ensemble::new(every, window, budget, season::n_kept(window));
        let search = (periods == Periods::NONE).then(SeasonSearch::default);
        Self { ensemble, outlook: seasonal::outlook(periods, range), search }
    }

    /// Computes the difference of each sample from the forecast made one step before.
    pub(crate) fn one_step_errors(mut self, samples: &[f64]) -> Vec<f64> {
        let error = |sample: &f64| {
            let mut expected = [f64::NAN];
            if self.is_ready() {
                self.forecast_into(&mut expected, &mut [0.0], None);
            }
            self.step(*sample);
            sample - expected[0]
        };
        samples.iter().map(error).collect()
    }

    /// Takes a sample, NaN for a gap, and makes the fit that is due first.
    pub(crate) fn step(&mut self, sample: f64) {
        self.take(sample);
        if let Some(task) = self.task() {
            self.install(task.run());
        }
        self.note();
    }

    /// Takes a sample, NaN for a gap. Fits that are due, and [`Auto::note`] after them, are up to the caller.
    pub(crate) fn take(&mut self, sample: f64) {
        self.ensemble.take(seasonal::squarable(sample));
    }

    /// Makes the forecasts that later samples are compared with.
    pub(crate) fn note(&mut self) {
        let means = self.ensemble.note(self.outlook.n_leads_due());
        self.outlook.step_beside(self.ensemble.history.last(), &means);
    }

    /// The fit or the season search that is due first, if there is one.
    pub(crate) fn task(&self) -> Option<Task> {
        let first = self.ensemble.due();
        match self.search_due() {
            Some(due) if first.is_none_or(|(_, member)| due < member.due) => Some(self.season_task()),
            _ => first.map(|(idx, _)| self.ensemble.task(idx)),
        }
    }

    /// Takes the result of a task, and runs the model over the samples since.
    pub(crate) fn install(&mut self, done: Done) {
        match done.ticket {
            Ticket { model_idx: Ticket::SEASON, clock } => self.take_season(done.result.ok(), clock),
            _ => self.ensemble.install(done),
        }
    }

    /// Has a task that was given up tried again later.
    pub(crate) fn give_up(&mut self, ticket: Ticket) {
        match (&mut self.search, ticket) {
            (Some(search), Ticket { model_idx: Ticket::SEASON, clock }) => search.is_made(clock),
            _ => self.ensemble.give_up(ticket),
        }
    }

    /// Writes medians and standard errors of leads 1, 2, …, and the reaches of intervals if asked for, by the outlook's
    /// distribution.
    pub(crate) fn forecast_into(
        &self,
        means: &mut [f64],
        standard_errors: &mut [f64],
        reaches: Option<&mut Vec<Reach>>,
    ) {
        let of_ensemble = self.ensemble.means(means.len().min(ENSEMBLE_LEAD_MAX));
        self.outlook.view(&of_ensemble).forecast_into(means, standard_errors, reaches);
    }

    /// Samples in the window that are no gaps.
    pub(crate) fn n_known(&self) -> usize {
        self.ensemble.history.n_known()
    }

    /// Whether there is a forecast.
    pub(crate) fn is_ready(&self) -> bool {
        self.outlook.is_begun()
    }

    /// Range of values that the quantity can have.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.outlook.range()
    }

    /// Returns the mean of the samples in the window.
    pub(crate) fn mean(&self) -> f64 {
        let n_known = self.n_known().max(1) as f64;
        self.ensemble.history.in_window().filter(|sample| !sample.is_nan()).map(|sample| sample / n_known).sum()
    }

    pub(crate) fn innovation_variance(&self) -> f64 {
        let mut standard_error = [0.0];
        self.forecast_into(&mut [0.0], &mut standard_error, None);
        standard_error[0].powi(2)
    }

    /// Returns the number of fits of members, and how many failed.
    pub(crate) fn n_fits(&self) -> (u64, u64) {
        let count = |(fits, failures), one: &ensemble::EnsembleMember| (fits + one.n_fits, failures + one.n_failures);
        self.ensemble.members.iter().fold((0, 0), count)
    }

    /// Whether this is the AUTO of these numbers, and could have come about.
    pub(crate) fn is_sound(&self, settings: AutoSettings) -> bool {
        let (fresh, periods) = (Self::new(settings, self.outlook.range()), self.outlook.periods());
        self.ensemble.is_like(&fresh.ensemble)
            && seasonal::is_outlook_of(&self.outlook, periods)
            && match (&self.search, &fresh.search) {
                (Some(search), Some(_)) => search.is_sound(),
                (None, None) => periods == settings.periods,
                _ => false,
            }
    }
}

/// Runs a fresh AUTO over the last `n_run` of the samples, and its outlook over those before too.
pub(crate) fn fit(whole: &[f64], n_run: usize, settings: AutoSettings, range: (f64, f64)) -> Auto {
    let mut auto = Auto::new(settings, range);
    auto.search_back(whole);
    let (before, run) = whole.split_at(whole.len() - n_run);
    let before = &before[before.len().saturating_sub(N_OUTLOOK_MAX)..];
    let per_sample = OF_OUTLOOK as usize;
    // Fits of members count by themselves.
    let is_paid = |_: &&f64| spend(per_sample);
    before.iter().take_while(is_paid).for_each(|sample| auto.outlook.step(seasonal::squarable(*sample)));
    run.iter().take_while(is_paid).for_each(|sample| auto.step(*sample));
    auto
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Decodes an AUTO that is no member of another one. Bytes that nest them deep enough would exhaust the stack before
/// anybody could see that they contradict each other.
pub(crate) fn outermost<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Auto>, D::Error> {
    if IS_INSIDE.replace(true) {
        return Err(D::Error::custom("an AUTO within an AUTO"));
    }
    let decoded = Auto::deserialize(deserializer);
    IS_INSIDE.set(false);
    decoded.map(Box::new)
}

#[cfg(test)]
mod tests {
    use crate::fit::fit as fit_spec;
    use crate::model::Fitted;
    use crate::predictor::Predictor;
    use crate::spec::Spec;

    #[test]
    fn an_auto_within_an_auto_is_not_even_decoded() {
        let samples: Vec<f64> = (0..50).map(|t| f64::from(t * 7 % 11)).collect();
        let mut model = fit_spec(&Spec::auto(), &samples).expect("AUTO fits");
        let inner = model.predictor();
        let Fitted::Auto(auto) = &mut model.fitted else { unreachable!("AUTO is AUTO") };
        auto.ensemble.members[0].predictor = Some(inner.clone());
        let message = Predictor::restore(&model.predictor().save()).expect_err("it is nested").to_string();
        assert!(message.ends_with("its fields do not decode"), "{message}");
        assert!(Predictor::restore(&inner.save()).is_ok(), "the next one is not inside of anything");
    }
}
