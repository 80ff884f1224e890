//! Forecasts of series: over a horizon, at chosen leads, and as metrics.

use std::collections::HashMap;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use predict::{Forecast, Predictor};
use series::steps_within;
use signal::{Label, label_name, metric_name};
use units::{Confidence, Timestamp};

use super::ahead::{Ahead, Aheads};
use super::{Hub, QueryError, unknown};
use crate::api;
use crate::engine::about::Origin;
use crate::engine::plan::to_steps;
use crate::engine::scored_live::forecast_within;
use crate::engine::{Engine, Entry};

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
        let (about, model, n_leads, own, aheads) = {
            let engine = self.engine();
            let entry = engine.get(id).ok_or_else(|| unknown(id))?;
            let (about, oracle) = (entry.about.clone(), Oracle::of(entry)?);
            let n_leads = n_leads(horizon, about.step)?;
            let own = Ahead::new(Arc::clone(&about.id), oracle, n_leads);
            let wanted = entry.is_current().then_some((&*about.id, n_leads));
            let aheads = Aheads::copy(&engine, wanted.into_iter().collect());
            (about, entry.live.model_text().to_owned(), n_leads, own, aheads)
        };
        let mut ahead = aheads.finish().remove(&about.id).unwrap_or(own);
        ahead.make();
        let intervals = (1..=n_leads).map(|lead| ahead.interval(lead, confidence));
        let (lower, upper) = intervals.map(|at| (at.lower, at.upper)).unzip();
        let oracle = &ahead.oracle;
        Ok(api::Forecast {
            id: about.id.to_string(),
            unit: about.unit().to_owned(),
            origin: oracle.origin,
            step_seconds: oracle.step.as_secs_f64(),
            confidence: confidence.probability(),
            model,
            model_speaking: oracle.speaking(n_leads),
            speakers: oracle.weights(n_leads),
            mean: ahead.means().to_vec(),
            standard_error: ahead.forecast.standard_errors().to_vec(),
            lower,
            upper,
        })
    }

    /// Every series that is not silent as metrics show it, with forecasts at these horizons: who scrapes them takes
    /// them for those of now.
    pub(crate) fn gauges(&self, horizons: &[Duration]) -> Vec<Gauge> {
        let now = self.now();
        let copies = {
            let engine = self.engine();
            let heard = engine.in_order().into_iter().filter(|entry| entry.no_sample_since(now).is_none());
            GaugeCopies::of(&engine, heard.collect(), horizons)
        };
        copies.finish(horizons).map(|(_, gauge)| gauge).collect()
    }

    /// These series as metrics show them, as far as they are there, by their ids.
    pub(crate) fn gauges_of<'a>(
        &self,
        ids: impl Iterator<Item = &'a str>,
        horizons: &[Duration],
    ) -> HashMap<Arc<str>, Gauge> {
        let copies = {
            let engine = self.engine();
            GaugeCopies::of(&engine, ids.filter_map(|id| engine.get(id)).collect(), horizons)
        };
        copies.finish(horizons).collect()
    }
}

/// Data of gauges, copied so that these can be made while the engine goes on.
struct GaugeCopies {
    /// Ids, metrics and last values.
    copies: Vec<(Arc<str>, Metric, f64)>,
    aheads: Aheads,
}

impl GaugeCopies {
    /// Copies entries, without forecasts while a model has samples to take: one from before them may have been told
    /// already.
    fn of(engine: &Engine, entries: Vec<&Entry>, horizons: &[Duration]) -> Self {
        let farthest = |step| leads(horizons, step).map(|(_, lead)| lead).max().unwrap_or(0);
        let current = entries.iter().filter(|entry| entry.is_current());
        let wanted = current.map(|entry| (&*entry.about.id, farthest(entry.about.step)));
        let aheads = Aheads::copy(engine, wanted.collect());
        let copy = |entry: &Entry| (Arc::clone(&entry.about.id), metric(entry), entry.last_value());
        Self { copies: entries.into_iter().map(copy).collect(), aheads }
    }

    fn finish(self, horizons: &[Duration]) -> impl Iterator<Item = (Arc<str>, Gauge)> {
        let aheads = self.aheads.finish();
        self.copies.into_iter().map(move |(id, metric, value)| {
            let ahead = aheads.get(&id);
            let bounds = ahead.into_iter().flat_map(|ahead| {
                let leads = leads(horizons, ahead.oracle.step);
                leads.map(|(horizon, lead)| (horizon, ahead.bounds(lead, Confidence::P95)))
            });
            let (bounds, origin) = (bounds.collect(), ahead.map(|ahead| ahead.oracle.origin));
            (id, Gauge { metric, value, origin, bounds })
        })
    }
}

/// Returns horizons and their leads, without those that are too many steps away.
fn leads(horizons: &[Duration], step: Duration) -> impl Iterator<Item = (Duration, usize)> {
    let leads = horizons.iter().map(move |horizon| (*horizon, to_steps(*horizon, step)));
    leads.filter(|(_, lead)| (*lead as u128) <= HORIZON_MAX)
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
