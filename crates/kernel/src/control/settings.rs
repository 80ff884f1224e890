//! Changes as people and programs write them: `fs.Read=trace interval=5s budget=1%`.

use std::str::FromStr;

use units::span;

use super::{Change, PointState, SubsystemChange};
use crate::Error;

impl Change {
    /// Turns these subsystems on and the whole with them, or without any the whole as it was set.
    pub fn on<S: Into<String>>(subsystems: impl IntoIterator<Item = S>) -> Self {
        Self { is_on: Some(true), ..Self::of(subsystems, true) }
    }

    /// Turns these subsystems off, or without any the whole.
    pub fn off<S: Into<String>>(subsystems: impl IntoIterator<Item = S>) -> Self {
        let change = Self::of(subsystems, false);
        Self { is_on: change.subsystems.is_empty().then_some(false), ..change }
    }

    fn of<S: Into<String>>(subsystems: impl IntoIterator<Item = S>, is_on: bool) -> Self {
        let change = SubsystemChange { is_on: Some(is_on), ..SubsystemChange::default() };
        let subsystems = subsystems.into_iter().map(|name| (name.into(), change.clone())).collect();
        Self { subsystems, ..Self::default() }
    }

    /// Sets the state of a point, which decides how its events are handled.
    pub fn set_point(&mut self, PointSetting { subsystem, point, state }: PointSetting) {
        self.subsystems.entry(subsystem).or_default().points.insert(point, state);
    }
}

/// Settings parted by blanks: `SUBSYSTEM.POINT=STATE`, `interval=`, `budget=` and `groups=`.
impl FromStr for Change {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut change = Self::default();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some(("budget", share)) => change.budget_cores = Some(share_of_core(share)?),
                Some(("groups", limits)) => change.groups = Some(limits.into()),
                Some(("interval", length)) => {
                    let right = "a length of time such as `5s`";
                    let wrong = |_| Error::Setting { what: "interval", value: length.into(), right };
                    change.interval_ms = u64::try_from(span::parse(length).map_err(wrong)?.as_millis()).ok();
                }
                Some((name, _)) if name.contains('.') => change.set_point(word.parse()?),
                _ => {
                    let right = "a point such as `fs.Read=trace`, `interval=5s`, `budget=1%` or `groups=4096,65536`";
                    return Err(Error::Setting { what: "setting", value: word.into(), right });
                }
            }
        }
        Ok(change)
    }
}

/// A point with a state, as `fs.Read=trace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointSetting {
    /// The subsystem's name.
    pub subsystem: String,
    /// The point's name.
    pub point: String,
    /// State of the point, which decides how its events are handled.
    pub state: PointState,
}

impl FromStr for PointSetting {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let right = "a point with a state, such as `fs.Read=trace`, or with `inactive` or `summary` for `trace`";
        let wrong = || Error::Setting { what: "setting", value: text.into(), right };
        let (name, state) = text.split_once('=').ok_or_else(wrong)?;
        let (subsystem, point) = name.split_once('.').ok_or_else(wrong)?;
        let state = match state {
            "inactive" => PointState::Inactive,
            "summary" => PointState::Summary,
            "trace" => PointState::Trace,
            _ => return Err(wrong()),
        };
        Ok(Self { subsystem: subsystem.into(), point: point.into(), state })
    }
}

/// Parses a share of a core, as `1%` or `0.01`.
///
/// # Errors
/// If the text is no share, or above a whole core.
pub fn share_of_core(text: &str) -> Result<f64, Error> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    match share {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(Error::Setting {
            what: "budget",
            value: text.into(),
            right: "a share of a core, such as `1%` or `0.01`",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_together() {
        let change: Change =
            "fs.Read=trace  vm.FileMap=inactive interval=5s budget=0.5% groups=64,512".parse().unwrap();
        assert_eq!(change.subsystems["fs"].points["Read"], PointState::Trace);
        assert_eq!(change.subsystems["vm"].points["FileMap"], PointState::Inactive);
        assert_eq!((change.interval_ms, change.groups.as_deref()), (Some(5_000), Some("64,512")));
        assert!((change.budget_cores.unwrap() - 0.005).abs() < 1e-12);
        assert_eq!(change.is_on, None);
    }

    #[track_caller]
    fn check_refused(text: &str, part: &str) {
        let error = text.parse::<Change>().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn what_is_no_setting_is_told_with_what_would_be() {
        check_refused("fs=trace", "fs.Read=trace");
        check_refused("fs.Read=on", "`inactive`");
        check_refused("budget=2", "`1%`");
        check_refused("interval=5", "`5s`");
        check_refused("verbose", "budget=1%");
    }

    #[test]
    fn a_subsystem_goes_on_with_the_whole_and_off_without_it() {
        assert_eq!(Change::on(["vm"]).is_on, Some(true));
        let off = Change::off(["vm"]);
        assert_eq!((off.is_on, off.subsystems["vm"].is_on), (None, Some(false)));
        assert_eq!(Change::off::<String>([]).is_on, Some(false));
    }
}
