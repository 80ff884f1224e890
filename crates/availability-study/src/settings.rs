//! Settings of a study: which scenarios, for how long, with tests of which length.

use std::time::Duration;

use sensor::HybridSettings;
use serde::{Deserialize, Serialize};
use units::span;

/// Settings of a study. Written into the journal, and a study that is taken up again has to have the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names of the load scenarios, in the order in which they are visited.
    pub scenarios: Vec<String>,
    /// Seed from which loads and demands are drawn.
    pub seed: u64,
    /// Time that all of it may take.
    #[serde(rename = "total_seconds", with = "seconds")]
    pub total: Duration,
    /// Time that one visit to a scenario is meant to take; the number of rounds follows from it.
    #[serde(rename = "visit_seconds", with = "seconds")]
    pub visit: Duration,
    /// Number of visits to every scenario; from `total` and `visit` where it is not given.
    pub rounds: Option<u32>,
    /// Time that a short test process spins.
    #[serde(rename = "short_seconds", with = "seconds")]
    pub short: Duration,
    /// Time that a long test process spins.
    #[serde(rename = "long_seconds", with = "seconds")]
    pub long: Duration,
    /// The share of the time that may go into long tests, 0 to 1.
    pub long_share: f64,
    /// Time that the load of a scenario runs before the first test.
    #[serde(rename = "warm_up_seconds", with = "seconds")]
    pub warm_up: Duration,
    /// Time without a test before the next one starts.
    #[serde(rename = "rest_seconds", with = "seconds")]
    pub rest: Duration,
    /// Time between two readings of the sensors.
    #[serde(rename = "step_seconds", with = "seconds")]
    pub step: Duration,
    /// Time over which the averaged series is averaged.
    #[serde(rename = "average_seconds", with = "seconds")]
    pub average: Duration,
    /// Time between two probes of the hybrid sensor.
    #[serde(rename = "probe_every_seconds", with = "seconds")]
    pub probe_every: Duration,
    /// Length of a probe.
    #[serde(rename = "probe_for_seconds", with = "seconds")]
    pub probe_for: Duration,
    /// Time between two measurements of the hybrid sensor.
    #[serde(rename = "measure_every_seconds", with = "seconds")]
    pub measure_every: Duration,
    /// Whether this is a rehearsal, whose tests are too short to say anything.
    pub is_quick: bool,
}

/// Settings that make no study. Each message says what would.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Nothing to visit.
    #[error("no scenario is given: name at least one")]
    NoScenario,
    /// There is none of this name.
    #[error("there is no scenario `{given}`: there are {}", .known.join(", "))]
    UnknownScenario {
        /// The name that was given.
        given: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// The same one twice.
    #[error("the scenario `{given}` is given twice: each is visited once per round")]
    SameScenario {
        /// Its name.
        given: String,
    },
    /// No share.
    #[error("a share of {given} for long tests is out of range: it must be 0 to 0.9")]
    LongShare {
        /// The share given.
        given: f64,
    },
    /// A length of time that is too short.
    #[error("{what} of {} is too short: it must be {} or longer", span::format(*.given), span::format(*.least))]
    TooShort {
        /// The span that is too short.
        what: &'static str,
        /// The length given.
        given: Duration,
        /// The least that is possible.
        least: Duration,
    },
    /// A short test would never fit between two probes of the hybrid sensor.
    #[error(
        "a test of {} does not fit between two probes {} apart: it must be {} or shorter",
        span::format(*.given), span::format(*.probe_every), span::format(*.most)
    )]
    ShortTooLong {
        /// The length given.
        given: Duration,
        /// Time between two probes of the hybrid sensor.
        probe_every: Duration,
        /// The longest that fits.
        most: Duration,
    },
    /// Not even one test for each scenario.
    #[error(
        "{} is not enough for {n_visits} visits with a test in each: they take {}",
        span::format(*.given), span::format(*.needed)
    )]
    TooLittleTime {
        /// The time given.
        given: Duration,
        /// Number of visits that are planned.
        n_visits: usize,
        /// The least time that the visits take.
        needed: Duration,
    },
}

impl Settings {
    /// The study as published, for a day: tests of 10 seconds and of 5 minutes, a probe each minute.
    #[must_use]
    pub fn full() -> Settings {
        let HybridSettings { measure_every, probe_every, probe_for } = HybridSettings::default();
        Settings {
            scenarios: workload::SCENARIOS.iter().map(|scenario| scenario.name().to_owned()).collect(),
            seed: 1,
            total: Duration::from_secs(24 * 3600),
            visit: Duration::from_secs(20 * 60),
            rounds: None,
            short: Duration::from_secs(10),
            long: Duration::from_secs(300),
            long_share: 0.3,
            warm_up: Duration::from_secs(75),
            rest: Duration::from_secs(20),
            step: Duration::from_secs(1),
            average: Duration::from_secs(300),
            probe_every,
            probe_for,
            measure_every,
            is_quick: false,
        }
    }

    /// A rehearsal that takes minutes: everything happens, and nothing for long enough to say much.
    #[must_use]
    pub fn quick() -> Settings {
        Settings {
            total: Duration::from_secs(360),
            visit: Duration::from_secs(25),
            short: Duration::from_secs(1),
            long: Duration::from_secs(4),
            warm_up: Duration::from_secs(4),
            rest: Duration::from_secs(2),
            average: Duration::from_secs(4),
            probe_every: Duration::from_secs(6),
            probe_for: Duration::from_millis(300),
            measure_every: Duration::from_secs(1),
            is_quick: true,
            ..Settings::full()
        }
    }

    /// Returns the number of steps in `span`, at least 1.
    pub(crate) fn n_steps(&self, span: Duration) -> usize {
        (span.as_nanos() / self.step.as_nanos()).max(1) as usize
    }

    /// Returns the times at which the hybrid sensor measures and probes.
    #[must_use]
    pub fn hybrid(&self) -> HybridSettings {
        HybridSettings { measure_every: self.measure_every, probe_every: self.probe_every, probe_for: self.probe_for }
    }

    /// Returns the time after a test or a probe for which the sensors still show it.
    ///
    /// Half a rest. The default is twice the memory of `cpu.availability` (5 s), and as long as that of the vmstat
    /// formula.
    #[must_use]
    pub fn settle(&self) -> Duration {
        self.rest / 2
    }

    /// Checks that this makes a study, without a look at the host.
    ///
    /// # Errors
    /// [`SettingsError`], whose message says what would make one.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.check_scenarios()?;
        self.check_spans()
    }

    /// Checks as [`Settings::check`] does, for a journal, whose scenarios may be those of another version.
    pub(crate) fn check_spans(&self) -> Result<(), SettingsError> {
        if !(0.0..=0.9).contains(&self.long_share) {
            return Err(SettingsError::LongShare { given: self.long_share });
        }
        let least_step = Duration::from_millis(100);
        for (what, given, least) in [
            ("a step", self.step, least_step),
            ("a short test", self.short, self.step),
            ("a long test", self.long, self.short + self.step),
            ("a rest", self.rest, self.step),
            ("a warm-up", self.warm_up, 3 * self.step),
        ] {
            if given < least {
                return Err(SettingsError::TooShort { what, given, least });
            }
        }
        let most = self.probe_every.saturating_sub(self.probe_for + self.settle() + 3 * self.step);
        if self.short > most {
            return Err(SettingsError::ShortTooLong { given: self.short, probe_every: self.probe_every, most });
        }
        Ok(())
    }

    fn check_scenarios(&self) -> Result<(), SettingsError> {
        if self.scenarios.is_empty() {
            return Err(SettingsError::NoScenario);
        }
        for (idx, name) in self.scenarios.iter().enumerate() {
            if workload::find(name).is_none() {
                let known = workload::SCENARIOS.iter().map(|scenario| scenario.name()).collect();
                return Err(SettingsError::UnknownScenario { given: name.clone(), known });
            }
            if self.scenarios[..idx].contains(name) {
                return Err(SettingsError::SameScenario { given: name.clone() });
            }
        }
        Ok(())
    }

    /// The first setting in which `other` differs: its name as it is written into the journal, this value, and the
    /// other.
    #[must_use]
    pub fn difference(&self, other: &Settings) -> Option<(String, String, String)> {
        // Settings are an object of plain values, and these become JSON whatever they are.
        let values = |settings| match serde_json::to_value(settings) {
            Ok(serde_json::Value::Object(values)) => values,
            _ => serde_json::Map::new(),
        };
        let (own, others) = (values(self), values(other));
        let differing = own.iter().find(|(name, value)| others.get(*name) != Some(*value));
        differing.map(|(name, value)| (name.clone(), value.to_string(), others[name].to_string()))
    }
}

mod seconds {
    //! Lengths of time as numbers of seconds.

    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(span.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(change: impl FnOnce(&mut Settings), message: &str) {
        let mut settings = Settings::full();
        change(&mut settings);
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn both_sets_of_defaults_make_a_study() {
        Settings::full().check().unwrap();
        Settings::quick().check().unwrap();
    }

    #[test]
    fn what_makes_no_study_is_named() {
        check_refused(|settings| settings.scenarios.clear(), "no scenario is given");
        check_refused(|settings| settings.scenarios.push("idle".into()), "`idle` is given twice");
        check_refused(
            |settings| settings.scenarios.push("picnic".into()),
            "there is no scenario `picnic`: there are idle",
        );
        check_refused(|settings| settings.long_share = 1.5, "a share of 1.5 for long tests is out of range");
        check_refused(|settings| settings.rest = Duration::ZERO, "a rest of 0s is too short: it must be 1s or longer");
        check_refused(
            |settings| settings.short = Duration::from_secs(55),
            "a test of 55s does not fit between two probes 1m apart: it must be 45s 500ms or shorter",
        );
    }

    #[test]
    fn settings_read_back_as_they_were_written() {
        let settings = Settings { probe_for: Duration::from_millis(1500), ..Settings::full() };
        let text = serde_json::to_string(&settings).unwrap();
        assert!(text.contains(r#""probe_for_seconds":1.5"#), "{text}");
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    }

    #[test]
    fn a_difference_is_named() {
        let settings = Settings::full();
        assert_eq!(settings.difference(&settings), None);
        let other = Settings { seed: 7, ..settings.clone() };
        assert_eq!(settings.difference(&other), Some(("seed".into(), "1".into(), "7".into())));
    }
}
