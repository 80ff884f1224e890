//! Makes chunks of what ticks say, and puts them into the buffer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use prometheus::proto::{MetricFamily, MetricType};
use remote_write::{Chunk, Kind};
use signal::Selection;
use units::Timestamp;

use super::{Remote, RemoteWrite};
use crate::exposition::Families;
use crate::hub::{Gauge, Hub, Metric, Tick};
use crate::outage::Outage;

/// Chunks are this far apart at least, so that 100 ticks a second do not make 100 transactions.
const PUT_EVERY: Duration = Duration::from_secs(1);

/// Time to wait after a failed write, as the store does.
const RETRY_EVERY: Duration = Duration::from_secs(3);

/// Names that are remembered at most; then all are looked up anew.
const N_NAMED_MAX: usize = 10_000;

pub(super) struct Collector {
    hub: Arc<Hub>,
    remote: Arc<Remote>,
    select: Selection,
    horizons: Vec<Duration>,
    yhat: bool,
    forecast_every: Duration,
    labels: Vec<(String, String)>,
    /// The most samples of a chunk, about.
    n_samples: usize,
    named: HashMap<Arc<str>, Named>,
    /// Families that the server was told of.
    described: HashSet<String>,
    /// The round in which the node told of itself last.
    own: Option<Timestamp>,
    /// The outage of the server.
    outage: Outage,
}

/// The name of a signal, and the state of what was written about it.
struct Named {
    /// `None` for a signal that is not to be written.
    metric: Option<Metric>,
    /// The round in which it was forecast last, a whole multiple of the time between forecasts.
    round: Option<Timestamp>,
    /// The moment of the last forecast that was written.
    origin: Option<Timestamp>,
    has_gap: bool,
}

impl Collector {
    pub(super) fn new(wanted: &RemoteWrite, remote: Arc<Remote>, hub: Arc<Hub>) -> Self {
        let mut labels = wanted.labels.clone();
        labels.entry("job".to_owned()).or_insert_with(|| "foretop".to_owned());
        labels.entry("instance".to_owned()).or_insert_with(|| hub.info().host);
        Self {
            hub,
            remote,
            select: wanted.select.clone(),
            horizons: wanted.horizons.clone(),
            yhat: wanted.yhat,
            forecast_every: wanted.forecast_every,
            labels: labels.into_iter().collect(),
            n_samples: wanted.settings.batch_samples,
            named: HashMap::new(),
            described: HashSet::new(),
            own: None,
            outage: Outage::default(),
        }
    }

    /// Collects until the outlet stops.
    pub(super) fn run(&mut self) {
        let what = format!("remote write {}", self.remote.name);
        while let Some(ticks) = self.remote.outlet.take() {
            let mut chunk = Chunk::default();
            for tick in &ticks {
                self.collect(tick, &mut chunk);
                if chunk.n_samples() >= self.n_samples {
                    self.put(std::mem::take(&mut chunk));
                }
            }
            self.put(chunk);
            self.outage.note(&what, self.remote.writer.status().problem.as_deref());
            self.remote.outlet.pause(PUT_EVERY);
        }
    }

    /// Puts a chunk into the buffer, again and again if need be; given up when the node stops meanwhile.
    fn put(&self, chunk: Chunk) {
        while let Err(error) = self.remote.writer.put(&chunk) {
            let problem = text::with_causes(&error);
            tracing::warn!(remote = &*self.remote.name, problem, "samples cannot be put into the buffer");
            self.remote.note(Some(problem));
            if self.remote.outlet.pause(RETRY_EVERY) {
                self.remote.outlet.give_up(chunk.n_samples() as u64);
                return;
            }
        }
        self.remote.note(None);
    }

    fn collect(&mut self, tick: &Tick, chunk: &mut Chunk) {
        let round = tick.time.floor_to(self.forecast_every);
        if self.named.len() > N_NAMED_MAX {
            self.named.clear();
        }
        let is_due =
            |id: &&Arc<str>| self.named.get(*id).is_none_or(|named| named.round.is_none_or(|last| round > last));
        let due: Vec<&Arc<str>> = tick.values.iter().map(|(id, _)| id).filter(is_due).collect();
        let chosen = due.iter().map(|id| &***id).filter(|id| self.select.takes(id));
        let mut gauges = self.hub.gauges_of(chosen, &self.horizons);
        for id in due {
            self.name(id, round, gauges.remove(id), chunk);
        }
        for (id, value) in &tick.values {
            self.collect_signal(id, tick.time, *value, chunk);
        }
        if self.own.is_none_or(|own| round > own) {
            self.own = Some(round);
            let mut families = Families::default();
            families.add_warnings(&self.hub.warnings());
            families.add_node(&self.hub.counters());
            self.hub.remote_counters().iter().for_each(|remote| families.add_remote(remote));
            families.add_process();
            self.push_families(families.finish(), tick.time, chunk);
        }
    }

    fn collect_signal(&mut self, id: &Arc<str>, time: Timestamp, value: f64, chunk: &mut Chunk) {
        let Some(named) = self.named.get_mut(id) else { return };
        let Some(metric) = &named.metric else { return };
        let labels = metric.labels.iter().map(|(name, value)| (&**name, &**value));
        let labels = with_own(labels, &self.labels);
        let labels = labels.iter().map(|(name, value)| (&**name, *value));
        if !value.is_nan() {
            chunk.push(&metric.name, labels, time, value);
        } else if !named.has_gap {
            chunk.push_gap(&metric.name, labels, time);
        }
        named.has_gap = value.is_nan();
    }

    /// Notes what a signal is called, because another may go by its id meanwhile, and writes its forecast. `gauge` is
    /// `None` for a signal that is not to be written.
    fn name(&mut self, id: &Arc<str>, round: Timestamp, gauge: Option<Gauge>, chunk: &mut Chunk) {
        let before = self.named.remove(id);
        let mut named = Named {
            metric: gauge.as_ref().map(|gauge| gauge.metric.clone()),
            round: Some(round),
            origin: before.as_ref().and_then(|named| named.origin),
            has_gap: before.is_some_and(|named| named.has_gap),
        };
        if let Some(mut gauge) = gauge {
            // The value goes with its own tick, which may be another than the one that the forecast starts from.
            gauge.value = f64::NAN;
            let is_later = |origin: &Timestamp| named.origin.is_none_or(|last| *origin > last);
            if let Some(origin) = gauge.origin.filter(is_later) {
                named.origin = Some(origin);
                let mut families = Families::new(self.yhat);
                families.add_signal(&gauge);
                self.push_families(families.finish(), origin, chunk);
            }
            if self.described.insert(gauge.metric.name.to_string()) {
                chunk.describe(&gauge.metric.name, Kind::Gauge, &gauge.metric.help);
            }
        }
        self.named.insert(Arc::clone(id), named);
    }

    fn push_families(&mut self, families: Vec<MetricFamily>, time: Timestamp, chunk: &mut Chunk) {
        for family in &families {
            let is_counter = family.get_field_type() == MetricType::COUNTER;
            if self.described.insert(family.name().to_owned()) {
                chunk.describe(family.name(), if is_counter { Kind::Counter } else { Kind::Gauge }, family.help());
            }
            for metric in family.get_metric() {
                let value = if is_counter { metric.get_counter().get_value() } else { metric.get_gauge().get_value() };
                let labels = metric.get_label().iter().map(|label| (label.name(), label.value()));
                let labels = with_own(labels, &self.labels);
                chunk.push(family.name(), labels.iter().map(|(name, value)| (&**name, *value)), time, value);
            }
        }
    }
}

/// Labels with those of every series. What a signal calls the same gets `exported_` before its name, as where
/// Prometheus scrapes.
fn with_own<'a>(
    labels: impl Iterator<Item = (&'a str, &'a str)>,
    own: &'a [(String, String)],
) -> Vec<(Cow<'a, str>, &'a str)> {
    let mut all: Vec<(Cow<'a, str>, &'a str)> = labels.map(|(name, value)| (name.into(), value)).collect();
    for (name, value) in own {
        if let Some(place) = all.iter().position(|(taken, _)| taken == name) {
            let mut other = format!("exported_{name}");
            while all.iter().any(|(taken, _)| *taken == other) {
                other.insert_str(0, "exported_");
            }
            all[place].0 = other.into();
        }
        all.push((name.as_str().into(), value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_every_series_has_is_exported_where_the_signal_has_it() {
        let own = [("instance".to_owned(), "db1".to_owned())];
        let labels = [("instance", "a"), ("exported_instance", "b"), ("job", "c")];
        let all = with_own(labels.into_iter(), &own);
        let all: Vec<(&str, &str)> = all.iter().map(|(name, value)| (&**name, *value)).collect();
        assert_eq!(
            all,
            [("exported_exported_instance", "a"), ("exported_instance", "b"), ("job", "c"), ("instance", "db1")]
        );
    }
}
