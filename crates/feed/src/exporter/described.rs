//! The descriptions of families on a page, and the role of each series that follows from them.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use signal::{Family, Kind, Range, Unit};

use super::text::About;

/// More families than this on a page are taken for not described. A large exporter has some thousand.
const N_FAMILIES_MAX: usize = 20_000;

/// The longest explanation that is kept, in bytes.
const SENTENCE_BYTES_MAX: usize = 300;

/// The longest unit that is kept, in bytes.
const UNIT_BYTES_MAX: usize = 32;

/// The units that names of metrics end with by custom.
const UNITS: [&str; 11] =
    ["seconds", "bytes", "ratio", "celsius", "meters", "volts", "amperes", "joules", "grams", "hertz", "percent"];

/// The suffixes that follow the family's name in the name of a series.
const SUFFIXES: [&str; 8] = ["", "_total", "_created", "_bucket", "_count", "_sum", "_gcount", "_gsum"];

/// The use that is made of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A signal of its values.
    Gauge,
    /// A signal of its rate.
    Counter,
    /// Part of a histogram that counts up.
    Bucket,
    /// Part of a histogram of what is there at the moment.
    GaugeBucket,
    /// When the other series of its family began to count.
    Created,
}

impl Role {
    /// Returns the name of the role in a message about a series whose role has changed.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Role::Gauge => "gauge",
            Role::Counter => "counter",
            Role::Bucket => "histogram",
            Role::GaugeBucket => "histogram of the moment",
            Role::Created => "time of creation",
        }
    }
}

/// The type of a family, as far as it makes a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Type {
    Counter,
    /// Gauges, families without a type, and sets of states.
    #[default]
    Gauge,
    Histogram,
    GaugeHistogram,
    Summary,
    /// Text in labels, and no value.
    Info,
}

impl Type {
    fn parse(word: &[u8]) -> Option<Type> {
        match word {
            b"counter" => Some(Type::Counter),
            b"gauge" | b"untyped" | b"unknown" | b"stateset" => Some(Type::Gauge),
            b"histogram" => Some(Type::Histogram),
            b"gaugehistogram" => Some(Type::GaugeHistogram),
            b"summary" => Some(Type::Summary),
            b"info" => Some(Type::Info),
            _ => None,
        }
    }

    /// Returns the role of a series with this suffix after the family's name, if the type has such a series.
    /// `Some(None)` is a series that becomes no signal.
    fn role(self, suffix: &str) -> Option<Option<Role>> {
        let role = match (self, suffix) {
            (Type::Counter, "" | "_total") | (Type::Histogram | Type::Summary, "_count" | "_sum") => Role::Counter,
            (Type::Gauge | Type::Summary, "") | (Type::GaugeHistogram, "_gcount" | "_gsum") => Role::Gauge,
            (Type::Histogram, "_bucket") => Role::Bucket,
            (Type::GaugeHistogram, "_bucket") => Role::GaugeBucket,
            (Type::Counter | Type::Histogram | Type::Summary, "_created") => Role::Created,
            (Type::Info, "" | "_info") => return Some(None),
            _ => return None,
        };
        Some(Some(role))
    }
}

/// The descriptions of families on a page.
#[derive(Debug, Default)]
pub(super) struct Described<'a> {
    families: HashMap<&'a str, Description<'a>>,
}

/// The description of one family on a page.
#[derive(Clone, Copy, Debug, Default)]
struct Description<'a> {
    kind: Option<Type>,
    help: &'a [u8],
    unit: &'a [u8],
}

/// A series by its name, whatever its labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    pub name: &'a str,
    pub family: &'a str,
    pub role: Role,
    help: &'a [u8],
    unit: &'a [u8],
}

impl<'a> Described<'a> {
    /// Remembers what a line says about a family.
    ///
    /// # Errors
    /// When it is no type, or another than was said before: says what is needed.
    pub(super) fn note(&mut self, family: &'a str, what: About, text: &'a [u8]) -> Result<(), &'static str> {
        if self.families.len() >= N_FAMILIES_MAX && !self.families.contains_key(family) {
            return Err("20,000 families at most");
        }
        let description = self.families.entry(family).or_default();
        match what {
            About::Help => description.help = text,
            About::Unit => description.unit = text,
            About::Type => {
                let kind = Type::parse(text).ok_or("a type such as `counter`")?;
                if description.kind.is_some_and(|said| said != kind) {
                    return Err("one type for each family");
                }
                description.kind = Some(kind);
            }
        }
        Ok(())
    }

    /// Returns the description of the series called `name`, if they can be signals. A series without a description is a
    /// gauge.
    pub(super) fn find(&self, name: &'a str) -> Option<Named<'a>> {
        let by_suffix = SUFFIXES.into_iter().chain(["_info"]).find_map(|suffix| {
            let family = name.strip_suffix(suffix)?;
            let description = self.families.get(family)?;
            Some((family, description, description.kind?.role(suffix)?))
        });
        match by_suffix {
            Some((family, &Description { help, unit, .. }, role)) => {
                Some(Named { name, family, role: role?, help, unit })
            }
            None => {
                let Description { help, unit, .. } = self.families.get(name).copied().unwrap_or_default();
                Some(Named { name, family: name, role: Role::Gauge, help, unit })
            }
        }
    }
}

impl Named<'_> {
    /// The family of the signals that are made of the series.
    pub(super) fn signal_family(&self) -> Family {
        let (kind, name, range) = match self.role {
            Role::Counter => (Kind::Rate, self.name, Range { min: Some(0.0), max: None }),
            Role::Gauge | Role::Created => (Kind::Gauge, self.name, Range { min: None, max: None }),
            Role::Bucket | Role::GaugeBucket => (Kind::Gauge, self.family, Range { min: None, max: None }),
        };
        let sentence = sentence(self.help).unwrap_or_else(|| format!("What an exporter calls {name}."));
        let sentence = Cow::Owned(sentence);
        Family { pattern: Cow::Owned(name.to_owned()), unit: self.signal_unit(), kind, sentence, range, alias: None }
    }

    fn signal_unit(&self) -> Unit {
        let is_number = self.name != self.family && self.name.ends_with("count");
        let unit =
            if is_number { "" } else { self.declared_unit().or_else(|| self.unit_by_name()).unwrap_or_default() };
        match (self.role, unit) {
            (Role::Counter, "bytes") => Unit::BytesPerSecond,
            (Role::Counter, "") => Unit::Named("1/s".into()),
            (Role::Counter, unit) => Unit::Named(format!("{unit}/s").into()),
            (_, "bytes") => Unit::Bytes,
            (_, "ratio") => Unit::Ratio,
            (_, unit) => Unit::Named(Arc::from(unit)),
        }
    }

    fn declared_unit(&self) -> Option<&str> {
        let is_unit = |unit: &&str| unit.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        str::from_utf8(self.unit).ok().filter(|unit| (1..=UNIT_BYTES_MAX).contains(&unit.len())).filter(is_unit)
    }

    fn unit_by_name(&self) -> Option<&'static str> {
        let (stem, word) = self.family.strip_suffix("_total").unwrap_or(self.family).rsplit_once('_')?;
        UNITS.into_iter().find(|unit| *unit == word && !stem.is_empty())
    }
}

/// An explanation as one line of text, cut to a length that can be shown.
fn sentence(help: &[u8]) -> Option<String> {
    let help = String::from_utf8_lossy(&help[..help.len().min(4 * SENTENCE_BYTES_MAX)]);
    let help = help.replace("\\n", " ").replace("\\\\", "\\");
    let words: Vec<&str> =
        help.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    match line.floor_char_boundary(SENTENCE_BYTES_MAX) {
        0 => None,
        end if end < line.len() => Some(format!("{}\u{2026}", &line[..end])),
        _ => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(lines: &'static [(&str, About, &str)]) -> Described<'static> {
        let mut described = Described::default();
        lines.iter().for_each(|&(family, what, text)| described.note(family, what, text.as_bytes()).unwrap());
        described
    }

    #[track_caller]
    fn check_role(kind: &'static str, name: &'static str, role: Option<Role>) {
        let mut described = Described::default();
        described.note("a", About::Type, kind.as_bytes()).unwrap();
        assert_eq!(described.find(name).map(|named| named.role), role, "{name} of a {kind}");
    }

    #[test]
    fn a_series_is_what_the_type_of_its_family_makes_it() {
        check_role("counter", "a", Some(Role::Counter));
        check_role("counter", "a_total", Some(Role::Counter));
        check_role("counter", "a_created", Some(Role::Created));
        check_role("gauge", "a", Some(Role::Gauge));
        check_role("unknown", "a", Some(Role::Gauge));
        check_role("untyped", "a", Some(Role::Gauge));
        check_role("stateset", "a", Some(Role::Gauge));
        check_role("histogram", "a_bucket", Some(Role::Bucket));
        check_role("histogram", "a_count", Some(Role::Counter));
        check_role("histogram", "a_sum", Some(Role::Counter));
        check_role("gaugehistogram", "a_bucket", Some(Role::GaugeBucket));
        check_role("gaugehistogram", "a_gcount", Some(Role::Gauge));
        check_role("summary", "a", Some(Role::Gauge));
        check_role("summary", "a_sum", Some(Role::Counter));
        check_role("info", "a_info", None);
    }

    #[test]
    fn a_series_of_no_family_is_a_gauge() {
        check_role("gauge", "a_total", Some(Role::Gauge));
        check_role("histogram", "a_total", Some(Role::Gauge));
        check_role("counter", "b", Some(Role::Gauge));
    }

    #[test]
    fn one_family_can_be_called_as_a_series_of_another() {
        let described = described(&[("a", About::Type, "histogram"), ("a_count", About::Type, "gauge")]);
        assert_eq!(described.find("a_count").map(|named| (named.family, named.role)), Some(("a_count", Role::Gauge)));
    }

    #[test]
    fn a_family_has_one_type() {
        let mut described = described(&[("a", About::Type, "counter")]);
        assert_eq!(described.note("a", About::Type, b"counter"), Ok(()));
        assert_eq!(described.note("a", About::Type, b"gauge"), Err("one type for each family"));
        assert_eq!(described.note("b", About::Type, b"tally"), Err("a type such as `counter`"));
    }

    #[track_caller]
    fn check_unit(lines: &'static [(&str, About, &str)], name: &'static str, unit: &str) {
        assert_eq!(described(lines).find(name).unwrap().signal_family().unit.as_str(), unit, "{name}");
    }

    #[test]
    fn a_unit_is_declared_or_ends_the_name() {
        check_unit(&[("a_seconds", About::Type, "gauge")], "a_seconds", "seconds");
        check_unit(&[], "a_bytes", "bytes");
        check_unit(&[], "a_ratio", "ratio");
        check_unit(&[], "bytes", "");
        check_unit(&[("a", About::Unit, "widgets")], "a", "widgets");
        check_unit(&[("a", About::Unit, "\u{1b}[2J")], "a", "");
        check_unit(&[("a_seconds_total", About::Type, "counter")], "a_seconds_total", "seconds/s");
        check_unit(&[("a_bytes", About::Type, "counter")], "a_bytes_total", "bytes/s");
        check_unit(&[("a", About::Type, "counter")], "a_total", "1/s");
        check_unit(&[("a_seconds", About::Type, "histogram")], "a_seconds_count", "1/s");
        check_unit(&[("a_seconds", About::Type, "histogram")], "a_seconds_sum", "seconds/s");
        check_unit(&[("a_seconds", About::Type, "histogram")], "a_seconds_bucket", "seconds");
    }

    #[track_caller]
    fn check_sentence(help: &[u8], expected: Option<&str>) {
        assert_eq!(sentence(help).as_deref(), expected);
    }

    #[test]
    fn an_explanation_becomes_one_line() {
        check_sentence(b"Seconds  spent.", Some("Seconds spent."));
        check_sentence(br"one\ntwo \\ three", Some(r"one two \ three"));
        check_sentence(b"\x1b[2J\x00 red", Some("[2J red"));
        check_sentence(b"a\xffb", Some("a\u{fffd}b"));
        check_sentence(b" ", None);
        check_sentence(&[b'x'; 5000], Some(&format!("{}\u{2026}", "x".repeat(300))));
        check_sentence("\u{e9}".repeat(500).as_bytes(), Some(&format!("{}\u{2026}", "\u{e9}".repeat(150))));
    }
}
