//! The series of an exporter that are kept, from scrape to scrape, and what they said at this one.

use std::{borrow::Cow, collections::HashMap, mem, sync::Arc, time::Duration};

use signal::{Family, Readings, Signal};

use super::{
    choice::Choice,
    described::{Named, Role},
    faults::Faults,
    growth::{Count, When},
    histogram::{Bucket, Buckets},
    name::{shown, write_id},
    settings::{ExporterSettings, ExporterSettingsError},
    text::{Needed, Sample},
};
use crate::SILENCE_MAX;

/// The name of the label that tells one exporter's signals from another's, as in Prometheus.
const INSTANCE: &str = "instance";

/// Series by their ids, as many as the settings allow. One that was kept stays kept until it was silent for
/// [`SILENCE_MAX`] and others need its place.
#[derive(Debug)]
pub(super) struct Kept {
    instance: Option<Arc<str>>,
    /// The choice of series that are never negative.
    non_negative: Option<Choice>,
    quantiles: Vec<f64>,
    n_signals_max: usize,
    series: Vec<Series>,
    by_id: HashMap<Arc<str>, usize>,
    /// The family that the signals of a name have in common, and the role of the series that they were made from.
    families: HashMap<String, (Role, Arc<Family>)>,
    n_signals: usize,
    n_left_out: usize,
    round: u64,
    /// When the last scrape was.
    at: Duration,
    /// Signals that were forgotten and are still to be told of.
    gone: Vec<Arc<Signal>>,
    /// Kept from sample to sample, so that looking one up allocates nothing for it.
    id: String,
}

#[derive(Debug)]
struct Series {
    role: Role,
    /// One, or one for each quantile.
    signals: Vec<Arc<Signal>>,
    created_s: Option<f64>,
    /// The last scrape that it was in.
    round: u64,
    /// When that was.
    at: Duration,
    meter: Meter,
}

/// The remembered state of a series, and its values at this scrape.
#[derive(Debug)]
enum Meter {
    Gauge { value: f64, at_s: Option<f64>, last_at_s: Option<f64> },
    Counter { now: Count, last: Option<Count> },
    Histogram { now: Buckets, when: When, last: Option<(Buckets, When)> },
}

/// Labels in the order of their names.
type Labels<'a> = Vec<(Cow<'a, str>, &'a str)>;

impl Kept {
    /// # Errors
    /// When a pattern cannot be read.
    pub(super) fn new(settings: &ExporterSettings) -> Result<Kept, ExporterSettingsError> {
        let patterns = Some(&settings.non_negative).filter(|patterns| !patterns.is_empty());
        Ok(Kept {
            non_negative: patterns.map(|patterns| Choice::parse(patterns)).transpose()?,
            instance: settings.name.as_deref().map(Arc::from),
            quantiles: settings.quantiles.clone(),
            n_signals_max: settings.n_signals_max,
            series: Vec::new(),
            by_id: HashMap::new(),
            families: HashMap::new(),
            n_signals: 0,
            n_left_out: 0,
            round: 0,
            at: Duration::ZERO,
            gone: Vec::new(),
            id: String::new(),
        })
    }

    /// Returns the number of signals that the last scrape offered beyond the greatest number.
    pub(super) fn n_left_out(&self) -> usize {
        self.n_left_out
    }

    /// Begins a scrape, `at` this moment.
    pub(super) fn begin(&mut self, at: Duration) {
        if self.n_left_out > 0 {
            self.forget_silent();
        }
        self.at = at;
        self.round += 1;
        self.n_left_out = 0;
    }

    /// Whether series of this role become signals by these settings.
    pub(super) fn wants(&self, role: Role) -> bool {
        !self.quantiles.is_empty() || !matches!(role, Role::Bucket | Role::GaugeBucket)
    }

    /// Takes one sample of the scrape.
    ///
    /// # Errors
    /// When it cannot be what its name says: says what it needs. What does not go with other samples is counted among
    /// `faults`.
    pub(super) fn take(
        &mut self,
        at: Duration,
        named: &Named<'_>,
        sample: &Sample<'_>,
        faults: &mut Faults,
    ) -> Result<(), Needed> {
        let mut labels: Labels<'_> =
            sample.labels.iter().map(|(name, value)| (Cow::Borrowed(*name), &**value)).collect();
        let upper = match named.role {
            Role::Bucket | Role::GaugeBucket => Some(take_upper(&mut labels)?),
            _ => None,
        };
        let instance = self.instance.clone();
        if let Some(instance) = &instance {
            add_label(&mut labels, INSTANCE, instance);
        }
        if named.role == Role::Created {
            self.note_creation(named, &labels, sample.value);
        } else if let Some(idx) = self.find_or_make(named, &labels, upper.is_none_or(f64::is_infinite), faults) {
            let is_first = self.series[idx].say(at, sample, upper, self.round);
            if !is_first {
                faults.doubled(&self.id);
            }
        }
        Ok(())
    }

    /// Ends the scrape: puts what it said into `readings`.
    pub(super) fn hand_out(&mut self, readings: &mut Readings, faults: &mut Faults) {
        let round = self.round;
        for series in self.series.iter_mut().filter(|series| series.round == round) {
            series.hand_out(&self.quantiles, readings, faults);
        }
        // One that came back with this very scrape is not gone.
        self.gone
            .drain(..)
            .filter(|signal| !self.by_id.contains_key(signal.id()))
            .for_each(|signal| readings.push_gone(signal));
        if self.n_left_out > 0 {
            faults.too_many(self.n_left_out, self.n_signals_max);
        }
    }

    /// Forgets what was silent for too long at the last scrape. Time without a scrape does not count: all are silent
    /// then.
    fn forget_silent(&mut self) {
        // Whoever had a signal of those that were forgotten before has let go of it.
        self.families.retain(|_, (_, family)| Arc::strong_count(family) > 1);
        let now = self.at;
        let mut places_left = 0..;
        let mut place = |series: &Series| {
            let stays = now.saturating_sub(series.at) < SILENCE_MAX;
            if stays { places_left.next() } else { None }
        };
        let places: Vec<Option<usize>> = self.series.iter().map(&mut place).collect();
        self.by_id.retain(|_, idx| places[*idx].inspect(|place| *idx = *place).is_some());
        for series in self.series.extract_if(.., |series| now.saturating_sub(series.at) >= SILENCE_MAX) {
            self.n_signals -= series.signals.len();
            self.gone.extend(series.signals);
        }
    }

    /// Writes `self.id` and finds its series. None if it is beyond the greatest number, or was something else before.
    fn find_or_make(
        &mut self,
        named: &Named<'_>,
        labels: &Labels<'_>,
        is_last_of_series: bool,
        faults: &mut Faults,
    ) -> Option<usize> {
        write_id(named.name, labels.iter().map(|(name, value)| (&**name, *value)), &mut self.id);
        if let Some(&idx) = self.by_id.get(self.id.as_str()) {
            let was = self.series[idx].role;
            if was != named.role {
                faults.type_changed(&self.id, was, named.role);
                return None;
            }
            return Some(idx);
        }
        let n_signals = if is_histogram(named.role) { self.quantiles.len() } else { 1 };
        if self.n_signals + n_signals > self.n_signals_max {
            self.n_left_out += if is_last_of_series { n_signals } else { 0 };
            return None;
        }
        let signals = self.signals(named, labels, faults)?;
        Some(self.keep(named.role, signals))
    }

    /// The signals of a series that is not kept yet. None if one of them is there, or if its family was something else
    /// before.
    fn signals(&mut self, named: &Named<'_>, labels: &Labels<'_>, faults: &mut Faults) -> Option<Vec<Arc<Signal>>> {
        let family = match self.families.get(named.name) {
            Some((was, _)) if *was != named.role => {
                faults.type_changed(&self.id, *was, named.role);
                return None;
            }
            Some((_, family)) => Arc::clone(family),
            None => {
                let mut family = named.signal_family();
                if self.non_negative.as_ref().is_some_and(|choice| choice.by_name(named.name, named.family).is_some()) {
                    family.range.min.get_or_insert(0.0);
                }
                let family = Arc::new(family);
                self.families.insert(named.name.to_owned(), (named.role, Arc::clone(&family)));
                family
            }
        };
        if !is_histogram(named.role) {
            return Some(vec![signal(family, self.id.as_str().into(), labels)]);
        }
        let mut id = String::new();
        let mut signals = Vec::with_capacity(self.quantiles.len());
        for quantile in &self.quantiles {
            let quantile = quantile.to_string();
            let mut labels = labels.clone();
            add_label(&mut labels, "quantile", &quantile);
            write_id(named.family, labels.iter().map(|(name, value)| (&**name, *value)), &mut id);
            if self.by_id.contains_key(id.as_str()) {
                faults.doubled(&id);
                return None;
            }
            signals.push(signal(Arc::clone(&family), id.as_str().into(), &labels));
        }
        Some(signals)
    }

    /// Keeps a series as the last one, under `self.id` and the ids of its signals. Returns its place.
    fn keep(&mut self, role: Role, signals: Vec<Arc<Signal>>) -> usize {
        let idx = self.series.len();
        self.n_signals += signals.len();
        self.by_id.insert(self.id.as_str().into(), idx);
        for signal in &signals {
            self.by_id.insert(Arc::clone(signal.id()), idx);
        }
        self.series.push(Series { role, signals, created_s: None, round: 0, at: self.at, meter: Meter::new(role) });
        idx
    }

    /// Remembers for the series of a family with these labels when they began to count.
    fn note_creation(&mut self, named: &Named<'_>, labels: &Labels<'_>, created_s: f64) {
        for suffix in ["", "_total", "_bucket", "_count", "_sum"] {
            let name = format!("{}{suffix}", named.family);
            write_id(&name, labels.iter().map(|(name, value)| (&**name, *value)), &mut self.id);
            if let Some(&idx) = self.by_id.get(self.id.as_str()) {
                self.series[idx].created_s = Some(created_s).filter(|created_s| created_s.is_finite());
            }
        }
    }
}

impl Series {
    /// Takes what a sample of it says. False if it said something at this scrape already.
    fn say(&mut self, at: Duration, sample: &Sample<'_>, upper: Option<f64>, round: u64) -> bool {
        let is_first = mem::replace(&mut self.round, round) != round;
        self.at = at;
        let stamp = When { at, at_s: sample.at_s, created_s: None };
        match &mut self.meter {
            Meter::Gauge { value, at_s, .. } if is_first => (*value, *at_s) = (sample.value, sample.at_s),
            Meter::Counter { now, .. } if is_first => *now = Count { value: sample.value, when: stamp },
            Meter::Histogram { now, when, .. } => {
                if is_first {
                    now.clear();
                    *when = stamp;
                }
                // One without a bound was refused before.
                upper.into_iter().for_each(|upper| now.push(Bucket { upper, count: sample.value }));
            }
            _ => return false,
        }
        true
    }

    fn hand_out(&mut self, quantiles: &[f64], readings: &mut Readings, faults: &mut Faults) {
        let signal = &self.signals[0];
        match &mut self.meter {
            Meter::Gauge { value, at_s, last_at_s } => {
                // Said at the same moment as the last one: it is the last one.
                let is_stale = at_s.is_some() && mem::replace(last_at_s, *at_s) == *at_s;
                readings.push_some(signal, Some(*value).filter(|_| !is_stale));
            }
            Meter::Counter { now, last } => {
                now.when.created_s = self.created_s;
                // What is no number says nothing of the counter.
                if now.value.is_finite() {
                    let rate = last.replace(*now).and_then(|last| now.rate_since(last));
                    readings.push_some(signal, rate);
                }
            }
            Meter::Histogram { now, when, last } => {
                when.created_s = self.created_s;
                if let Err(needed) = now.sort() {
                    faults.buckets(signal.id(), needed);
                    return;
                }
                let counted = match (self.role, &*last) {
                    (Role::GaugeBucket, _) => Some(now.clone()),
                    (_, Some((last, then))) => now.since(last, *when, *then),
                    (_, None) => None,
                };
                for (signal, quantile) in self.signals.iter().zip(quantiles) {
                    readings.push_some(signal, counted.as_ref().and_then(|counted| counted.quantile(*quantile)));
                }
                let (spare, _) = last.take().unwrap_or((Buckets::default(), *when));
                *last = Some((mem::replace(now, spare), *when));
            }
        }
    }
}

impl Meter {
    fn new(role: Role) -> Meter {
        let when = When { at: Duration::ZERO, at_s: None, created_s: None };
        match role {
            Role::Gauge | Role::Created => Meter::Gauge { value: f64::NAN, at_s: None, last_at_s: None },
            Role::Counter => Meter::Counter { now: Count { value: f64::NAN, when }, last: None },
            Role::Bucket | Role::GaugeBucket => Meter::Histogram { now: Buckets::default(), when, last: None },
        }
    }
}

fn is_histogram(role: Role) -> bool {
    matches!(role, Role::Bucket | Role::GaugeBucket)
}

/// Takes the upper bound of a bucket out of its labels.
fn take_upper(labels: &mut Labels<'_>) -> Result<f64, Needed> {
    let needed = Needed("a number as label `le` of a bucket");
    let place = labels.iter().position(|(name, _)| name == "le").ok_or(needed)?;
    let (_, upper) = labels.remove(place);
    upper.parse::<f64>().ok().filter(|upper| !upper.is_nan()).ok_or(needed)
}

/// Adds a label of ours. What the exporter called the same gets `exported_` before its name, as in Prometheus.
fn add_label<'a>(labels: &mut Labels<'a>, name: &'static str, value: &'a str) {
    if let Some(place) = labels.iter().position(|(taken, _)| taken == name) {
        let mut other = format!("exported_{name}");
        while labels.iter().any(|(taken, _)| *taken == other) {
            other.insert_str(0, "exported_");
        }
        labels[place].0 = Cow::Owned(other);
    }
    labels.push((Cow::Borrowed(name), value));
    labels.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
}

fn signal(family: Arc<Family>, id: Arc<str>, labels: &Labels<'_>) -> Arc<Signal> {
    let labels = labels.iter().map(|(name, value)| (Arc::from(&**name), Arc::from(&*shown(value))));
    Arc::new(Signal::made(family, id, labels.collect()))
}
