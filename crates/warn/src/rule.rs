//! When somebody wants to be warned, as TOML.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::span;

use crate::statement::Statement;

/// The most rules in a file.
const N_MAX: usize = 10_000;

/// The longest name.
const NAME_BYTES_MAX: usize = 100;

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
    /// What the warning is called; no other rule of the file has this name.
    pub name: String,
    /// What is not to happen.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub when: Statement,
    /// How far ahead to look.
    #[serde(serialize_with = "as_span", deserialize_with = "from_span")]
    pub within: Duration,
    /// For how long it has to last.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "as_optional_span", deserialize_with = "from_optional_span")]
    pub lasting: Option<Duration>,
    /// The probability from which on the warning stands, in (0, 1].
    #[serde(default = "raise")]
    pub raise: f64,
    /// The probability below which it is taken back, in [0, `raise`].
    #[serde(default = "clear")]
    pub clear: f64,
}

/// Why something is no file of rules.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// It is no TOML, or has other keys.
    #[error("line {line}: {message}")]
    Text {
        /// Where, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// No rule, or more than there may be.
    #[error("there are {given} rules; a file has 1 to 10,000 `[[rule]]` tables")]
    Count {
        /// How many there are.
        given: usize,
    },
    /// Two rules of one name.
    #[error("two rules are called `{name}`; give each a name of its own")]
    Twice {
        /// Their name.
        name: String,
    },
    /// A name that cannot be shown.
    #[error("`{}` cannot be a rule's name: it must be 1 to 100 bytes without control characters", name.escape_debug())]
    Name {
        /// What was given.
        name: String,
    },
    /// Probabilities that make no sense.
    #[error(
        "rule `{name}`: raise is {raise} and clear is {clear}; 0 <= clear <= raise <= 1 and raise above 0 is right"
    )]
    Probabilities {
        /// The rule.
        name: String,
        /// When it is to be raised.
        raise: f64,
        /// When it is to be taken back.
        clear: f64,
    },
    /// A time of 0.
    #[error("rule `{name}`: `{field}` is 0; write a length of time such as 30min")]
    NoTime {
        /// The rule.
        name: String,
        /// `within` or `for`.
        field: &'static str,
    },
}

impl Rule {
    /// `memory.available < 500MB within 30m: 85 %`, for people.
    #[must_use]
    pub fn says(&self, probability: f64) -> String {
        says(&self.when, self.within, self.lasting, probability)
    }
}

/// How probable a statement is, for people: `memory.available < 500MB within 30m: 85 %`.
#[must_use]
pub fn says(statement: &Statement, within: Duration, lasting: Option<Duration>, probability: f64) -> String {
    let lasting = lasting.map_or_else(String::new, |lasting| format!(" for {}", span::format(lasting)));
    format!("{statement}{lasting} within {}: {:.0} %", span::format(within), 100.0 * probability)
}

fn raise() -> f64 {
    0.8
}

fn clear() -> f64 {
    0.5
}

impl Rules {
    /// In the order of the file.
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
        if !(1..=N_MAX).contains(&rules.len()) {
            return Err(RulesError::Count { given: rules.len() });
        }
        let mut names = std::collections::BTreeSet::new();
        for rule in &rules {
            let Rule { name, raise, clear, within, lasting, .. } = rule;
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) || name.contains(char::is_control) {
                return Err(RulesError::Name { name: name.chars().take(NAME_BYTES_MAX).collect() });
            }
            if !names.insert(name) {
                return Err(RulesError::Twice { name: name.clone() });
            }
            // Of a NaN this is false.
            let are_in_order = *raise > 0.0 && *raise <= 1.0 && (0.0..=*raise).contains(clear);
            if !are_in_order {
                return Err(RulesError::Probabilities { name: name.clone(), raise: *raise, clear: *clear });
            }
            for (field, length) in [("within", Some(*within)), ("for", *lasting)] {
                if length == Some(Duration::ZERO) {
                    return Err(RulesError::NoTime { name: name.clone(), field });
                }
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
        let message = |text: &str| text.parse::<Rules>().unwrap_err().to_string();
        assert!(rule("").parse::<Rules>().is_ok());
        assert!(message("").contains("there are 0 rules"));
        assert!(message(&rule("raise = 1.5")).contains("raise is 1.5"));
        assert!(message(&rule("clear = 0.9")).contains("clear is 0.9"));
        assert!(message(&rule("raise = nan")).contains("NaN"));
        assert!(message(&rule("for = \"0s\"")).contains("`for` is 0"));
        assert!(message(&rule("often = 1")).starts_with("line 5: unknown field `often`"));
        assert!(message(&rule(&rule(""))).contains("called `a`"));
        assert!(message(&rule("").replace("\"a\"", "\"\\n\"")).contains(r"`\n` cannot be a rule's name"));
        assert!(message(&rule("").replace("x > 3", "x")).contains("compares nothing"));
        assert!(message(&rule("").replace("30min", "30")).contains("30"));
    }
}
