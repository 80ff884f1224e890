//! Comparison of the clocks of files, by a receiver's statements about the measured host's clock and its own.

use record::{Field, RecordType, Value};

use crate::{Error, Structure};

/// Statements of a file about its clock. The default holds none and compares with any clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clock {
    /// The boot that it is of.
    pub(crate) boot: Option<String>,
    /// The boot of whoever received the file, and how that clock compares.
    receiver: Option<(String, Ahead)>,
}

/// Lead of one clock over another: at `at_ns` of one clock the other is ahead by `offset_ns`, and that grows by `drift`
/// in each second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ahead {
    at_ns: i64,
    offset_ns: i64,
    drift: f64,
    bound_ns: f64,
    drift_bound: f64,
}

/// Moves times of one clock to another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shift {
    /// The boot of the other clock.
    pub(crate) to: String,
    /// Lead of the clock of the file's receiver.
    up: Option<Ahead>,
    /// Lead of the clock of the other file's receiver, which is taken back.
    down: Option<Ahead>,
    bound_ns: f64,
}

const BOOT: &str = "BootId";
const PPB: f64 = 1e-9;

impl Clock {
    /// Returns the clock of a file with these attributes; of a merged file, the clock of the file that was the first in
    /// it.
    #[must_use]
    pub fn of(said: &Structure) -> Self {
        let boot = said.attributes.iter().find(|(name, _)| name.rsplit('.').next() == Some(BOOT));
        let Some((name, boot)) = boot else { return Self::default() };
        let label = name.strip_suffix(BOOT).unwrap_or_default();
        let text = |wanted: &str| {
            let is_it = |name: &str| name.strip_prefix(label) == Some(wanted);
            said.attributes.iter().find(|(name, _)| is_it(name)).map(|(_, text)| text.as_str())
        };
        let whole = |name: &str| text(name)?.parse::<i64>().ok();
        let real = |name: &str| text(name)?.parse::<f64>().ok().filter(|number| number.is_finite());
        let receiver = || {
            let ahead = Ahead {
                at_ns: whole("ReceiverOffsetAt_ns")?,
                offset_ns: whole("ReceiverOffset_ns")?,
                drift: PPB * real("ReceiverDrift_ppb")?,
                bound_ns: real("ReceiverOffsetBound_ns")?,
                drift_bound: PPB * real("ReceiverDriftBound_ppb")?,
            };
            Some((text("ReceiverBootId")?.to_owned(), ahead))
        };
        Self { boot: Some(boot.clone()), receiver: receiver() }
    }

    /// Returns the shift from times of this clock, of a file with a label, to those of another's: nothing if they are
    /// the same.
    pub(crate) fn shift(&self, label: &str, to: &Self, to_label: &str) -> Result<Option<Shift>, Error> {
        let (Some(own), Some(other)) = (&self.boot, &to.boot) else { return Ok(None) };
        if own == other {
            return Ok(None);
        }
        let shift = |up, down| Ok(Some(Shift { to: other.clone(), up, down, bound_ns: 0.0 }));
        match (&self.receiver, &to.receiver) {
            (Some((boot, up)), _) if boot == other => shift(Some(*up), None),
            (_, Some((boot, down))) if boot == own => shift(None, Some(*down)),
            (Some((boot, up)), Some((other, down))) if boot == other => shift(Some(*up), Some(*down)),
            (receiver, to_receiver) => Err(Error::OtherBoot {
                file: label.to_owned(),
                boot: own.clone(),
                first: to_label.to_owned(),
                first_boot: other.clone(),
                why: match (receiver, to_receiver) {
                    (Some(_), Some(_)) => "they were received on different boots".to_owned(),
                    (None, _) => format!(
                        "`{label}` does not say how its clock compares with another, and by how much that may be wrong"
                    ),
                    (_, None) => format!(
                        "`{to_label}` does not say how its clock compares with another, and by how much that may be wrong"
                    ),
                },
            }),
        }
    }
}

impl Ahead {
    /// Returns the time from the comparison to that moment. Files may hold any numbers, so that no sum of theirs is
    /// taken to fit.
    fn after_ns(&self, ns: i64) -> i128 {
        i128::from(ns) - i128::from(self.at_ns)
    }

    /// Returns the time of the other clock at a moment of the one. The drift's part is small, so that its rounding is,
    /// too.
    fn there(&self, ns: i64) -> i64 {
        let drifted = (self.drift * self.after_ns(ns) as f64).round() as i128;
        clamped(i128::from(ns) + i128::from(self.offset_ns), drifted)
    }

    /// Returns the inverse of [`Ahead::there`].
    fn back(&self, ns: i64) -> i64 {
        let after_ns = self.after_ns(ns) - i128::from(self.offset_ns);
        let drifted = (-self.drift / (1.0 + self.drift) * after_ns as f64).round() as i128;
        clamped(i128::from(self.at_ns) + after_ns, drifted)
    }

    fn bound_ns(&self, ns: i64) -> f64 {
        self.bound_ns + self.drift_bound * self.after_ns(ns).unsigned_abs() as f64
    }
}

fn clamped(ns: i128, drifted: i128) -> i64 {
    ns.saturating_add(drifted).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl Shift {
    /// Returns that moment on the other clock.
    fn moved(&mut self, ns: i64) -> i64 {
        let mut bound_ns = 0.0;
        let mut moved = ns;
        if let Some(up) = &self.up {
            bound_ns += up.bound_ns(moved);
            moved = up.there(moved);
        }
        if let Some(down) = &self.down {
            moved = down.back(moved);
            bound_ns += down.bound_ns(moved);
        }
        self.bound_ns = self.bound_ns.max(bound_ns);
        moved
    }

    /// Moves what is a moment in a record, by the places of those.
    pub(crate) fn apply(&mut self, moments: &[usize], values: &mut [Value]) {
        for place in moments {
            match &mut values[*place] {
                Value::Integer(ns) => *ns = self.moved(*ns),
                Value::Real(ns) => *ns += self.moved(*ns as i64).saturating_sub(*ns as i64) as f64,
                _ => {}
            }
        }
    }

    /// Returns the bound of the error of a time that was moved, in nanoseconds.
    pub(crate) fn worst_ns(&self) -> f64 {
        self.bound_ns.ceil()
    }
}

/// Returns the positions of a type's fields that are moments of its file's clock: fields named so, or with such an end,
/// and those that are the time of its records.
pub(crate) fn moments(of: &RecordType, times: &[String]) -> Vec<usize> {
    let is_one = |field: &Field| {
        let is_named = ["start_ns", "end_ns", "at_ns"]
            .iter()
            .any(|name| field.name.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('_')));
        field.unit == "ns" && (is_named || times.contains(&field.name))
    };
    (0..of.fields.len()).filter(|place| is_one(&of.fields[*place])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a boot; a second received it, whose clock is ahead by this at 1 s, and runs faster by 100 parts in a
    /// million.
    fn received(boot: &str, receiver: &str, offset_ns: i64) -> Structure {
        let attributes = [
            (BOOT, boot.to_owned()),
            ("ReceiverBootId", receiver.to_owned()),
            ("ReceiverOffset_ns", offset_ns.to_string()),
            ("ReceiverOffsetBound_ns", "500".to_owned()),
            ("ReceiverOffsetAt_ns", "1000000000".to_owned()),
            ("ReceiverDrift_ppb", "100000".to_owned()),
            ("ReceiverDriftBound_ppb", "1000".to_owned()),
        ];
        let attributes = attributes.map(|(name, text)| (name.to_owned(), text)).to_vec();
        Structure { attributes, types: Vec::new() }
    }

    fn shift(from: &Structure, to: &Structure) -> Result<Option<Shift>, Error> {
        Clock::of(from).shift("one", &Clock::of(to), "first")
    }

    fn plain(boot: &str) -> Structure {
        Structure { attributes: vec![(BOOT.into(), boot.into())], types: Vec::new() }
    }

    #[test]
    fn a_time_goes_to_the_receiver_s_clock_and_back() {
        let file = received("a", "r", 5_000);
        let mut there = shift(&file, &plain("r")).unwrap().unwrap();
        // A second after the comparison, 100 us more, and the drift may be wrong by 1 us.
        assert_eq!(there.moved(2_000_000_000), 2_000_000_000 + 5_000 + 100_000);
        assert_eq!(there.worst_ns(), 1_500.0);
        let mut back = shift(&plain("r"), &file).unwrap().unwrap();
        assert_eq!(back.moved(2_000_105_000), 2_000_000_000);
    }

    #[test]
    fn two_that_one_receiver_knows_compare_by_both_bounds() {
        let mut shift = shift(&received("a", "r", 5_000), &received("b", "r", -7_000)).unwrap().unwrap();
        assert_eq!(shift.moved(1_000_000_000), 1_000_000_000 + 12_000 - 1, "the drift in 12 us");
        assert!((1_000.0..=1_001.0).contains(&shift.worst_ns()), "{}", shift.worst_ns());
    }

    #[test]
    fn figures_that_no_clock_has_are_moved_without_harm() {
        let mut file = received("a", "r", i64::MAX);
        file.attributes[4].1 = i64::MIN.to_string();
        file.attributes[5].1 = "-1e9".into();
        let [mut there, mut back] =
            [shift(&file, &plain("r")), shift(&plain("r"), &file)].map(|one| one.unwrap().unwrap());
        let mut values = [i64::MIN, 0, i64::MAX].map(Value::Integer).to_vec();
        values.extend([f64::MAX, f64::NAN].map(Value::Real));
        for shift in [&mut there, &mut back] {
            shift.apply(&[0, 1, 2, 3, 4], &mut values);
            assert!(shift.worst_ns() >= 500.0);
        }
    }

    #[test]
    fn what_does_not_compare_is_named() {
        let told = |from: &Structure, to: &Structure| shift(from, to).unwrap_err().to_string();
        assert!(told(&plain("a"), &received("b", "r", 0)).contains("`one` does not say how its clock compares"));
        assert!(told(&received("a", "r", 0), &plain("b")).contains("`first` does not say"));
        assert!(told(&received("a", "r", 0), &received("b", "s", 0)).contains("received on different boots"));
        let mut unbound = received("a", "r", 0);
        unbound.attributes[6].1 = "inf".into();
        assert!(told(&unbound, &plain("r")).contains("by how much that may be wrong"));
        assert_eq!(shift(&plain("a"), &Structure::default()).unwrap(), None);
    }
}
