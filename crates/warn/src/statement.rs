//! Statements about a signal's future, as text.

use std::fmt;
use std::str::FromStr;

use units::ByteCount;

use crate::expression::{Expression, ExpressionError, outside_quotes};
use crate::name;

/// A comparison of a signal with a number, such as `cpu.busy > 90 %`, `max(load.1m) >= 4` or
/// `memory.available < 500 MB`; for the signal may stand an expression of several, `cpu.user + cpu.system > 90 %`.
///
/// ```
/// use warn::Statement;
/// let statement: Statement = "memory.available<500MB".parse()?;
/// assert_eq!(statement.to_string(), "memory.available < 500MB");
/// assert_eq!(statement.line("bytes")?, 5e8);
/// assert!(statement.line("ratio").is_err());
/// # Ok::<(), warn::StatementError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The quantity of the signal that is compared.
    pub subject: Subject,
    /// The signal, or an expression of several.
    pub of: Expression,
    /// The comparison.
    pub comparison: Comparison,
    /// The threshold, in the unit that was written.
    number: f64,
    /// Text after the number.
    unit: String,
}

/// Quantity of a signal that is compared, over the time that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Its values: true as soon as one of them is.
    Any,
    /// The largest value.
    Max,
    /// The smallest value.
    Min,
    /// The mean of all values.
    Mean,
}

/// Comparison of something with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// The reason why something is no statement, or none about this signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatementError {
    /// There is nothing to compare by.
    #[error("`{text}` compares nothing; write for example `cpu.busy > 90 %` or `max(load.1m) >= 4`")]
    NoComparison {
        /// The text as written.
        text: String,
    },
    /// A comparison that there is not.
    #[error("`{text}` compares by `{comparison}`; a statement compares by `<`, `<=`, `>` or `>=`")]
    Equality {
        /// The text as written.
        text: String,
        /// The comparison.
        comparison: String,
    },
    /// There is no name on the left.
    #[error("`{text}` names no signal before its `{comparison}`; write for example `cpu.busy > 90 %`")]
    NoSignal {
        /// The text as written.
        text: String,
        /// The comparison.
        comparison: String,
    },
    /// An expression on the left that cannot be read.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A function that there is not.
    #[error("`{name}` is nothing that a statement can take of a signal; `max`, `min` and `mean` are")]
    UnknownSubject {
        /// The text before the bracket, as written.
        name: String,
    },
    /// A text on the right that is no finite number.
    #[error("`{given}` is no number to compare with; write for example `90 %`, `4` or `500 MB`")]
    Number {
        /// The text as written.
        given: String,
    },
    /// A time behind the number.
    #[error("`{given}` has a time in it; give that beside the statement, as `{word}` (`--{word}` on the command line)")]
    Time {
        /// The text after the comparison, as written.
        given: String,
        /// The word before the time.
        word: String,
    },
    /// The signal counts something else.
    #[error("`{signal}` is in {unit}, so it cannot be compared with `{given}`; write {example}")]
    Unit {
        /// The signal's name.
        signal: String,
        /// Unit of the signal.
        unit: String,
        /// The number and unit of the statement.
        given: String,
        /// An example of what would be right.
        example: String,
    },
}

impl Statement {
    /// Whether a text is meant as a statement rather than as a signal's name.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        let has_open_quote = text.matches('"').count() % 2 == 1;
        // Without spaces it may be part of a name.
        comparison_at(text).is_some()
            || (has_open_quote && text.contains(['<', '>']))
            || equality(text).is_some_and(|sign| text.contains(&format!(" {sign} ")))
    }

    /// Reads a statement in which the names of these signals need no quotes, whatever they hold. Of two names that fit,
    /// the longer one counts.
    ///
    /// # Errors
    /// As reading a text in which the names have quotes.
    pub fn read<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Result<Self, StatementError> {
        name::quote_known(text, names).parse()
    }

    /// The number to compare with, in the unit of the signal: `ratio` for shares, of which percentages are accepted,
    /// `bytes` and `bytes/s` with their usual multiples, any other by its own name.
    ///
    /// # Errors
    /// When what was written is in another unit.
    pub fn line(&self, unit: &str) -> Result<f64, StatementError> {
        let given = self.unit.as_str();
        let is_percent = matches!(given, "%" | "percent");
        let of_bytes = || {
            let amount = if unit == "bytes/s" { given.strip_suffix("/s")? } else { given };
            let one: ByteCount = format!("1{amount}").parse().ok()?;
            Some(self.number * one.bytes() as f64)
        };
        let line = match unit {
            _ if given.is_empty() || given == unit => Some(self.number),
            "ratio" if is_percent => Some(self.number / 100.0),
            "percent" | "%" if is_percent => Some(self.number),
            "bytes" | "bytes/s" => of_bytes(),
            "celsius" if given == "°C" => Some(self.number),
            "watts" if given == "W" => Some(self.number),
            _ => None,
        };
        line.ok_or_else(|| StatementError::Unit {
            signal: self.of.to_string(),
            unit: if unit.is_empty() { "no unit that is known".to_owned() } else { format!("`{unit}`") },
            given: format!("{}{given}", self.number),
            example: match unit {
                "ratio" => "a share such as `0.9` or `90 %`".to_owned(),
                "bytes" => "an amount such as `500 MB`".to_owned(),
                "bytes/s" => "a rate such as `20 MB/s`".to_owned(),
                _ => "the number alone".to_owned(),
            },
        })
    }
}

impl Comparison {
    const ALL: [Self; 4] = [Self::AtLeast, Self::AtMost, Self::Above, Self::Below];

    fn as_str(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// Whether it holds of a value; never of NaN.
    #[must_use]
    pub fn holds(self, value: f64, line: f64) -> bool {
        match self {
            Self::Above => value > line,
            Self::AtLeast => value >= line,
            Self::Below => value < line,
            Self::AtMost => value <= line,
        }
    }
}

impl Subject {
    fn as_str(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Max => "max",
            Self::Min => "min",
            Self::Mean => "mean",
        }
    }
}

impl FromStr for Statement {
    type Err = StatementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_comparison = || match equality(text) {
            None => StatementError::NoComparison { text: text.to_owned() },
            Some(sign) => StatementError::Equality { text: text.to_owned(), comparison: sign.to_owned() },
        };
        let at = comparison_at(text).ok_or_else(no_comparison)?;
        let (left, rest) = text.split_at(at);
        let comparison =
            Comparison::ALL.into_iter().find(|one| rest.starts_with(one.as_str())).ok_or_else(no_comparison)?;
        let (subject, of) = match call(left.trim()) {
            None => (Subject::Any, left.trim()),
            Some((name, of)) => {
                let subject = [Subject::Max, Subject::Min, Subject::Mean].into_iter().find(|one| one.as_str() == name);
                (subject.ok_or_else(|| StatementError::UnknownSubject { name: name.to_owned() })?, of.trim())
            }
        };
        if of.is_empty() {
            return Err(StatementError::NoSignal { text: text.to_owned(), comparison: comparison.as_str().to_owned() });
        }
        let given = rest[comparison.as_str().len()..].trim();
        // The unit begins where the longest number ends.
        let is_number = |end: &usize| given.get(..*end).is_some_and(|number| number.parse::<f64>().is_ok());
        let (number, unit) = given.split_at((1..=given.len()).rev().find(is_number).unwrap_or(0));
        let number = number.parse().ok().filter(|number: &f64| number.is_finite());
        let number = number.ok_or_else(|| StatementError::Number { given: given.to_owned() })?;
        if let Some(word) = unit.split_whitespace().find(|word| ["within", "for"].contains(word)) {
            return Err(StatementError::Time { given: given.to_owned(), word: word.to_owned() });
        }
        Ok(Self { subject, of: of.parse()?, comparison, number, unit: unit.trim().to_owned() })
    }
}

/// Returns the position where the comparison begins.
fn comparison_at(text: &str) -> Option<usize> {
    outside_quotes(text).find(|(_, letter)| matches!(letter, '<' | '>')).map(|(at, _)| at)
}

/// The `=`, `==` or `!=` that somebody compares by, outside of labels.
fn equality(text: &str) -> Option<&str> {
    let mut depth = 0;
    let (at, _) = outside_quotes(text).find(|(_, letter)| {
        depth += i32::from(*letter == '{') - i32::from(*letter == '}');
        depth <= 0 && *letter == '='
    })?;
    let (left, right) = (&text[..at], &text[at + 1..]);
    Some(&text[at - usize::from(left.ends_with('!'))..=at + usize::from(right.starts_with('='))])
}

/// The function, and of what, where a text is nothing but a call of one.
fn call(text: &str) -> Option<(&str, &str)> {
    let (name, inside) = text.strip_suffix(')')?.split_once('(')?;
    let is_name =
        !name.trim().is_empty() && !name.trim().contains(|letter: char| letter.is_whitespace() || letter == '"');
    // In `(a + b) / (c + d)` and `up(a) / up(b)` the first bracket is closed before the end.
    let mut n_open = 0_i32;
    let is_whole = outside_quotes(inside).all(|(_, letter)| {
        n_open += i32::from(letter == '(') - i32::from(letter == ')');
        n_open >= 0
    });
    (is_name && is_whole).then_some((name.trim(), inside))
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, of, comparison, number, unit } = self;
        match subject {
            Subject::Any => write!(f, "{of} ")?,
            subject => write!(f, "{}({of}) ", subject.as_str())?,
        }
        write!(f, "{} {number}{unit}", comparison.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(text: &str, unit: &str, expected: f64) {
        assert_eq!(text.parse::<Statement>().unwrap().line(unit), Ok(expected));
    }

    #[test]
    fn text_round_trips_in_one_spelling() {
        for (text, spelling) in [
            ("cpu.busy>90%", "cpu.busy > 90%"),
            (" max( load.1m ) >= 4 ", "max(load.1m) >= 4"),
            ("mean(x)<=-1.5e-3", "mean(x) <= -0.0015"),
            ("memory.available < 500 MB", "memory.available < 500MB"),
            ("( a + b ) / (c - d) > 90%", "(a + b) / (c - d) > 90%"),
            ("max(a / b)>0.9", "max(a / b) > 0.9"),
            (r#"up{job="a > b (c\""}>1"#, r#"up{job="a > b (c\""} > 1"#),
            (r#"(m{x="two  words"}  +  n)>1"#, r#"(m{x="two  words"} + n) > 1"#),
        ] {
            let statement: Statement = text.parse().unwrap();
            assert_eq!(statement.to_string(), spelling);
            assert_eq!(spelling.parse(), Ok(statement));
        }
    }

    #[test]
    fn lines_are_in_the_unit_of_the_signal() {
        check_line("x > 90 %", "ratio", 0.9);
        check_line("x > 0.9", "ratio", 0.9);
        check_line("x > 500MB", "bytes", 5e8);
        check_line("x > 2 MiB/s", "bytes/s", 2_097_152.0);
        check_line("x > 80 °C", "celsius", 80.0);
        check_line("x > 15W", "watts", 15.0);
        check_line("x > 1.5 GB", "bytes", 1.5e9);
        check_line("x > 3 celsius", "celsius", 3.0);
        check_line("x > 3", "", 3.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| text.parse::<Statement>().unwrap_err().to_string();
        assert!(message("cpu.busy").contains("compares nothing"));
        for (text, sign) in [("a = 3", "="), ("a==3", "=="), ("max(a) != 3", "!="), (r#"up{job="a"} == 1"#, "==")] {
            let expected = format!("`{text}` compares by `{sign}`; a statement compares by `<`, `<=`, `>` or `>=`");
            assert_eq!(message(text), expected);
        }
        assert!(message(r#"up{job="a = b"}"#).contains("compares nothing"));
        assert_eq!(["a = 3", "a=3", "a", "a > 3"].map(Statement::is_one), [true, false, false, true]);
        assert!(message("> 3").contains("names no signal"));
        for (text, given, word) in
            [("a > 3 within 1h", "3 within 1h", "within"), ("a < 2 % for 5 min", "2 % for 5 min", "for")]
        {
            assert!(
                message(text).starts_with(&format!("`{given}` has a time in it"))
                    && message(text).contains(&format!("--{word}"))
            );
        }
        assert!(message("p99(x) > 3").contains("`p99`"));
        assert!(message("x > many").contains("`many`"));
        assert!(message("x > 1e999").contains("1e999"));
        let of_unit = |text: &str, unit: &str| text.parse::<Statement>().unwrap().line(unit).unwrap_err().to_string();
        assert!(of_unit("x > 500 MB", "ratio").contains("`90 %`"));
        assert!(of_unit("x > 5 %", "bytes").contains("`500 MB`"));
        assert!(of_unit("x > 5 MB", "bytes/s").contains("`20 MB/s`"));
    }
}
