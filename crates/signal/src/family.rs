//! A family of signals: its name, unit, kind, meaning and range.

use std::{borrow::Cow, sync::Arc};

use crate::FAMILIES;

/// A family of signals: a row of the table, or what somebody else offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The id of the family's signals if the family is in the table, with at most one label in braces:
    /// `net.{interface}.received`. Otherwise the name that all its signals share.
    pub pattern: Cow<'static, str>,
    /// The unit of the values.
    pub unit: Unit,
    /// Whether a value is read as it is or is a difference over time.
    pub kind: Kind,
    /// The meaning of the signal, in one sentence for people.
    pub sentence: Cow<'static, str>,
    /// The range of the quantity, both ends included.
    pub range: Range,
    /// A short id that stands for this one.
    pub alias: Option<&'static str>,
}

/// The unit of the values of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share, 0 to 1.
    Ratio,
    /// Processes and threads.
    Tasks,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Packets per second.
    PacketsPerSecond,
    /// Input and output operations per second.
    OperationsPerSecond,
    /// Cores of a CPU, in fractions where only part of one is used.
    Cores,
    /// Degrees Celsius.
    Celsius,
    /// Revolutions per minute.
    RevolutionsPerMinute,
    /// Watts.
    Watts,
    /// A count of things that the signal's name states.
    Count,
    /// The unit of somebody else's quantity, as in `celsius` or `requests/s`; empty where that is not known.
    Named(Arc<str>),
}

/// Whether a value is read as it is or is a difference over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Read as it is.
    Gauge,
    /// The difference of a counter between two reads, over the time between them.
    Rate,
}

/// The range of a quantity, both ends included; `None` where there is no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least possible value.
    pub min: Option<f64>,
    /// The greatest possible value.
    pub max: Option<f64>,
}

impl Range {
    pub(crate) const SHARE: Range = Range { min: Some(0.0), max: Some(1.0) };
    pub(crate) const NOT_NEGATIVE: Range = Range { min: Some(0.0), max: None };
    pub(crate) const ANY: Range = Range { min: None, max: None };

    /// `value`, or the end of the range that it lies beyond.
    #[must_use]
    pub fn cut(self, value: f64) -> f64 {
        let low = self.min.map_or(value, |min| value.max(min));
        self.max.map_or(low, |max| low.min(max))
    }
}

impl Unit {
    /// The unit as the HTTP interface writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Unit::Ratio => "ratio",
            Unit::Tasks => "tasks",
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Seconds => "seconds",
            Unit::PacketsPerSecond => "packets/s",
            Unit::OperationsPerSecond => "operations/s",
            Unit::Cores => "cores",
            Unit::Celsius => "celsius",
            Unit::RevolutionsPerMinute => "rpm",
            Unit::Watts => "watts",
            Unit::Count => "",
            Unit::Named(name) => name,
        }
    }

    /// Whether what is counted in a unit of this name is an amount, which is never negative unless it is a difference
    /// of two.
    #[must_use]
    pub fn is_of_amounts(name: &str) -> bool {
        let counted = name.strip_suffix("/s").unwrap_or(name);
        const COUNTED: [&str; 14] = [
            "bytes",
            "seconds",
            "packets",
            "operations",
            "tasks",
            "cores",
            "requests",
            "errors",
            "percent",
            "%",
            "connections",
            "messages",
            "jobs",
            "events",
        ];
        COUNTED.contains(&counted)
    }

    /// The unit as the end of a metric's name: `bytes_per_second`.
    #[must_use]
    pub fn metric_suffix(&self) -> String {
        let spelled = self.as_str().replace("/s", "_per_second");
        spelled.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
    }
}

impl Kind {
    /// The kind as the HTTP interface writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Gauge => "gauge",
            Kind::Rate => "rate",
        }
    }
}

impl Family {
    /// The name of the metric: `foretop_net_received_bytes_per_second`.
    ///
    /// The label is left out of the name, unless that is how another family is called: `cpu.{core}.busy` is
    /// `foretop_cpu_core_busy_ratio` because `cpu.busy` is `foretop_cpu_busy_ratio`. A unit that the name has anyway
    /// is not said twice: `received_packets_per_second`, `tasks_runnable`. The name of a family from elsewhere may have
    /// characters that no server reads; [`metric_name`](crate::metric_name) replaces them.
    #[must_use]
    pub fn metric_name(&self) -> String {
        let mut words = self.words(false);
        if self.label_name().is_some() && FAMILIES.iter().any(|other| other.pattern == words.join(".")) {
            words = self.words(true);
        }
        let name = words.join("_");
        let suffix = self.unit.metric_suffix();
        if suffix.is_empty() || words.contains(&suffix.as_str()) {
            return format!("foretop_{name}");
        }
        let counted = suffix.split('_').next().unwrap_or_default();
        let stem = name.strip_suffix(counted).and_then(|stem| stem.strip_suffix('_')).unwrap_or(&name);
        format!("foretop_{stem}_{suffix}")
    }

    /// The name of the label, if the family has one: `interface` of `net.{interface}.received`.
    #[must_use]
    pub fn label_name(&self) -> Option<&str> {
        let (_, rest) = self.pattern.split_once('{')?;
        rest.split_once('}').map(|(name, _)| name)
    }

    /// Whether no value is above the number that stands for the label: so many threads never get more cores than they
    /// are.
    pub(crate) fn is_up_to_label(&self) -> bool {
        self.pattern == "cpu.availability.{threads}"
    }

    /// Returns the text in `id` at the place of the pattern's label.
    pub(crate) fn label_in<'a>(&self, id: &'a str) -> Option<&'a str> {
        let (before, rest) = self.pattern.split_once('{')?;
        let (_, after) = rest.split_once('}')?;
        id.strip_prefix(before)?.strip_suffix(after).filter(|label| !label.is_empty())
    }

    /// The words of the pattern between the dots, with or without the label's name as one of them.
    fn words(&self, with_label: bool) -> Vec<&str> {
        let is_label = |word: &&str| word.starts_with('{');
        let words = self.pattern.split('.').filter(|word| with_label || !is_label(word));
        words.map(|word| word.trim_matches(['{', '}'])).collect()
    }
}
