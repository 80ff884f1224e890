//! Forecasts of series: over a horizon, at chosen leads, and as metrics.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use predict::{Forecast, Predictor};
use series::steps_within;
use signal::{Label, label_name, metric_name};
use statistics::Interval;
use units::{Confidence, Timestamp};

use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::Entry;
use crate::engine::about::Origin;
use crate::engine::plan::to_steps;
use crate::engine::scored_live::forecast_within;

/// The longest forecast that is made, in steps.
const HORIZON_MAX: u128 = 100_000;

/// Largest lead at which models are told apart: beyond it the model with the largest weight does not change, because no
/// model is judged on longer forecasts.
const N_LEADS_TOLD_APART: usize = 256;

/// Known samples that LAST needs, and with it any forecast.
const N_NEEDED: usize = 2;

/// The horizons at which metrics have a forecast when they are scraped.
pub(crate) const GAUGE_HORIZONS: [Duration; 3] =
    [Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(300)];

/// Labels that metrics of forecasts have besides those of their signal.
const OWN_LABELS: [&str; 3] = ["horizon", "confidence", "for"];

/// The label that has the id of a signal where its name and labels do not tell it from others.
const SIGNAL: &str = "signal";

/// One signal as metrics show it.
#[derive(Debug)]
pub(crate) struct Gauge {
    pub(crate) metric: Metric,
    /// The last value, NaN in a gap.
    pub(crate) value: f64,
    /// The label of the last sample, which forecasts start from; `None` until there is one.
    pub(crate) origin: Option<Timestamp>,
    /// Horizons and forecasts, bounds at 95 %; none until there is a forecast.
    pub(crate) bounds: Vec<(Duration, Bounds)>,
}

/// Name, meaning and labels of a signal in metrics.
#[derive(Clone, Debug)]
pub(crate) struct Metric {
    /// `foretop_net_sent_bytes_per_second`.
    pub(crate) name: Arc<str>,
    /// The meaning of the metric, for people.
    pub(crate) help: Arc<str>,
    /// Labels that distinguish the metric from others of the same name.
    pub(crate) labels: Vec<(Arc<str>, Arc<str>)>,
}

/// A forecast for one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) mean: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// A forecast of one series, to be cut at leads and confidences.
pub(crate) struct Ahead {
    forecast: Forecast,
    range: api::Range,
}

/// A copy of what a forecast is made from, so that it can be made while the engine goes on.
pub(crate) struct Oracle {
    predictor: Predictor,
    range: api::Range,
    pub(crate) origin: Timestamp,
    pub(super) step: Duration,
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
            (entry.about.clone(), entry.live.model_text().to_owned(), Oracle::of(entry)?)
        };
        let n_leads = n_leads(horizon, about.step)?;
        let forecast = oracle.forecast(n_leads);
        let (lower, upper) =
            forecast.intervals(confidence).map(|at| oracle.cut(at)).map(|at| (at.lower, at.upper)).unzip();
        Ok(api::Forecast {
            id: about.id.to_string(),
            unit: about.unit().to_owned(),
            origin: oracle.origin,
            step_seconds: oracle.step.as_secs_f64(),
            confidence: confidence.probability(),
            model,
            model_speaking: oracle.speaking(n_leads),
            speakers: oracle.weights(n_leads),
            mean: forecast.means().to_vec(),
            standard_error: forecast.standard_errors().to_vec(),
            lower,
            upper,
        })
    }

    /// The forecast of a series for `n_leads` steps. `None` for a series that is not there, has no forecast yet, or
    /// whose model has samples to take.
    pub(crate) fn ahead(&self, id: &str, n_leads: usize) -> Option<Ahead> {
        let oracle = Oracle::of(self.engine().get(id).filter(|entry| entry.is_current())?).ok()?;
        Some(Ahead { forecast: oracle.forecast(n_leads), range: oracle.range })
    }

    /// Every series that is not silent as metrics show it, with forecasts at these horizons: who scrapes them takes
    /// them for those of now.
    pub(crate) fn gauges(&self, horizons: &[Duration]) -> Vec<Gauge> {
        let now = self.now();
        let engine = self.engine();
        let heard = engine.in_order().into_iter().filter(|entry| entry.no_sample_since(now).is_none());
        let copies: Vec<GaugeCopy> = heard.map(GaugeCopy::of).collect();
        drop(engine);
        copies.into_iter().map(|copy| copy.finish(horizons)).collect()
    }

    /// One series as metrics show it, if it is there.
    pub(crate) fn gauge(&self, id: &str, horizons: &[Duration]) -> Option<Gauge> {
        let copy = GaugeCopy::of(self.engine().get(id)?);
        Some(copy.finish(horizons))
    }
}

impl Ahead {
    /// Returns the forecast at `leads`, in steps from 1 to as many as there are, and the band of the confidence
    /// `inner`, if one is asked for.
    ///
    /// # Panics
    /// For a lead of 0, and for one that it does not have.
    pub(crate) fn at(
        &self,
        leads: &[usize],
        confidence: Confidence,
        inner: Option<Confidence>,
    ) -> (api::LeadForecast, Option<api::LeadBand>) {
        let band = |confidence| {
            let intervals = leads.iter().map(|lead| cut(self.range, self.forecast.interval(*lead, confidence)));
            intervals.map(|at| (at.lower, at.upper)).unzip()
        };
        let mean = leads.iter().map(|lead| self.forecast.means()[lead - 1]).collect();
        let (lower, upper) = band(confidence);
        let inner = inner.map(band).map(|(lower, upper)| api::LeadBand { lower, upper });
        (api::LeadForecast { leads: leads.to_vec(), mean, lower, upper }, inner)
    }
}

/// Data of a gauge, copied so that the gauge can be made while the engine goes on.
struct GaugeCopy {
    metric: Metric,
    value: f64,
    oracle: Option<Oracle>,
}

impl GaugeCopy {
    /// Copies an entry, without a forecast while the model has samples to take: one from before them may have been told
    /// already.
    fn of(entry: &Entry) -> Self {
        let oracle = Oracle::of(entry).ok().filter(|_| entry.is_current());
        Self { metric: metric(entry), value: entry.last_value(), oracle }
    }

    fn finish(self, horizons: &[Duration]) -> Gauge {
        let bounds = self.oracle.as_ref().map(|oracle| oracle.at(horizons)).unwrap_or_default();
        Gauge { metric: self.metric, value: self.value, origin: self.oracle.map(|oracle| oracle.origin), bounds }
    }
}

impl Oracle {
    pub(crate) fn of(entry: &Entry) -> Result<Self, QueryError> {
        let live = &entry.live;
        let (Some(predictor), Some(origin)) = (live.speaking(), live.last()) else {
            let have = live.waiting().map_or(0, |(_, n_known)| n_known);
            return Err(QueryError::NotReady { id: entry.about.id.to_string(), have, need: N_NEEDED });
        };
        let kept = live.kept().into_iter().flat_map(|(_, kept)| kept.iter().copied());
        let range = entry.about.range_of(kept);
        Ok(Self { predictor: predictor.clone(), range, origin, step: entry.about.step })
    }

    pub(crate) fn forecast(&self, n_leads: usize) -> Forecast {
        let mut forecast = Forecast::default();
        forecast_within(&self.predictor, n_leads, self.range, &mut forecast);
        forecast
    }

    /// Returns the models with the largest weight, by stretches of leads.
    fn speaking(&self, n_leads: usize) -> Vec<api::Speaking> {
        let mut stretches: Vec<api::Speaking> = Vec::new();
        for from_lead in 1..=n_leads.min(N_LEADS_TOLD_APART) {
            let Some(model) = self.predictor.speaking_at(from_lead) else { break };
            if stretches.last().is_none_or(|last| last.model != model) {
                stretches.push(api::Speaking { from_lead, model });
            }
        }
        stretches
    }

    /// Returns the models that make the forecast for `lead`, the heaviest first.
    fn weights(&self, lead: usize) -> Vec<api::Weighed> {
        let weights = self.predictor.weights_at(lead).into_iter();
        weights.map(|(spec, weight_ratio)| api::Weighed { model: spec.to_string(), weight_ratio }).collect()
    }

    fn cut(&self, interval: Interval) -> Interval {
        cut(self.range, interval)
    }

    fn bounds(&self, forecast: &Forecast, lead: usize, confidence: Confidence) -> Bounds {
        let Interval { lower, upper } = self.cut(forecast.interval(lead, confidence));
        Bounds { mean: forecast.means()[lead - 1], lower, upper }
    }

    /// Forecasts at horizons, without those that are too many steps away.
    fn at(&self, horizons: &[Duration]) -> Vec<(Duration, Bounds)> {
        let leads = horizons.iter().map(|horizon| (*horizon, to_steps(*horizon, self.step)));
        let leads: Vec<(Duration, usize)> = leads.filter(|(_, lead)| (*lead as u128) <= HORIZON_MAX).collect();
        let Some(n_leads) = leads.iter().map(|(_, lead)| *lead).max() else { return Vec::new() };
        let forecast = self.forecast(n_leads);
        leads.into_iter().map(|(horizon, lead)| (horizon, self.bounds(&forecast, lead, Confidence::P95))).collect()
    }
}

/// Both ends are cut to what the quantity can be, as the mean is.
fn cut(range: api::Range, interval: Interval) -> Interval {
    let (min, max) = (range.min.unwrap_or(f64::NEG_INFINITY), range.max.unwrap_or(f64::INFINITY));
    Interval { lower: interval.lower.clamp(min, max), upper: interval.upper.clamp(min, max) }
}

fn n_leads(horizon: Duration, step: Duration) -> Result<usize, QueryError> {
    let refused = |problem: String| QueryError::BadParameter { field: "horizon", message: problem };
    let shown = units::span::format(horizon);
    match steps_within(horizon, step) {
        0 => Err(refused(format!("horizon `{shown}` is shorter than one step ({})", units::span::format(step)))),
        n if n > HORIZON_MAX => Err(refused(format!("horizon `{shown}` is {n} steps, but the limit is {HORIZON_MAX}"))),
        n => Ok(n as usize),
    }
}

fn metric(entry: &Entry) -> Metric {
    let about = &entry.about;
    match &about.origin {
        Origin::Sensor { signal, .. } => {
            let name = signal.family().metric_name();
            let plain = metric_name(&name);
            let is_plain = plain == name && signal.labels().iter().all(|(label, _)| label_name(label) == **label);
            Metric {
                name: if signal.is_listed() { plain.into_owned() } else { exported(&plain) }.into(),
                help: (*signal.family().sentence).into(),
                labels: labels(signal.labels(), (!is_plain).then_some(&about.id)),
            }
        }
        Origin::Pushed { unit, .. } => Metric {
            name: "foretop_pushed_value".into(),
            help: "The last value of a series that a program pushes.".into(),
            labels: vec![(SIGNAL.into(), Arc::clone(&about.id)), ("unit".into(), Arc::clone(unit))],
        },
    }
}

/// Renames a metric of an exporter, so that it never has the name of one that is measured here.
fn exported(name: &str) -> String {
    name.replacen("foretop_", "foretop_exported_", 1)
}

/// Labels by names that every server reads, with the id of the signal where that is needed to tell it from others.
///
/// One that forecasts have as well gets `exported_` before its name, as Prometheus does where labels meet. One that is
/// then called as another is gets a number behind its name: `service_name_2`.
fn labels(given: &[Label], id: Option<&Arc<str>>) -> Vec<Label> {
    let is_ours = |name: &str| OWN_LABELS.contains(&name) || id.is_some() && name == SIGNAL;
    let mut named: Vec<Label> = id.map(|id| (SIGNAL.into(), Arc::clone(id))).into_iter().collect();
    let is_plain = |name: &str| label_name(name) == name && !is_ours(name);
    let (plain, other): (Vec<_>, Vec<_>) = given.iter().cloned().partition(|(name, _)| is_plain(name));
    named.extend(plain);
    for (name, value) in other {
        let mut name = label_name(&name).into_owned();
        if is_ours(&name) {
            name.insert_str(0, "exported_");
        }
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let is_free = |name: &String| named.iter().all(|(taken, _)| **taken != **name);
        let name = iter::once(name.clone()).chain(numbered).find(is_free).expect("numbers do not end");
        named.push((name.into(), value));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_called_as_servers_read_them_and_never_the_same() {
        let named = |names: &[&str], id: Option<&Arc<str>>| -> Vec<String> {
            let given: Vec<Label> = names.iter().map(|name| ((*name).into(), "v".into())).collect();
            labels(&given, id).into_iter().map(|(name, _)| name.to_string()).collect()
        };
        let id: Arc<str> = "a".into();
        assert_eq!(named(&["horizon", "host", "for"], None), ["host", "exported_horizon", "exported_for"]);
        assert_eq!(
            named(&["service.name", "größe", "service_name", "service-name", "signal", "1st", ""], Some(&id)),
            ["signal", "service_name", "service_name_2", "gr__e", "service_name_3", "exported_signal", "_st", "_"]
        );
    }
}
