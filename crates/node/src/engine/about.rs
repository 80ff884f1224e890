//! The description of a series: its name, unit and family, apart from its samples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use signal::{FAMILIES, Family, Signal, Unit};
use units::Timestamp;
use warn::{ChangeMeasure, Comparison};

use crate::api;

/// The description of a series.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Its number in the store; never used twice.
    pub(crate) key: i64,
    pub(crate) id: Arc<str>,
    pub(crate) origin: Origin,
    pub(crate) step: Duration,
    pub(crate) created: Timestamp,
}

/// The source of the samples of a series.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A sensor.
    Sensor {
        /// The signal that the sensor measures.
        signal: Signal,
        /// The name of the feed that it is read by; `None` for the host itself.
        feed: Option<Arc<str>>,
    },
    /// A program.
    Pushed {
        /// The unit of the values.
        unit: Arc<str>,
        /// The meaning of the series.
        sentence: Arc<str>,
        /// The text of its model.
        model: Arc<str>,
    },
}

/// The condition that is looked for in a series without a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Concern {
    /// Whether it leaves its usual range.
    Usual,
    /// Whether it comes above a line that is known to be bad. What fills leaves its usual range every day.
    Above(f64),
    /// Another series says the same.
    Nothing,
}

/// The resource behind a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    pub(crate) resource: api::ProcessOrder,
    pub(crate) measure: ChangeMeasure,
    /// Whether the signal falls when more is used.
    pub(crate) is_what_is_left: bool,
    /// Whether the whole is that of the host, and not that of the processes which the node can see.
    pub(crate) is_of_host: bool,
}

/// A resource of which as much is used is about to fail somebody.
const FULL: f64 = 0.95;

/// The row of the sensor's table with this pattern.
pub(crate) fn family_of(pattern: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.pattern == pattern)
}

impl About {
    pub(crate) fn is_pushed(&self) -> bool {
        matches!(self.origin, Origin::Pushed { .. })
    }

    /// The feed that it is read by, where that is not the host itself.
    pub(crate) fn feed(&self) -> Option<&Arc<str>> {
        match &self.origin {
            Origin::Sensor { feed, .. } => feed.as_ref(),
            Origin::Pushed { .. } => None,
        }
    }

    /// Whether a sensor of this feed reads it; `None` stands for the host itself.
    pub(crate) fn is_fed_by(&self, feed: Option<&str>) -> bool {
        !self.is_pushed() && self.feed().map(|name| &**name) == feed
    }

    /// Returns the number of threads of an availability from which run times of tasks are forecast.
    pub(crate) fn n_threads(&self) -> Option<u32> {
        match &self.origin {
            Origin::Sensor { signal, feed: None } => match &*signal.family().pattern {
                "cpu.availability" => Some(1),
                "cpu.availability.{threads}" => signal.labels().first()?.1.parse().ok(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the condition that is looked for in the series if nobody has made a rule.
    pub(crate) fn concern(&self) -> Concern {
        let Origin::Sensor { signal, .. } = &self.origin else { return Concern::Usual };
        match &*signal.family().pattern {
            "filesystem.{mountpoint}.used" | "filesystem.{mountpoint}.inodes_used" => Concern::Above(FULL),
            "filesystem.{mountpoint}.available" => Concern::Nothing,
            _ => Concern::Usual,
        }
    }

    /// Returns the line beyond which the resource of the signal is as good as exhausted; `None` if there is no such
    /// resource, or its size is not known. `last_of` returns the last value of a series.
    pub(crate) fn exhausted_at(&self, last_of: impl Fn(&str) -> Option<f64>) -> Option<(Comparison, f64)> {
        let Origin::Sensor { signal, .. } = &self.origin else { return None };
        if let Concern::Above(line) = self.concern() {
            return Some((Comparison::Above, line));
        }
        match &*signal.family().pattern {
            "files.used" | "tasks.used" | "conntrack.used" => Some((Comparison::Above, FULL)),
            "battery.{battery}.charge" => Some((Comparison::Below, 1.0 - FULL)),
            "memory.available" => Some((Comparison::Below, (1.0 - FULL) * signal.range().max?)),
            "cgroup.memory.available" => {
                let limit = last_of(&format!("{}limit", self.id.strip_suffix("available")?))?;
                Some((Comparison::Below, (1.0 - FULL) * limit))
            }
            _ => None,
        }
    }

    /// Returns the resource of the host whose use by programs moves the signal; `None` if no program is known to move
    /// it.
    pub(crate) fn behind(&self) -> Option<Behind> {
        use api::ProcessOrder::{Cpu, Memory, Read, Written};
        let Origin::Sensor { signal, feed: None } = &self.origin else { return None };
        let pattern = &*signal.family().pattern;
        let (resource, measure) = match pattern.split('.').next()? {
            "memory" | "swap" => (Memory, ChangeMeasure::Slope),
            "load" => (Cpu, ChangeMeasure::Difference),
            // A file system fills by what is written to it.
            "filesystem" => (Written, ChangeMeasure::Mean),
            _ => match pattern {
                "cgroup.memory.available" | "cgroup.memory.used" => (Memory, ChangeMeasure::Slope),
                "pressure.memory.some" | "pressure.memory.full" => (Memory, ChangeMeasure::Difference),
                "disk.{device}.read" | "disk.{device}.reads" => (Read, ChangeMeasure::Difference),
                "disk.{device}.written" | "disk.{device}.writes" => (Written, ChangeMeasure::Difference),
                "cpu.busy"
                | "cpu.user"
                | "cpu.nice"
                | "cpu.system"
                | "cpu.idle"
                | "cgroup.cpu.used"
                | "cgroup.cpu.throttled"
                | "pressure.cpu.some"
                | "tasks.runnable" => (Cpu, ChangeMeasure::Difference),
                _ if pattern.starts_with("cpu.availability") && !pattern.ends_with(".cost") => {
                    (Cpu, ChangeMeasure::Difference)
                }
                _ => return None,
            },
        };
        let last = pattern.rsplit('.').next()?;
        let is_what_is_left = matches!(last, "available" | "free" | "idle") || pattern.starts_with("cpu.availability");
        let is_of_host = !pattern.starts_with("cgroup.");
        Some(Behind { resource, measure, is_what_is_left, is_of_host })
    }

    pub(crate) fn unit(&self) -> &str {
        match &self.origin {
            Origin::Sensor { signal, .. } => signal.family().unit.as_str(),
            Origin::Pushed { unit, .. } => unit,
        }
    }

    pub(crate) fn sentence(&self) -> &str {
        match &self.origin {
            Origin::Sensor { signal, .. } => &signal.family().sentence,
            Origin::Pushed { sentence, .. } => sentence,
        }
    }

    /// A pushed series can be anything, except that a ratio is a share whoever says so.
    pub(crate) fn range(&self) -> api::Range {
        match &self.origin {
            Origin::Sensor { signal, .. } => {
                let range = signal.range();
                api::Range { min: range.min, max: range.max }
            }
            Origin::Pushed { unit, .. } if &**unit == "ratio" => api::Range { min: Some(0.0), max: Some(1.0) },
            Origin::Pushed { .. } => api::Range::default(),
        }
    }

    /// The same by its samples as well, NaN for a gap: what somebody else measures may be a difference, so that an
    /// amount is taken to be none while it was never negative.
    pub(crate) fn range_of(&self, samples: impl IntoIterator<Item = f64>) -> api::Range {
        let range = self.range();
        let is_amount = || Unit::is_of_amounts(self.unit()) && !samples.into_iter().any(|sample| sample < 0.0);
        if range.min.is_none() && is_amount() { api::Range { min: Some(0.0), ..range } } else { range }
    }

    pub(crate) fn aliases(&self) -> Vec<String> {
        match &self.origin {
            Origin::Sensor { signal, .. } => signal.family().alias.into_iter().map(str::to_owned).collect(),
            Origin::Pushed { .. } => Vec::new(),
        }
    }

    pub(crate) fn kind(&self) -> api::Kind {
        match &self.origin {
            Origin::Sensor { signal, .. } if signal.family().kind == signal::Kind::Rate => api::Kind::Rate,
            _ => api::Kind::Gauge,
        }
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        match &self.origin {
            Origin::Sensor { signal, .. } => {
                signal.labels().iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
            }
            Origin::Pushed { .. } => BTreeMap::new(),
        }
    }

    /// The other host whose signal it is, where a stream of one is followed.
    pub(crate) fn host(&self) -> Option<&Arc<str>> {
        let Origin::Sensor { signal, .. } = &self.origin else { return None };
        let (_, host) = signal.labels().iter().find(|(name, _)| &**name == "host")?;
        // Exporters have labels of that name as well, in braces at the end of their ids.
        self.id.strip_prefix(&**host).is_some_and(|rest| rest.starts_with('/')).then_some(host)
    }

    /// Sorts by host, this one first; then by the sensors' table, then what is not in it, then pushed series. What has
    /// the same label stays together: all of `net.eth0` before all of `net.lo`, and `cpu.2` before `cpu.10`.
    pub(crate) fn place(&self) -> Place {
        let Origin::Sensor { signal, .. } = &self.origin else {
            let (block, row) = (usize::MAX, usize::MAX);
            return Place { host: None, block, number: None, label: None, row, id: Arc::clone(&self.id) };
        };
        let (family, host) = (signal.family(), self.host());
        let is_of_table = signal.is_listed() || host.is_some();
        let label = signal.labels().iter().find(|(name, _)| is_of_table && family.label_name() == Some(name));
        let label = label.map(|(_, value)| value);
        let row_of = |matches: &dyn Fn(&Family) -> bool| FAMILIES.iter().position(matches).unwrap_or(FAMILIES.len());
        let row = row_of(&|other| other.pattern == family.pattern);
        fn stem(family: &Family) -> Option<&str> {
            family.pattern.split('{').next()
        }
        let block = match label {
            Some(_) => row_of(&|other| other.label_name().is_some() && stem(other) == stem(family)),
            None => row,
        };
        let number = label.and_then(|label| label.parse().ok());
        Place { host: host.cloned(), block, number, label: label.cloned(), row, id: Arc::clone(&self.id) }
    }
}

/// Position of a series among all of them; fields in the order in which they count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    host: Option<Arc<str>>,
    block: usize,
    number: Option<u64>,
    label: Option<Arc<str>>,
    row: usize,
    id: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(pattern: &str, label: Option<&str>) -> Place {
        about(pattern, label).place()
    }

    fn about(pattern: &str, label: Option<&str>) -> About {
        let family = FAMILIES.iter().find(|family| family.pattern == pattern).expect("the pattern is in the table");
        let signal = Signal::listed(family, label.map(Into::into));
        let id = Arc::clone(signal.id());
        let origin = Origin::Sensor { signal, feed: None };
        About { key: 0, id, origin, step: Duration::from_secs(1), created: Timestamp::from_nanos(0) }
    }

    #[test]
    fn series_stand_in_the_order_of_the_table() {
        let in_order = [
            place("cpu.availability.vmstat", None),
            place("load.1m", None),
            place("load.15m", None),
            place("cpu.busy", None),
            place("memory.available", None),
        ];
        assert!(in_order.is_sorted());
    }

    #[test]
    fn of_a_file_system_it_is_looked_whether_it_is_full() {
        let concern = |pattern: &str, label| about(pattern, label).concern();
        assert_eq!(concern("filesystem.{mountpoint}.used", Some("/")), Concern::Above(FULL));
        assert_eq!(concern("filesystem.{mountpoint}.available", Some("/")), Concern::Nothing);
        assert_eq!(concern("load.1m", None), Concern::Usual);
    }

    #[test]
    fn a_resource_whose_size_is_not_known_is_never_exhausted() {
        let line = |pattern, label| about(pattern, label).exhausted_at(|_| None).map(|(comparison, _)| comparison);
        assert_eq!(line("conntrack.used", None), Some(Comparison::Above));
        assert_eq!(line("battery.{battery}.charge", Some("BAT0")), Some(Comparison::Below));
        assert_eq!((line("memory.available", None), line("load.1m", None)), (None, None));
        let sized = Arc::unwrap_or_clone(Signal::only(family_of("memory.available").unwrap())).up_to(200.0);
        let origin = Origin::Sensor { signal: sized, feed: None };
        let (comparison, line) = About { origin, ..about("load.1m", None) }.exhausted_at(|_| None).unwrap();
        assert!(comparison == Comparison::Below && (line - 10.0).abs() < 1e-9, "{line}");
        let limit = |id: &str| (id == "cgroup.memory.limit").then_some(100.0);
        let (_, line) = about("cgroup.memory.available", None).exhausted_at(limit).unwrap();
        assert!((line - 5.0).abs() < 1e-9, "{line}");
    }

    #[test]
    fn another_host_s_signals_stand_together_after_our_own() {
        let of_host = |host: &str, pattern: &str, core: Option<&str>| {
            let family = FAMILIES.iter().find(|family| family.pattern == pattern).expect("the pattern is in the table");
            let name = pattern.replace("{core}", core.unwrap_or_default());
            let id: Arc<str> = format!("{host}/{name}").into();
            let labels = [("host", Some(host)), ("core", core)];
            let labels = labels.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into()))).collect();
            let signal = Signal::made(Arc::new(family.clone()), Arc::clone(&id), labels);
            let origin = Origin::Sensor { signal, feed: Some("follow".into()) };
            About { key: 0, id, origin, step: Duration::from_secs(1), created: Timestamp::from_nanos(0) }.place()
        };
        let in_order = [
            place("memory.available", None),
            of_host("a", "load.1m", None),
            of_host("a", "cpu.{core}.busy", Some("2")),
            of_host("a", "cpu.{core}.busy", Some("10")),
            of_host("b", "load.1m", None),
        ];
        assert!(in_order.is_sorted());
    }

    #[test]
    fn what_has_the_same_label_stays_together() {
        let in_order = [
            place("cpu.{core}.busy", Some("2")),
            place("cpu.{core}.user", Some("2")),
            place("cpu.{core}.busy", Some("10")),
            place("net.{interface}.received", Some("eth0")),
            place("net.{interface}.sent", Some("eth0")),
            place("net.{interface}.received", Some("lo")),
        ];
        assert!(in_order.is_sorted());
    }
}
