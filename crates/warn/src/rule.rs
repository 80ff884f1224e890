//! Rules for the warnings that somebody wants, as TOML.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{WeekHours, span};

use crate::statement::Statement;

/// A rule that looks further ahead than so many times what is known of its signals warns of nothing yet: a minute tells
/// nothing of an afternoon.
const AHEAD_MAX: u32 = 8;

/// The longest name.
const NAME_BYTES_MAX: usize = 100;

/// The longest statement: eight signals of long names, and what stands between them.
const WHEN_BYTES_MAX: usize = 2000;

/// Rules of a file: `[[rule]]` tables.
///
/// ```
/// let rules: warn::Rules = r#"
/// [[rule]]
/// name = "memory runs out"
/// when = "memory.available < 500MB"
/// within = "30min"
/// "#.parse()?;
/// assert_eq!((rules.rules()[0].raise, rules.rules()[0].clear), (0.8, 0.5));
/// # Ok::<(), warn::RulesError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rules(Vec<Rule>);

/// A statement that somebody wants to be warned of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of the warning; no other rule of the file has this name.
    pub name: String,
    /// Statement of what is not to happen.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub when: Statement,
    /// Time to look ahead.
    #[serde(serialize_with = "as_span", deserialize_with = "from_span")]
    pub within: Duration,
    /// Time for which the statement has to last.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "as_optional_span", deserialize_with = "from_optional_span")]
    pub lasting: Option<Duration>,
    /// The probability from which on the warning stands, in (0, 1].
    #[serde(default = "raise")]
    pub raise: f64,
    /// The probability below which it is taken back, in [0, `raise`].
    #[serde(default = "clear")]
    pub clear: f64,
    /// Hours of the week in which nobody is notified that the warning stands.
    #[serde(default, skip_serializing_if = "WeekHours::is_empty")]
    pub quiet: WeekHours,
}

/// The reason why something is no file of rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// It is no TOML, or has other keys.
    #[error("line {line}: {message}")]
    Text {
        /// Number of the line, from 1.
        line: usize,
        /// Message of the parser.
        message: String,
    },
    /// No rule, or more than there may be.
    #[error("there are {given} rules; a file has 1 to 10,000 `[[rule]]` tables")]
    Count {
        /// Number of rules that there are.
        given: usize,
    },
    /// Two rules of one name.
    #[error("two rules are called `{name}`; give each a name of its own")]
    Twice {
        /// Their name.
        name: String,
    },
    /// A rule that makes no sense.
    #[error("rule `{}` cannot be used", name.escape_debug())]
    Rule {
        /// Name of the rule.
        name: String,
        /// The reason.
        source: RuleError,
    },
}

/// The reason why a rule makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// A name that cannot be shown.
    #[error("`{}` cannot be a rule's name: it must be 1 to 100 bytes without control characters", name.escape_debug())]
    Name {
        /// The name as given, or its beginning.
        name: String,
    },
    /// More text than a statement needs.
    #[error("`when` has {n_bytes} bytes; 2,000 is the most")]
    TooLong {
        /// Number of bytes that the statement has.
        n_bytes: usize,
    },
    /// Probabilities that make no sense.
    #[error("`raise` is {raise} and `clear` is {clear}; 0 <= clear <= raise <= 1 and raise above 0 is right")]
    Probabilities {
        /// Probability from which on the warning is to stand.
        raise: f64,
        /// Probability below which the warning is to be taken back.
        clear: f64,
    },
    /// A time of 0.
    #[error("`{field}` is 0; write a length of time such as 30min")]
    NoTime {
        /// `within` or `for`.
        field: &'static str,
    },
}

impl RuleError {
    /// The key of the rule that is to blame.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Name { .. } => "name",
            Self::TooLong { .. } => "when",
            Self::Probabilities { raise, .. } if *raise > 0.0 && *raise <= 1.0 => "clear",
            Self::Probabilities { .. } => "raise",
            Self::NoTime { field } => field,
        }
    }
}

impl Rule {
    /// The probability from which on a warning stands, where none is given.
    pub const RAISE: f64 = 0.8;

    /// The probability below which it is taken back, where none is given.
    pub const CLEAR: f64 = 0.5;

    /// Whether it makes sense by itself; of the signals that there are it knows nothing.
    ///
    /// # Errors
    /// [`RuleError`] when it does not.
    pub fn check(&self) -> Result<(), RuleError> {
        let Self { name, when, within, lasting, raise, clear, quiet: _ } = self;
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) || name.contains(char::is_control) {
            return Err(RuleError::Name { name: name.chars().take(NAME_BYTES_MAX).collect() });
        }
        let n_bytes = when.to_string().len();
        if n_bytes > WHEN_BYTES_MAX {
            return Err(RuleError::TooLong { n_bytes });
        }
        // Of a NaN this is false.
        let are_in_order = *raise > 0.0 && *raise <= 1.0 && (0.0..=*raise).contains(clear);
        if !are_in_order {
            return Err(RuleError::Probabilities { raise: *raise, clear: *clear });
        }
        for (field, length) in [("within", Some(*within)), ("for", *lasting)] {
            if length == Some(Duration::ZERO) {
                return Err(RuleError::NoTime { field });
            }
        }
        Ok(())
    }

    /// Returns the reason why the rule cannot warn as long as no more than this is known of its signals; `None` if
    /// that is enough.
    #[must_use]
    pub fn too_young(&self, known: Duration) -> Option<String> {
        let Self { when, within, .. } = self;
        (*within > known.saturating_mul(AHEAD_MAX)).then(|| {
            let [known, within] = [known, *within].map(span::format);
            format!("`{}` is known for {known}: too young to look {within} ahead", when.of)
        })
    }

    /// `memory.available < 500MB within 30m: 85 %`, for people.
    #[must_use]
    pub fn says(&self, probability: f64) -> String {
        says(&self.when, self.within, self.lasting, probability)
    }
}

/// Returns a statement and its probability, for people: `memory.available < 500MB within 30m: 85 %`.
#[must_use]
pub fn says(statement: &Statement, within: Duration, lasting: Option<Duration>, probability: f64) -> String {
    let lasting = lasting.map_or_else(String::new, |lasting| format!(" for {}", span::format(lasting)));
    format!("{statement}{lasting} within {}: {:.0} %", span::format(within), 100.0 * probability)
}

fn raise() -> f64 {
    Rule::RAISE
}

fn clear() -> f64 {
    Rule::CLEAR
}

impl Rules {
    /// The most rules in a file.
    pub const N_MAX: usize = 10_000;

    /// Rules as the text of a file.
    ///
    /// # Panics
    /// Never: every rule has a form in TOML.
    #[must_use]
    pub fn to_toml(rules: &[Rule]) -> String {
        #[derive(Serialize)]
        struct File<'a> {
            #[serde(skip_serializing_if = "<[Rule]>::is_empty")]
            rule: &'a [Rule],
        }
        toml::to_string(&File { rule: rules }).expect("text and numbers have a form in TOML")
    }

    /// Returns the rules in the order of the file.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }
}

impl FromStr for Rules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            rule: Vec<Rule>,
        }
        let File { rule: rules } = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            RulesError::Text { line, message: error.message().to_owned() }
        })?;
        if !(1..=Self::N_MAX).contains(&rules.len()) {
            return Err(RulesError::Count { given: rules.len() });
        }
        let mut names = std::collections::BTreeSet::new();
        for rule in &rules {
            let name = &rule.name;
            rule.check()
                .map_err(|source| RulesError::Rule { name: name.chars().take(NAME_BYTES_MAX).collect(), source })?;
            if !names.insert(name) {
                return Err(RulesError::Twice { name: name.clone() });
            }
        }
        Ok(Self(rules))
    }
}

fn as_text<S: Serializer>(statement: &Statement, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(statement)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Statement, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

fn as_span<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&span::format(*length))
}

fn from_span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    span::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn as_optional_span<S: Serializer>(length: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    length.map(span::format).serialize(serializer)
}

fn from_optional_span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    from_span(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let rule = |more: &str| format!("[[rule]]\nname = \"a\"\nwhen = \"x > 3\"\nwithin = \"30min\"\n{more}");
        let message = |text: &str| {
            let error = text.parse::<Rules>().unwrap_err();
            let source = std::error::Error::source(&error).map_or_else(String::new, |source| format!(": {source}"));
            format!("{error}{source}")
        };
        assert!(rule("").parse::<Rules>().is_ok());
        assert!(message("").contains("there are 0 rules"));
        assert!(message(&rule("raise = 1.5")).contains("`raise` is 1.5"));
        assert!(message(&rule("clear = 0.9")).contains("`clear` is 0.9"));
        assert!(message(&rule("raise = nan")).contains("NaN"));
        assert!(message(&rule("for = \"0s\"")).contains("`for` is 0"));
        assert!(message(&rule("quiet = [\"22-06\"]")).contains("line 5: `22-06` are no hours of the week"));
        assert!(message(&rule("quiet = [\"Sat Sun\", \"Mon-Fri\"]")).contains("`Sat Sun, Mon-Fri` is all of the week"));
        assert!(message(&rule("often = 1")).starts_with("line 5: unknown field `often`"));
        assert!(message(&rule(&rule(""))).contains("called `a`"));
        assert!(message(&rule("").replace("\"a\"", "\"\\n\"")).contains(r"`\n` cannot be a rule's name"));
        assert!(
            message(&rule("").replace("x > 3", &format!("{} > 3", "x".repeat(2000)))).contains("2,000 is the most")
        );
        assert!(message(&rule("").replace("x > 3", "x")).contains("compares nothing"));
        assert!(message(&rule("").replace("30min", "30")).contains("30"));
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = "[[rule]]\nname = \"a \\\"b\\\" c\"\nwhen = \"max(a / (b+c  +  d))>=-1.5e-7 MB\"\nwithin = \"90min\"\n\
             [[rule]]\nname = \"2\"\nwhen = \"x < 5%\"\nwithin = \"1500ms\"\nfor = \"1s\"\nraise = 0.3\nclear = 0.1\n\
             quiet = [\"Mon-Fri 22:00-6:00\", \"sat sun\"]\n";
        let rules: Rules = text.parse().unwrap();
        let written = Rules::to_toml(rules.rules());
        assert_eq!(written.parse(), Ok(rules), "{written}");
        assert_eq!(Rules::to_toml(&[]), "");
    }
}
