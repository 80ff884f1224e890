//! Descriptions of the series, their models, and the accuracy of those models.

use predict::{LeadScore, Model, Parameter, SeasonLead, SeasonStanding, Standing};
use units::Timestamp;

use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::Entry;
use crate::engine::scored_live::ScoredLive;
use crate::schedule::times;

impl Hub {
    /// The last label that a series of a feed has.
    pub(crate) fn last_label_of_feed(&self, name: &str) -> Option<Timestamp> {
        let engine = self.engine();
        let entries = engine.entries().filter(|entry| entry.about.is_fed_by(Some(name)));
        entries.filter_map(|entry| entry.last().or(entry.heard)).max()
    }

    /// Every series, sensors' in the order of their table and then pushed ones.
    pub(crate) fn list(&self) -> Vec<api::Series> {
        let now = self.now();
        self.engine().in_order().into_iter().map(|entry| series(entry, now)).collect()
    }

    /// One series, and what is fitted to it.
    pub(crate) fn detail(&self, id: &str) -> Result<api::SeriesDetail, QueryError> {
        let engine = self.engine();
        let entry = engine.get(id).ok_or_else(|| unknown(id))?;
        Ok(detail(entry, self.now()))
    }

    /// Returns the accuracy of the forecasts of a series, per lead time.
    pub(crate) fn accuracy(&self, id: &str) -> Result<api::Accuracy, QueryError> {
        let (about, live) = {
            let engine = self.engine();
            let entry = engine.get(id).ok_or_else(|| unknown(id))?;
            (entry.about.clone(), entry.live.clone())
        };
        let leads = live.scores().into_iter().map(|scores| api::LeadAccuracy {
            lead_steps: scores.model.lead,
            lead_seconds: times(about.step, scores.model.lead as u64).as_secs_f64(),
            n: scores.model.n,
            model: statistics(&scores.model),
            last: statistics(&scores.last),
            mean: statistics(&scores.mean),
        });
        let (id, unit, leads) = (about.id.to_string(), about.unit().to_owned(), leads.collect());
        Ok(api::Accuracy { id, unit, leads, residuals: live.residuals().and_then(residuals) })
    }
}

pub(super) fn detail(entry: &Entry, now: Timestamp) -> api::SeriesDetail {
    let live = &entry.live;
    api::SeriesDetail { series: series(entry, now), fitted: fitted(live), waiting: waiting(live) }
}

fn series(entry: &Entry, now: Timestamp) -> api::Series {
    let Entry { about, live, .. } = entry;
    let value = entry.last_value();
    api::Series {
        id: about.id.to_string(),
        aliases: about.aliases(),
        unit: about.unit().to_owned(),
        kind: about.kind(),
        sentence: about.sentence().to_owned(),
        labels: about.labels(),
        source: if about.is_pushed() { api::Source::Pushed } else { api::Source::Sensor },
        step_seconds: about.step.as_secs_f64(),
        near_seconds: warn::near(about.step).as_secs_f64(),
        range: about.range(),
        last: entry.last().map(|time| api::LastSample { time, value: value.is_finite().then_some(value) }),
        no_sample_since: entry.no_sample_since(now),
        n_samples: live.counts.n_samples,
        n_gaps: live.counts.n_gaps,
        model: live.model_text().to_owned(),
        model_speaking: live.speaking_at(1),
    }
}

fn fitted(live: &ScoredLive) -> Option<api::Fitted> {
    let model = live.speaking()?.model();
    let (fitted_at, n_refits) = (live.fitted_at(), live.n_refits());
    Some(api::Fitted { fitted_at, n_refits, ..found(model) })
}

/// Describes a fitted model, without the time of the fit and the number of fits before, which its series has.
pub(crate) fn found(model: &Model) -> api::Fitted {
    api::Fitted {
        model: model.spec().inner().to_string(),
        coefficients: model.coefficients(),
        moving_average: model.moving_average().to_vec(),
        mean: model.mean(),
        innovation_variance: model.innovation_variance(),
        n_samples: model.n_samples(),
        fitted_at: None,
        n_refits: 0,
        speakers: model.speakers().into_iter().map(speaker).collect(),
        season: model.season().map(season),
    }
}

fn season(found: SeasonStanding) -> api::FoundSeason {
    let lead = |SeasonLead { lead, weight, rival, error_ratio }| api::SeasonLead {
        lead_steps: lead,
        weight_ratio: weight,
        rival: rival.to_string(),
        error_ratio,
    };
    api::FoundSeason {
        model: found.spec.to_string(),
        period_steps: found.periods,
        leads: found.leads.into_iter().map(lead).collect(),
    }
}

fn speaker(standing: Standing) -> api::Speaker {
    let parameter = |found: Parameter| api::Parameter { name: found.name, value: found.value };
    let heard = standing.leads.iter().filter(|at| at.weight > 0.0);
    api::Speaker {
        model: standing.spec.to_string(),
        weight_ratio: standing.weight(),
        n_samples: standing.n_samples,
        n_fits: standing.n_fits,
        leads: heard.map(|at| api::LeadWeight { lead_steps: at.lead, weight_ratio: at.weight }).collect(),
        parameters: standing.parameters.into_iter().map(parameter).collect(),
    }
}

fn waiting(live: &ScoredLive) -> Option<api::Waiting> {
    let (reason, n_known) = live.waiting()?;
    let plan = live.plan();
    let is_short = reason == api::WaitingReason::TooShort;
    Some(api::Waiting {
        model: plan.policy.model.to_string(),
        reason,
        have: is_short.then_some(n_known),
        need: is_short.then_some(plan.policy.known),
    })
}

/// `None` of errors that cannot be tested.
fn residuals(found: statistics::Residuals) -> Option<api::Residuals> {
    let (noise, line) = (found.whiteness.ok()?, found.normality.ok()?);
    Some(api::Residuals {
        n: found.n,
        n_lags: noise.n_lags,
        significant_ratio: noise.significant_share,
        ljung_box_p: noise.ljung_box.p_value,
        turning_points_p: noise.turning_points.p_value,
        rises_p: noise.rises.p_value,
        normality_r_squared: line.r_squared,
        normality_p: line.p_value,
    })
}

fn statistics(score: &LeadScore) -> Option<api::ErrorStatistics> {
    let (errors, coverage) = (score.errors?, score.coverage?);
    Some(api::ErrorStatistics {
        min: errors.min,
        median: errors.median,
        max: errors.max,
        mean: errors.mean,
        mean_absolute: errors.mean_absolute,
        mean_squared: errors.mean_squared,
        coverage: api::Coverage { p50: coverage.p50, p80: coverage.p80, p95: coverage.p95 },
    })
}
