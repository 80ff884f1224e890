//! One signal as `top` knows it: what it is, what it was, what it is to be.

use std::collections::VecDeque;
use std::time::Duration;

use node_api as api;
use text::printable;
use units::Timestamp;

use super::band::{Band, Point};

/// Samples kept of each signal: as wide as the widest terminal, and ten minutes of a signal each second.
pub const HISTORY_MAX: usize = 600;

/// A signal. Its texts are printable.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The id of the signal at the node, for requests only.
    pub id: String,
    /// The name that people see.
    pub name: String,
    /// Whether it is of a single core.
    pub is_of_core: bool,
    /// Whether any sample was something else than zero.
    pub has_moved: bool,
    pub aliases: Vec<String>,
    /// The other host that it is of, where the node follows one's stream.
    pub host: Option<String>,
    pub unit: String,
    /// The range of the quantity.
    pub range: api::Range,
    pub sentence: String,
    pub model: String,
    pub step_seconds: f64,
    /// The longest horizon that its own model answers.
    pub near_seconds: f64,
    /// Oldest first; NaN in a gap.
    pub history: VecDeque<f64>,
    /// The moment of the newest sample.
    pub time: Option<Timestamp>,
    pub forecast: Option<api::LeadForecast>,
}

impl Row {
    pub fn new(series: &api::Series) -> Self {
        let mut row = Self {
            id: series.id.clone(),
            name: String::new(),
            is_of_core: series.source == api::Source::Sensor && series.labels.contains_key("core"),
            has_moved: series.last.is_some_and(|last| last.value.is_some_and(is_nonzero)),
            aliases: Vec::new(),
            host: None,
            unit: String::new(),
            range: api::Range::default(),
            sentence: String::new(),
            model: String::new(),
            step_seconds: series.step_seconds,
            near_seconds: series.near_seconds,
            history: VecDeque::new(),
            time: None,
            forecast: None,
        };
        row.describe(series);
        row
    }

    /// Takes over what may have changed since.
    pub fn describe(&mut self, series: &api::Series) {
        self.name = printable(&series.id);
        self.aliases = series.aliases.iter().map(|alias| printable(alias)).collect();
        // An exporter's label of that name is in braces at the end of the id.
        let is_of = |host: &&String| series.id.strip_prefix(host.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.host = series.labels.get("host").filter(is_of).map(|host| printable(host));
        self.unit = printable(&series.unit);
        self.range = series.range;
        self.sentence = printable(&series.sentence);
        self.model = match &series.model_speaking {
            Some(speaking) => printable(&format!("{}: {speaking}", series.model)),
            None => printable(&series.model),
        };
        self.step_seconds = series.step_seconds;
        self.near_seconds = series.near_seconds;
    }

    /// Takes a history over in place of the one it has. Means over several steps are none.
    pub fn set_history(&mut self, samples: &api::Samples) {
        if samples.step_seconds != self.step_seconds {
            return;
        }
        let Some(last) = samples.values.len().checked_sub(1) else { return };
        let skipped = samples.values.len().saturating_sub(HISTORY_MAX);
        self.history = samples.values.iter().skip(skipped).map(|value| value.unwrap_or(f64::NAN)).collect();
        self.has_moved |= self.history.iter().any(|value| is_nonzero(*value));
        self.time = Some(node_api::moment(samples.start, samples.step_seconds, last));
    }

    /// Takes the sample of `time`, with gaps for those that were left out. One that it has is passed over.
    pub fn push(&mut self, time: Timestamp, value: Option<f64>) {
        let n_new = match self.time {
            None => 1,
            Some(newest) if time <= newest => return,
            Some(newest) => (time.saturating_since(newest).as_secs_f64() / self.step_seconds).round() as usize,
        };
        let n_gaps = n_new.saturating_sub(1).min(HISTORY_MAX);
        self.history.extend(std::iter::repeat_n(f64::NAN, n_gaps));
        self.history.push_back(value.unwrap_or(f64::NAN));
        self.has_moved |= value.is_some_and(is_nonzero);
        self.history.drain(..self.history.len().saturating_sub(HISTORY_MAX));
        self.time = Some(time);
    }

    /// Time between two samples.
    pub fn step(&self) -> Duration {
        Duration::try_from_secs_f64(self.step_seconds).unwrap_or_default()
    }

    /// The newest value; `None` in a gap and before the first.
    pub fn value(&self) -> Option<f64> {
        self.history.back().copied().filter(|value| !value.is_nan())
    }

    pub fn band(&self) -> Band {
        self.forecast.as_ref().map(|forecast| Band::from_leads(self.value(), forecast)).unwrap_or_default()
    }

    /// The forecast at exactly this lead, in steps.
    pub fn ahead(&self, lead: usize) -> Option<Point> {
        self.forecast.as_ref()?.leads.contains(&lead).then(|| self.band().at(lead as f64)).flatten()
    }

    /// Half the width of the interval, as a share of the value itself.
    pub fn uncertainty(&self, lead: usize) -> Option<f64> {
        let ahead = self.ahead(lead)?;
        Some(relative((ahead.upper - ahead.lower) / 2.0, ahead.mean, self.value()))
    }

    /// Returns the distance of the mean from the value now, as a share of the value itself; always positive.
    pub fn change(&self, lead: usize) -> Option<f64> {
        let ahead = self.ahead(lead)?;
        Some(relative((ahead.mean - self.value()?).abs(), ahead.mean, self.value()))
    }
}

fn is_nonzero(value: f64) -> bool {
    !value.is_nan() && value != 0.0
}

/// Returns `part` as a share of the mean or of the value, whichever is larger in size. 0 if both are 0: a signal that
/// is and stays 0 sorts last.
fn relative(part: f64, mean: f64, value: Option<f64>) -> f64 {
    let whole = mean.abs().max(value.unwrap_or(0.0).abs());
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::sample::series;
    use super::*;

    const START: Timestamp = Timestamp::from_nanos(0);

    #[test]
    fn samples_that_were_left_out_are_gaps() {
        let mut row = Row::new(&series("load.1m", "tasks"));
        row.push(START, Some(1.0));
        row.push(START + Duration::from_secs(3), Some(2.0));
        row.push(START + Duration::from_secs(3), Some(9.0));
        assert_eq!(row.history.len(), 4);
        assert_eq!(row.history.iter().filter(|value| value.is_nan()).count(), 2);
        assert_eq!(row.value(), Some(2.0));
    }

    #[test]
    fn history_has_an_end() {
        let mut row = Row::new(&series("load.1m", "tasks"));
        row.push(START, Some(1.0));
        row.push(START + Duration::from_secs(1_000_000), None);
        assert_eq!(row.history.len(), HISTORY_MAX);
        assert_eq!(row.value(), None);
    }

    #[test]
    fn a_name_from_outside_is_made_printable() {
        let row = Row::new(&series("a\x1b[2J", "b\x07"));
        assert_eq!((row.name.as_str(), row.unit.as_str()), ("a\u{fffd}[2J", "b\u{fffd}"));
    }
}
