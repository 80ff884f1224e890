//! Forecasts of series: over a horizon, at chosen leads, and as metrics.

use std::sync::Arc;
use std::time::Duration;

use predict::{Forecast, Predictor, half_width};
use series::steps_within;
use units::{Confidence, Timestamp};

use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::Entry;
use crate::engine::about::Origin;
use crate::engine::forecaster::forecast_within;
use crate::engine::plan::to_steps;

/// The longest forecast that is made, in steps.
const HORIZON_MAX: u128 = 100_000;

/// Known samples that LAST needs, and with it any forecast.
const N_NEEDED: usize = 2;

/// The horizons at which metrics have a forecast.
const GAUGE_HORIZONS: [Duration; 3] = [Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(300)];

/// One signal as metrics show it.
#[derive(Debug)]
pub(crate) struct Gauge {
    pub(crate) metric: Metric,
    /// The last value, NaN in a gap.
    pub(crate) value: f64,
    /// The forecast at 10 s, 60 s and 300 s, bounds at 95 %; `None` until there is one.
    pub(crate) bounds: [Option<Bounds>; 3],
}

/// What a signal is called in metrics.
#[derive(Clone, Debug)]
pub(crate) struct Metric {
    /// `foretop_net_sent_bytes_per_second`.
    pub(crate) name: Arc<str>,
    /// What it means, for people.
    pub(crate) help: Arc<str>,
    /// What tells it from others of the same name.
    pub(crate) labels: Vec<(Arc<str>, Arc<str>)>,
}

/// A forecast for one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) mean: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// A copy of what a forecast is made from, so that it can be made while the engine goes on.
struct Oracle {
    predictor: Predictor,
    range: api::Range,
    origin: Timestamp,
    step: Duration,
}

impl Hub {
    /// Every step up to `horizon`, rounded up to whole steps.
    pub(crate) fn forecast(
        &self,
        id: &str,
        horizon: Duration,
        confidence: Confidence,
    ) -> Result<api::Forecast, QueryError> {
        let (about, model, oracle) = {
            let engine = self.engine();
            let entry = engine.get(id).ok_or_else(|| unknown(id))?;
            (entry.about.clone(), entry.forecaster.model_text().to_owned(), Oracle::of(entry)?)
        };
        let n_leads = n_leads(horizon, about.step)?;
        let forecast = oracle.forecast(n_leads);
        let half_width = half_width(confidence);
        let (lower, upper) =
            (0..n_leads).map(|idx| oracle.bounds(&forecast, idx, half_width)).map(|at| (at.lower, at.upper)).unzip();
        Ok(api::Forecast {
            id: about.id.to_string(),
            unit: about.unit().to_owned(),
            origin: oracle.origin,
            step_seconds: oracle.step.as_secs_f64(),
            confidence: confidence.probability(),
            model,
            mean: forecast.means().to_vec(),
            standard_error: forecast.standard_errors().to_vec(),
            lower,
            upper,
        })
    }

    /// The forecast at some leads, in steps from 1; bounds are `half_width` standard errors away. `None` for a series
    /// that is not there or has no forecast yet.
    pub(crate) fn leads(&self, id: &str, leads: &[usize], half_width: f64) -> Option<api::LeadForecast> {
        let oracle = Oracle::of(self.engine().get(id)?).ok()?;
        let forecast = oracle.forecast(leads.iter().copied().max()?);
        let mut answer = api::LeadForecast { leads: leads.to_vec(), ..api::LeadForecast::default() };
        for lead in leads {
            let at = oracle.bounds(&forecast, lead.checked_sub(1)?, half_width);
            answer.mean.push(at.mean);
            answer.lower.push(at.lower);
            answer.upper.push(at.upper);
        }
        Some(answer)
    }

    /// Every series as metrics show it.
    pub(crate) fn gauges(&self) -> Vec<Gauge> {
        let copies: Vec<(Metric, f64, Option<Oracle>)> = {
            let engine = self.engine();
            let copy = |entry: &Entry| (metric(entry), entry.forecaster.last_value(), Oracle::of(entry).ok());
            engine.in_order().into_iter().map(copy).collect()
        };
        let half_width = half_width(Confidence::P95);
        let gauge = |(metric, value, oracle): (Metric, f64, Option<Oracle>)| {
            let bounds = oracle.map_or([None; 3], |oracle| oracle.at_gauge_horizons(half_width));
            Gauge { metric, value, bounds }
        };
        copies.into_iter().map(gauge).collect()
    }
}

impl Oracle {
    fn of(entry: &Entry) -> Result<Self, QueryError> {
        let forecaster = &entry.forecaster;
        let (Some(predictor), Some(origin)) = (forecaster.speaking(), forecaster.last()) else {
            let have = forecaster.waiting().map_or(0, |(_, n_known)| n_known);
            return Err(QueryError::NotReady { id: entry.about.id.to_string(), have, need: N_NEEDED });
        };
        Ok(Self { predictor: predictor.clone(), range: entry.about.range(), origin, step: entry.about.step })
    }

    fn forecast(&self, n_leads: usize) -> Forecast {
        let mut forecast = Forecast::default();
        forecast_within(&self.predictor, n_leads, self.range, &mut forecast);
        forecast
    }

    /// Both ends are cut to what the quantity can be, as the mean is.
    fn bounds(&self, forecast: &Forecast, idx: usize, half_width: f64) -> Bounds {
        let mean = forecast.means()[idx];
        let reach = half_width * forecast.standard_errors()[idx];
        let (min, max) = (self.range.min.unwrap_or(f64::NEG_INFINITY), self.range.max.unwrap_or(f64::INFINITY));
        Bounds { mean, lower: (mean - reach).clamp(min, max), upper: (mean + reach).clamp(min, max) }
    }

    fn at_gauge_horizons(&self, half_width: f64) -> [Option<Bounds>; 3] {
        let leads = GAUGE_HORIZONS.map(|horizon| to_steps(horizon, self.step));
        let forecast = self.forecast(leads.into_iter().max().unwrap_or(1));
        leads.map(|lead| Some(self.bounds(&forecast, lead - 1, half_width)))
    }
}

fn n_leads(horizon: Duration, step: Duration) -> Result<usize, QueryError> {
    let refused = |problem: String| QueryError::BadParameter { field: "horizon", message: problem };
    let shown = units::span::format(horizon);
    match steps_within(horizon, step) {
        0 => Err(refused(format!("horizon `{shown}` is shorter than one step ({})", units::span::format(step)))),
        n if n > HORIZON_MAX => Err(refused(format!("horizon `{shown}` is {n} steps, and {HORIZON_MAX} are the most"))),
        n => Ok(n as usize),
    }
}

fn metric(entry: &Entry) -> Metric {
    let about = &entry.about;
    match &about.origin {
        Origin::Sensor { family, label } => Metric {
            name: family.metric_name().into(),
            help: family.sentence.into(),
            labels: family
                .label_name()
                .zip(label.as_ref())
                .map(|(name, label)| (name.into(), Arc::clone(label)))
                .into_iter()
                .collect(),
        },
        Origin::Pushed { unit, .. } => Metric {
            name: "foretop_pushed_value".into(),
            help: "The last value of a series that a program pushes.".into(),
            labels: vec![("signal".into(), Arc::clone(&about.id)), ("unit".into(), Arc::clone(unit))],
        },
    }
}
