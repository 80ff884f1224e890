//! The season search of an AUTO: when it is due, and what it changes.
//!
//! A search is a task like the fit of a member, due after some step and made elsewhere where those are. One that finds
//! nothing changes nothing. If it finds a season, an outlook of this season replaces the one without.

use serde::{Deserialize, Serialize};

use super::Auto;
use crate::cost::of_fit;
use crate::effort::spend;
use crate::model::{Fitted, Model, seasonal};
use crate::outlook::{N_SEARCHED_MIN, Periods, periods_of};
use crate::spec::Spec;
use crate::task::{Task, Ticket};

/// Windows of samples that are searched: with the usual window a day at five minutes occurs six times in them.
const N_WINDOWS: usize = 3;

/// No search is in more samples than these, three weeks of minutes: it takes as much time as samples.
const N_SEARCHED_MAX: usize = 1 << 15;

/// A season stays while its regressors have this weight in the forecast of one period ahead.
const WEIGHT_MIN: f64 = 0.1;

/// Searches made so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SeasonSearch {
    /// The step of the last one.
    last: u64,
}

/// Returns the number of samples that an AUTO of this window keeps to search in.
pub(super) fn n_kept(window: usize) -> usize {
    (N_WINDOWS * window).min(N_SEARCHED_MAX)
}

impl SeasonSearch {
    pub(super) fn is_made(&mut self, clock: u64) {
        self.last = clock;
    }

    pub(super) fn is_sound(&self) -> bool {
        self.last < 1 << 52
    }
}

impl Auto {
    /// Returns the step after which a search was due, if one is: whenever the series is half as long again until as
    /// many samples are kept as ever, then once a window unless there is a season.
    pub(super) fn search_due(&self) -> Option<u64> {
        let SeasonSearch { last } = *self.search.as_ref()?;
        let history = &self.ensemble.history;
        let n_kept = history.n_kept();
        let is_settled = last >= n_kept as u64;
        let due = if is_settled {
            last + history.window() as u64
        } else {
            (last + last / 2).max(N_SEARCHED_MIN as u64).min(n_kept as u64)
        };
        let is_needed = n_kept >= N_SEARCHED_MIN && !(is_settled && self.has_season());
        (is_needed && due <= history.clock()).then_some(due)
    }

    /// Whether there is a season with weight, or one too new to tell.
    fn has_season(&self) -> bool {
        self.outlook.periods() != Periods::NONE && self.outlook.season_weight().is_none_or(|weight| weight > WEIGHT_MIN)
    }

    /// The task of searching the samples that are kept.
    pub(super) fn season_task(&self) -> Task {
        let ticket = Ticket { model_idx: Ticket::SEASON, clock: self.ensemble.history.clock() };
        let spec = Spec::Seasonal { periods: Periods::NONE };
        let samples = self.ensemble.history.kept().collect();
        Task { spec, samples, ticket, range: self.outlook.range(), limit: u64::MAX }
    }

    /// Takes what a search found after step `clock`. An outlook with the same season stays, because it has seen more.
    pub(super) fn take_season(&mut self, found: Option<Model>, clock: u64) {
        let Some(search) = &mut self.search else { return };
        search.is_made(clock);
        let Some(Fitted::Seasonal(seasonal)) = found.map(|model| model.fitted) else { return };
        let mut found = seasonal.into_outlook();
        if found.periods() != self.outlook.periods() {
            self.ensemble.history.since(clock).for_each(|sample| found.step(sample));
            self.outlook = found;
        }
    }

    /// Searches all of a history before any of its samples is taken.
    pub(super) fn search_back(&mut self, whole: &[f64]) {
        let whole = &whole[whole.len().saturating_sub(N_SEARCHED_MAX)..];
        let Some(search) = &mut self.search else { return };
        let cost = of_fit(&Spec::Seasonal { periods: Periods::NONE }, whole.len());
        if whole.len() < N_SEARCHED_MIN || !spend(usize::try_from(cost).unwrap_or(usize::MAX)) {
            return;
        }
        search.is_made(whole.len().min(self.ensemble.history.n_kept()) as u64);
        // Infinities are refused among the samples that are run over; before them they are gaps, as on line.
        let known: Vec<f64> = whole.iter().map(|sample| if sample.is_finite() { *sample } else { f64::NAN }).collect();
        if let Some(periods) = periods_of(&known) {
            self.outlook = seasonal::outlook(periods, self.outlook.range());
        }
    }
}
