//! A link's direction as people describe it: `docs/formats/link-trace.md` and `docs/formats/wan.md`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use units::{Bandwidth, ByteCount, Ratio, span};

use crate::link::{Constant, Delay, Link, Order, Rules, Wire};
use crate::profile::{Profile, UnknownProfile};
use crate::trace::{AtEnd, Between, Expected, Opportunities, Spread, Trace, TraceError};

/// Points of a drawn trace; with a step of a second, it repeats after an hour.
const N_DRAWN: usize = 3_600;
/// Length of a drawn point when no step is given.
const STEP: Duration = Duration::from_secs(1);

/// One direction of a link. What it follows is one of: a latency, a trace, a profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Description {
    /// One way.
    #[serde(deserialize_with = "some_span")]
    pub latency: Option<Duration>,
    /// Without, the wire costs no time; in a trace, for one that has latencies alone.
    pub bandwidth: Option<Bandwidth>,
    /// The latency's standard deviation: a trace is drawn.
    #[serde(deserialize_with = "some_span")]
    pub deviation: Option<Duration>,
    /// The bandwidth's.
    pub bandwidth_deviation: Option<Bandwidth>,
    /// Length of a drawn point.
    #[serde(deserialize_with = "some_span")]
    pub step: Option<Duration>,
    /// The name of a published link.
    pub profile: Option<String>,
    /// Whether the profile's means stand for it, or a trace is drawn from its deviations.
    pub drawn: bool,
    /// A file.
    pub trace: Option<PathBuf>,
    /// Format of the file.
    pub format: Format,
    /// Rate of the clock that a Longcut trace's stamps count.
    pub cycles_per_sec: Option<u64>,
    /// State of the link between the points of a trace.
    pub between: Between,
    /// State of the link at the end of a trace.
    pub at_end: AtEnd,
    /// Whether messages share the wire.
    pub wire: Wire,
    /// The most that may wait.
    pub queue: Option<ByteCount>,
    /// The share that is lost.
    pub loss: Option<Ratio>,
    /// Number of messages that are lost in a row.
    pub burst: Option<f64>,
    /// The most that is added to a latency.
    #[serde(deserialize_with = "some_span")]
    pub jitter: Option<Duration>,
    /// Whether messages may overtake each other.
    pub order: Order,
}

/// Format of a trace file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Foretop's own CSV.
    #[default]
    Table,
    /// Longcut's lines.
    Longcut,
    /// Output of `ping`.
    Ping,
    /// mahimahi's packet opportunities; the latency is the description's.
    Mahimahi,
}

/// The reason why a description is no link.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// Nothing says how long messages take.
    #[error("a link needs one of `latency`, `trace` or `profile`")]
    Nothing,
    /// Two things say it.
    #[error(
        "a link has only one of `latency`, `trace` and `profile`; a latency goes with a trace only where that is one of mahimahi's"
    )]
    Several,
    /// A key that needs another one, or does not go with it.
    #[error("`{key}` needs {needed}")]
    Needs {
        /// The key.
        key: &'static str,
        /// The part that the key needs.
        needed: &'static str,
    },
    /// A number that is not possible.
    #[error("`burst` is {given}: it is the mean number of messages lost in a row, at least 1")]
    Burst {
        /// The number as given.
        given: f64,
    },
    /// No such profile.
    #[error(transparent)]
    Profile(#[from] UnknownProfile),
    /// The drawn points are no trace.
    #[error(transparent)]
    Drawn(TraceError),
    /// The file is no trace.
    #[error("`{}` is no trace of this format", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        source: TraceError,
    },
    /// The file cannot be read.
    #[error("cannot read the trace `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

fn some_span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a length of time with its unit, as in \"10ms\"")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
            span::parse(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Text).map(Some)
}

impl Description {
    /// The link; `read` gives the text of a trace file.
    ///
    /// # Errors
    /// [`DescriptionError`] when keys contradict each other, or something is not there or not possible.
    pub fn link(&self, seed: u64, read: impl Fn(&Path) -> std::io::Result<String>) -> Result<Link, DescriptionError> {
        Ok(Link::new(self.delay(seed, read)?, self.rules()?, seed))
    }

    fn rules(&self) -> Result<Rules, DescriptionError> {
        let rules = Rules::default();
        let burst = self.burst.unwrap_or(rules.burst);
        if !(burst >= 1.0 && burst.is_finite()) {
            return Err(DescriptionError::Burst { given: burst });
        }
        Ok(Rules {
            wire: self.wire,
            queue: self.queue.unwrap_or(rules.queue),
            loss: self.loss.unwrap_or(rules.loss),
            burst,
            jitter: self.jitter.unwrap_or(rules.jitter),
            order: self.order,
        })
    }

    fn delay(
        &self,
        seed: u64,
        read: impl Fn(&Path) -> std::io::Result<String>,
    ) -> Result<Box<dyn Delay>, DescriptionError> {
        self.check_pairs()?;
        match (self.latency, &self.trace, &self.profile) {
            (None, None, None) => Err(DescriptionError::Nothing),
            (Some(latency), None, None) => match self.expected(latency) {
                None => Ok(Box::new(Constant { latency, bandwidth: self.bandwidth })),
                Some(expected) => self.drawn(expected, seed),
            },
            (latency, Some(path), None) => {
                let text = read(path).map_err(|source| DescriptionError::File { path: path.clone(), source })?;
                self.trace(&text, latency).map_err(|source| DescriptionError::Trace { path: path.clone(), source })
            }
            (None, None, Some(name)) => {
                let profile = Profile::named(name)?;
                match profile.expected.filter(|_| self.drawn) {
                    Some(expected) => self.drawn(expected, seed),
                    None if self.drawn => Err(DescriptionError::Needs {
                        key: "drawn",
                        needed: "a profile with deviations, of table `eventspace`",
                    }),
                    None => Ok(Box::new(profile.means)),
                }
            }
            _ => Err(DescriptionError::Several),
        }
    }

    /// Refuses what would say nothing.
    fn check_pairs(&self) -> Result<(), DescriptionError> {
        let is_of = |format: Format| self.trace.is_some() && self.format == format;
        let pairs = [
            (
                self.latency.is_some() && self.trace.is_some() && !is_of(Format::Mahimahi),
                "latency",
                "a `format` of mahimahi beside a trace",
            ),
            (is_of(Format::Mahimahi) && self.latency.is_none(), "format", "a latency: mahimahi's traces have none"),
            (
                is_of(Format::Longcut) && self.cycles_per_sec.is_none_or(|rate| rate == 0),
                "format",
                "`cycles-per-sec` above 0: Longcut's stamps count cycles",
            ),
            (
                self.cycles_per_sec.is_some() && !is_of(Format::Longcut),
                "cycles-per-sec",
                "a trace with `format = \"longcut\"`",
            ),
            (self.format != Format::Table && self.trace.is_none(), "format", "a trace"),
            (
                self.bandwidth.is_some() && self.profile.is_some(),
                "bandwidth",
                "a latency: a profile has a bandwidth of its own",
            ),
            (
                self.bandwidth.is_some() && (is_of(Format::Table) || is_of(Format::Mahimahi)),
                "bandwidth",
                "a trace without bandwidths, `ping` or `longcut`",
            ),
            (
                self.deviation.is_some() && (self.latency.is_none() || self.trace.is_some()),
                "deviation",
                "a latency, and no trace",
            ),
            (
                self.bandwidth_deviation.is_some() && (self.deviation.is_none() || self.bandwidth.is_none()),
                "bandwidth-deviation",
                "a bandwidth and a deviation",
            ),
            (self.step.is_some() && self.deviation.is_none() && !self.drawn, "step", "a deviation, or a drawn profile"),
            (self.step.is_some_and(|step| step.is_zero()), "step", "to be longer than 0"),
            (self.drawn && self.profile.is_none(), "drawn", "a profile"),
            (self.burst.is_some() && self.loss.is_none(), "burst", "a loss"),
        ];
        match pairs.into_iter().find(|(is_wrong, _, _)| *is_wrong) {
            Some((_, key, needed)) => Err(DescriptionError::Needs { key, needed }),
            None => Ok(()),
        }
    }

    fn expected(&self, latency: Duration) -> Option<Expected> {
        let deviation = self.deviation?;
        let rate = self.bandwidth.map(|mean| Spread {
            mean: mean.bits_per_sec() as f64,
            deviation: self.bandwidth_deviation.map_or(0.0, |rate| rate.bits_per_sec() as f64),
        });
        let latency_ns = Spread { mean: latency.as_nanos() as f64, deviation: deviation.as_nanos() as f64 };
        Some(Expected { latency_ns, rate_bits_per_sec: rate })
    }

    fn drawn(&self, expected: Expected, seed: u64) -> Result<Box<dyn Delay>, DescriptionError> {
        let trace =
            Trace::drawn(self.step.unwrap_or(STEP), &vec![expected; N_DRAWN], seed).map_err(DescriptionError::Drawn)?;
        Ok(Box::new(trace.follow(self.between, self.at_end)))
    }

    fn trace(&self, text: &str, latency: Option<Duration>) -> Result<Box<dyn Delay>, TraceError> {
        let trace = match self.format {
            Format::Table => Trace::read(text)?,
            Format::Longcut => Trace::read_longcut(text, self.cycles_per_sec.unwrap_or(1), self.bandwidth)?,
            Format::Ping => Trace::read_ping(text, self.bandwidth)?,
            Format::Mahimahi => return Ok(Box::new(Opportunities::read(text, latency.unwrap_or_default())?)),
        };
        Ok(Box::new(trace.follow(self.between, self.at_end)))
    }
}

impl fmt::Display for Description {
    /// Writes what the description follows and the rules that are not the usual ones, in the words of its keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |of: Option<Duration>| of.map(span::format);
        let shown = [
            ("latency", text(self.latency)),
            ("bandwidth", self.bandwidth.map(|rate| rate.to_string())),
            ("deviation", text(self.deviation)),
            ("profile", self.profile.clone()),
            ("trace", self.trace.as_ref().map(|path| path.display().to_string())),
            ("queue", self.queue.map(|bytes| bytes.to_string())),
            ("loss", self.loss.map(|share| share.to_string())),
            ("burst", self.burst.map(|burst| burst.to_string())),
            ("jitter", text(self.jitter)),
        ];
        let shown = shown.into_iter().filter_map(|(key, value)| Some(format!("{key} {}", value?)));
        f.write_str(&shown.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::link::Fate;

    fn read(path: &Path) -> std::io::Result<String> {
        match path.to_str() {
            Some("table.csv") => Ok("t_ns,latency_ns,rate_bits_per_sec\n0,5000000,8000000\n".to_owned()),
            Some("opportunities") => Ok("1\n2\n".to_owned()),
            Some("ping.txt") => Ok("64 bytes from a: icmp_seq=1 ttl=64 time=10 ms\n".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    fn link(described: Value) -> Result<Link, DescriptionError> {
        serde_json::from_value::<Description>(described).unwrap().link(1, read)
    }

    #[track_caller]
    fn check(described: Value, arrival_us: u64) {
        let mut link = link(described).unwrap();
        let fate = link.send(Duration::ZERO, ByteCount::new(1_000));
        assert_eq!(fate, Fate::Arrives { at: Duration::from_micros(arrival_us) });
    }

    #[test]
    fn a_link_is_described_in_words_with_units() {
        check(json!({"latency": "10ms"}), 10_000);
        check(json!({"latency": "10ms", "bandwidth": "8 Mbit/s"}), 11_000);
        check(json!({"trace": "table.csv"}), 6_000);
        check(json!({"trace": "ping.txt", "format": "ping", "bandwidth": "8Mbit/s"}), 6_000);
        check(json!({"trace": "opportunities", "format": "mahimahi", "latency": "3ms"}), 4_000);
        check(json!({"profile": "varg/princeton-tromso"}), 65_000);
    }

    #[test]
    fn a_drawn_link_is_the_same_with_the_same_seed() {
        let described = json!({"profile": "eventspace/vvgw-roadrunner", "drawn": true, "loss": "1%"});
        let description: Description = serde_json::from_value(described).unwrap();
        let fates = |seed: u64| {
            let mut link = description.link(seed, read).unwrap();
            (0..100).map(|second| link.send(Duration::from_secs(second), ByteCount::new(100))).collect::<Vec<_>>()
        };
        assert_eq!(fates(1), fates(1));
        assert_ne!(fates(1), fates(2));
    }

    #[test]
    fn what_says_nothing_or_too_much_is_refused() {
        for (described, told) in [
            (json!({}), "`latency`, `trace` or `profile`"),
            (json!({"bandwidth": "1Mbit/s"}), "`latency`, `trace` or `profile`"),
            (json!({"latency": "1ms", "profile": "varg/princeton-tromso"}), "only one of"),
            (json!({"latency": "1ms", "trace": "table.csv"}), "mahimahi"),
            (json!({"trace": "opportunities", "format": "mahimahi"}), "a latency"),
            (json!({"trace": "x", "format": "longcut"}), "cycles"),
            (json!({"trace": "gone.csv"}), "cannot read the trace `gone.csv`"),
            (json!({"trace": "ping.txt"}), "`ping.txt`"),
            (json!({"latency": "1ms", "burst": 2.0}), "a loss"),
            (json!({"latency": "1ms", "loss": "1%", "burst": 0.5}), "at least 1"),
            (json!({"profile": "varg/princeton-tromso", "drawn": true}), "deviations"),
            (json!({"latency": "1ms", "drawn": true}), "a profile"),
        ] {
            let error = link(described.clone()).unwrap_err().to_string();
            assert!(error.contains(told), "{described}: {error}");
        }
    }

    #[test]
    fn numbers_without_units_and_unknown_keys_are_refused() {
        for described in [
            json!({"latency": 10}),
            json!({"latency": "10"}),
            json!({"latency": "1ms", "bandwidth": "10"}),
            json!({"delay": "1ms"}),
        ] {
            assert!(serde_json::from_value::<Description>(described.clone()).is_err(), "{described} was taken");
        }
    }
}
