//! What a series is: its name, unit and family, apart from its samples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sensor::{FAMILIES, Family, Signal};
use units::Timestamp;

use crate::api;

/// What a series is.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Its number in the store; never used twice.
    pub(crate) key: i64,
    pub(crate) id: Arc<str>,
    pub(crate) origin: Origin,
    pub(crate) step: Duration,
    pub(crate) created: Timestamp,
}

/// Where the samples of a series come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// The host, through a sensor.
    Sensor {
        /// Its row in the table.
        family: &'static Family,
        /// What of the family it is: `eth0`.
        label: Option<Arc<str>>,
    },
    /// A program.
    Pushed {
        /// What the values count.
        unit: Arc<str>,
        /// What it means.
        sentence: Arc<str>,
        /// The text of its model.
        model: Arc<str>,
    },
}

impl Origin {
    pub(crate) fn of(signal: &Signal) -> Self {
        Self::Sensor { family: signal.family(), label: signal.label().cloned() }
    }
}

/// The row of the sensor's table with this pattern.
pub(crate) fn family_of(pattern: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.pattern == pattern)
}

impl About {
    pub(crate) fn is_pushed(&self) -> bool {
        matches!(self.origin, Origin::Pushed { .. })
    }

    pub(crate) fn unit(&self) -> &str {
        match &self.origin {
            Origin::Sensor { family, .. } => family.unit.as_str(),
            Origin::Pushed { unit, .. } => unit,
        }
    }

    pub(crate) fn sentence(&self) -> &str {
        match &self.origin {
            Origin::Sensor { family, .. } => family.sentence,
            Origin::Pushed { sentence, .. } => sentence,
        }
    }

    /// A pushed series can be anything, except that a ratio is a share whoever says so.
    pub(crate) fn range(&self) -> api::Range {
        match &self.origin {
            Origin::Sensor { family, .. } => api::Range { min: family.range.min, max: family.range.max },
            Origin::Pushed { unit, .. } if &**unit == "ratio" => api::Range { min: Some(0.0), max: Some(1.0) },
            Origin::Pushed { .. } => api::Range::default(),
        }
    }

    pub(crate) fn aliases(&self) -> Vec<String> {
        match &self.origin {
            Origin::Sensor { family, .. } => family.alias.into_iter().map(str::to_owned).collect(),
            Origin::Pushed { .. } => Vec::new(),
        }
    }

    pub(crate) fn kind(&self) -> api::Kind {
        match &self.origin {
            Origin::Sensor { family, .. } if family.kind == sensor::Kind::Rate => api::Kind::Rate,
            _ => api::Kind::Gauge,
        }
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        match &self.origin {
            Origin::Sensor { family, label: Some(label) } => {
                family.label_name().map(|name| (name.to_owned(), label.to_string())).into_iter().collect()
            }
            _ => BTreeMap::new(),
        }
    }

    /// Sorts the sensors' table first, in its own order and `cpu.2` before `cpu.10`, and pushed series after it.
    pub(crate) fn place(&self) -> (usize, u64, Arc<str>) {
        match &self.origin {
            Origin::Sensor { family, label } => {
                let row = FAMILIES.iter().position(|other| std::ptr::eq(other, *family)).unwrap_or(FAMILIES.len());
                let number = label.as_ref().and_then(|label| label.parse().ok()).unwrap_or(u64::MAX);
                (row, number, Arc::clone(&self.id))
            }
            Origin::Pushed { .. } => (usize::MAX, u64::MAX, Arc::clone(&self.id)),
        }
    }
}
