//! The signals of a followed stream, made from its description.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use signal::{Family, Kind, Label, Range, Readings, Signal, Unit, family_of_signal};
use stream::{Carries, Description, SignalName};
use units::span;

use super::FollowSettings;

/// The longest id that the node takes from elsewhere.
const ID_BYTES_MAX: usize = 200;

/// Longer, and little of an id is left.
const HOST_BYTES_MAX: usize = 64;

/// The signals of a stream, in the order of its values.
#[derive(Debug)]
pub(super) struct Lineup {
    /// `None` for one that is not asked for, or cannot be had.
    pub(super) signals: Vec<Option<Arc<Signal>>>,
    /// Zero for steps that are not even.
    pub(super) step: Duration,
    /// The problem of the lineup, for as long as the lineup stays.
    pub(super) problem: Option<String>,
}

impl Lineup {
    /// Selects the described signals that the settings ask for.
    ///
    /// # Errors
    /// With what is wrong, when nothing of it can be followed.
    pub(super) fn new(description: &Description, settings: &FollowSettings) -> Result<Self, String> {
        if let Some(what) = match description.carries {
            Carries::Forecast => Some("forecasts"),
            Carries::Results => Some("results"),
            Carries::Measurement | Carries::Sample => None,
        } {
            return Err(format!("{} carries {what}; only measurements can be followed", settings.endpoint));
        }
        if description.carries == Carries::Sample && description.signals.len() != 1 {
            let n = description.signals.len();
            return Err(format!("{} carries samples of one signal, and describes {n}", settings.endpoint));
        }
        let host = host(description, settings)?;
        let mut ids = BTreeSet::new();
        let mut n_left_out = 0;
        let mut choose = |name: &SignalName| {
            if !settings.select.takes(&name.id) {
                return None;
            }
            let id = format!("{host}/{}", name.id);
            let is_sound = !name.id.is_empty() && id.len() <= ID_BYTES_MAX && is_text(&id) && is_text(&name.unit);
            if !is_sound || ids.len() >= settings.n_signals_max || !ids.insert(id.clone()) {
                n_left_out += 1;
                return None;
            }
            Some(Arc::new(signal(&host, name, id)))
        };
        let signals = description.signals.iter().map(&mut choose).collect();
        let problem =
            too_slow(description, settings).or_else(|| (n_left_out > 0).then(|| left_out(n_left_out, settings)));
        Ok(Self { signals, step: description.step(), problem })
    }

    /// Puts the values of one message into `readings`; those that are no numbers are gaps.
    pub(super) fn hand_out(&self, values: &[f64], readings: &mut Readings) {
        for (signal, value) in self.signals.iter().zip(values) {
            if let Some(signal) = signal {
                readings.push(signal, *value);
            }
        }
    }
}

/// Returns the name of the host here. A slash would end the name too early.
fn host(description: &Description, settings: &FollowSettings) -> Result<Arc<str>, String> {
    let host = settings.host.as_ref().unwrap_or(&description.host);
    let is_name = (1..=HOST_BYTES_MAX).contains(&host.len()) && is_text(host) && !host.contains('/');
    if !is_name {
        let (endpoint, host) = (&settings.endpoint, host.escape_debug());
        return Err(format!("{endpoint} names its host `{host}`, which cannot be a name; give it one with `name`"));
    }
    Ok(host.as_str().into())
}

fn is_text(text: &str) -> bool {
    !text.contains(char::is_control)
}

fn too_slow(description: &Description, settings: &FollowSettings) -> Option<String> {
    let (theirs, ours) = (description.step(), settings.step);
    (theirs > ours).then(|| {
        let (theirs, ours, endpoint) = (span::format(theirs), span::format(ours), &settings.endpoint);
        format!("{endpoint} has a step of {theirs} and is followed every {ours}, so most steps are gaps; set `every` to {theirs}")
    })
}

fn left_out(n: usize, settings: &FollowSettings) -> String {
    let (endpoint, max) = (&settings.endpoint, settings.n_signals_max);
    format!(
        "{endpoint} has {n} signals that are left out: they are beyond the first {max}, or their names are not valid or not unique"
    )
}

/// A signal that this program measures itself, over there, is described by its row of the table.
fn signal(host: &Arc<str>, name: &SignalName, id: String) -> Signal {
    let row = family_of_signal(&name.id).filter(|(family, _)| family.unit.as_str() == name.unit);
    let mut labels: Vec<Label> = vec![("host".into(), Arc::clone(host))];
    let family = match row {
        Some((family, label)) => {
            labels.extend(family.label_name().map(Into::into).zip(label.map(Into::into)));
            Family { alias: None, ..family.clone() }
        }
        None => Family {
            pattern: name.id.clone().into(),
            unit: Unit::Named(name.unit.as_str().into()),
            kind: Kind::Gauge,
            sentence: "What another host measures and sends.".into(),
            range: Range { min: None, max: None },
            alias: None,
        },
    };
    Signal::made(Arc::new(family), id.into(), labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal::Selection;

    fn settings() -> FollowSettings {
        FollowSettings {
            endpoint: "source:tcp:db1:7313".parse().unwrap(),
            host: None,
            step: Duration::from_secs(1),
            select: Selection::default(),
            n_signals_max: 3,
            security: Default::default(),
        }
    }

    fn description(host: &str, signals: &[(&str, &str)]) -> Description {
        let signals = signals.iter().map(|(id, unit)| SignalName { id: (*id).to_owned(), unit: (*unit).to_owned() });
        Description {
            stream: "measurements".to_owned(),
            host: host.to_owned(),
            carries: Carries::Measurement,
            step_ns: 1_000_000_000,
            signals: signals.collect(),
            model: None,
            horizon: None,
        }
    }

    fn ids(lineup: &Lineup) -> Vec<&str> {
        lineup.signals.iter().map(|signal| signal.as_ref().map_or("-", |signal| signal.id())).collect()
    }

    #[test]
    fn a_signal_of_the_table_keeps_its_row_and_gets_its_host() {
        let lineup = Lineup::new(&description("db1", &[("net.eth0.sent", "bytes/s")]), &settings()).unwrap();
        let signal = lineup.signals[0].as_ref().unwrap();
        let labels: Vec<(&str, &str)> = signal.labels().iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!((&**signal.id(), labels), ("db1/net.eth0.sent", vec![("host", "db1"), ("interface", "eth0")]));
        assert_eq!((signal.family().kind, signal.family().range.min), (Kind::Rate, Some(0.0)));
    }

    #[test]
    fn a_signal_that_only_sounds_like_one_of_the_table_is_not_cut_to_its_range() {
        let lineup = Lineup::new(&description("db1", &[("cpu.busy", "percent")]), &settings()).unwrap();
        let signal = lineup.signals[0].as_ref().unwrap();
        assert_eq!((signal.family().unit.as_str(), signal.family().range.max), ("percent", None));
    }

    #[test]
    fn hostile_names_are_left_out_and_told() {
        let long = "x".repeat(250);
        let given = [
            ("a", ""),
            ("a", ""),
            ("", ""),
            ("b\x1b[2J", ""),
            (&*long, ""),
            ("c", "\n"),
            ("d", ""),
            ("e", ""),
            ("f", ""),
        ];
        let lineup = Lineup::new(&description("db1", &given), &settings()).unwrap();
        assert_eq!(ids(&lineup), ["db1/a", "-", "-", "-", "-", "-", "db1/d", "db1/e", "-"]);
        assert!(lineup.problem.unwrap().contains("6 signals"));
    }

    #[test]
    fn a_host_without_a_proper_name_needs_one_from_us() {
        for host in ["", "a/b", "a\nb", &"x".repeat(65)] {
            let description = description(host, &[("a", "")]);
            assert!(Lineup::new(&description, &settings()).unwrap_err().contains("give it one with `name`"));
            let named = FollowSettings { host: Some("db1".to_owned()), ..settings() };
            assert_eq!(ids(&Lineup::new(&description, &named).unwrap()), ["db1/a"]);
        }
    }

    #[test]
    fn a_stream_that_is_slower_than_it_is_followed_is_told_with_the_remedy() {
        let description = Description { step_ns: 5_000_000_000, ..description("db1", &[("a", "")]) };
        let problem = Lineup::new(&description, &settings()).unwrap().problem.unwrap();
        assert!(problem.ends_with("set `every` to 5s"), "{problem}");
    }
}
