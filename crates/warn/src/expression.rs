//! Expressions of signals that are compared: one signal, or sums, differences and ratios.

use std::fmt;
use std::str::FromStr;

use crate::name::unquoted;

/// The most signals of an expression: each is forecast by itself.
const N_SIGNALS_MAX: usize = 8;

/// The deepest that brackets nest.
const DEPTH_MAX: usize = 16;

/// A signal, or `cpu.user + cpu.system`, `a + b - c`, `(a + b) / c`.
///
/// Operators stand between spaces, because names may contain them. Names that hold spaces, quotes or comparisons stand
/// in double quotes ([`quoted`](crate::quoted)). Ratios bind closer than sums.
///
/// ```
/// use warn::Expression;
/// let expression: Expression = "a+b / c".parse()?;
/// assert_eq!(expression.signals(), ["a+b", "c"]);
/// let expression: Expression = "( a + b ) / c".parse()?;
/// assert_eq!(expression.signals(), ["a", "b", "c"]);
/// assert_eq!(expression.value(&[1.0, 2.0, 4.0]), 0.75);
/// assert_eq!(expression.unit(&["bytes", "bytes", "bytes"])?, "ratio");
/// # Ok::<(), warn::ExpressionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Each once, as they come.
    signals: Vec<String>,
    /// Operands before their operators.
    parts: Vec<Part>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Signal, by its place among the signals.
    Signal(usize),
    Of(Operator),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Sum,
    Difference,
    Ratio,
}

/// The reason why something is no expression, or none of these signals.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// Names and operators do not take turns.
    #[error(
        "`{text}`: {wanted} is missing {place}; write for example `cpu.user + cpu.system`, with spaces around `+`, `-` and `/`, and names with spaces in double quotes"
    )]
    Missing {
        /// The text as written.
        text: String,
        /// A signal, an operator or a bracket.
        wanted: &'static str,
        /// The place.
        place: String,
    },
    /// More than it may have.
    #[error("`{text}` is of more than 8 signals, or has brackets within more than 16 others; ask about parts of it")]
    TooLarge {
        /// The text as written.
        text: String,
    },
    /// Two signals that cannot be added.
    #[error(
        "`{left}` is in {left_unit} and `{right}` in {right_unit}, so there is no sum or difference of them; a ratio there is"
    )]
    Units {
        /// The left side.
        left: String,
        /// Unit of the left side.
        left_unit: String,
        /// The right side.
        right: String,
        /// Unit of the right side.
        right_unit: String,
    },
}

impl Expression {
    /// The signals of which it is, each once.
    #[must_use]
    pub fn signals(&self) -> &[String] {
        &self.signals
    }

    /// Whether it is nothing but a signal.
    #[must_use]
    pub fn is_signal(&self) -> bool {
        self.parts.len() == 1
    }

    /// Returns the value of the expression for these values of its signals, in their order; NaN if it divides by 0.
    ///
    /// # Panics
    /// Unless there is a value for each signal.
    #[must_use]
    pub fn value(&self, values: &[f64]) -> f64 {
        assert_eq!(values.len(), self.signals.len(), "a value for each signal");
        let signal = |idx: usize| values[idx];
        let value = self.fold(signal, |operator, left, right| match operator {
            Operator::Sum => left + right,
            Operator::Difference => left - right,
            Operator::Ratio => left / right,
        });
        if value.is_finite() { value } else { f64::NAN }
    }

    /// Returns the unit of the expression for these units of its signals, in their order: `ratio` for a share of the
    /// same.
    ///
    /// # Errors
    /// For sums and differences of what is not in one unit.
    ///
    /// # Panics
    /// Unless there is a unit for each signal.
    pub fn unit(&self, units: &[&str]) -> Result<String, ExpressionError> {
        assert_eq!(units.len(), self.signals.len(), "a unit for each signal");
        type Known = Result<(String, String), ExpressionError>;
        let signal = |idx: usize| -> Known { Ok((self.signals[idx].clone(), units[idx].to_owned())) };
        let (_, unit) = self.fold(signal, |operator, left: Known, right: Known| {
            let ((left, left_unit), (right, right_unit)) = (left?, right?);
            let text = format!("{left} {} {right}", operator.as_str());
            match operator {
                Operator::Ratio if left_unit == right_unit => Ok((text, "ratio".to_owned())),
                Operator::Ratio => Ok((text, per(&left_unit, &right_unit))),
                _ if left_unit == right_unit => Ok((text, left_unit)),
                _ => Err(ExpressionError::Units {
                    left,
                    left_unit: told(&left_unit),
                    right,
                    right_unit: told(&right_unit),
                }),
            }
        })?;
        Ok(unit)
    }

    fn fold<T>(&self, signal: impl Fn(usize) -> T, of: impl Fn(Operator, T, T) -> T) -> T {
        let mut known: Vec<T> = Vec::new();
        for part in &self.parts {
            let value = match part {
                Part::Signal(idx) => signal(*idx),
                Part::Of(operator) => {
                    let (right, left) = (known.pop(), known.pop());
                    of(*operator, left.expect("parsed"), right.expect("parsed"))
                }
            };
            known.push(value);
        }
        known.pop().expect("an expression has a value")
    }
}

/// The unit of a ratio.
fn per(left: &str, right: &str) -> String {
    match (left, right) {
        (_, "") => left.to_owned(),
        (_, right) if right.contains('/') => format!("{left}/({right})"),
        _ => format!("{left}/{right}"),
    }
}

fn told(unit: &str) -> String {
    if unit.is_empty() { "no unit that is known".to_owned() } else { format!("`{unit}`") }
}

impl Operator {
    const ALL: [Self; 3] = [Self::Sum, Self::Difference, Self::Ratio];

    fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "+",
            Self::Difference => "-",
            Self::Ratio => "/",
        }
    }
}

impl From<&str> for Expression {
    /// A signal, whatever its name.
    fn from(signal: &str) -> Self {
        Self { signals: vec![signal.to_owned()], parts: vec![Part::Signal(0)], text: signal.to_owned() }
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut reader = Reader { text, words: words(text), next: 0, signals: Vec::new(), parts: Vec::new() };
        reader.operands(0, &[Operator::Sum, Operator::Difference])?;
        if reader.next < reader.words.len() {
            return Err(reader.missing("an operator"));
        }
        let Reader { words, signals, parts, .. } = reader;
        Ok(Self { signals, parts, text: spelled(&words) })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parts between spaces, and brackets at the ends of those that have no partner within: names may have brackets, too.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let n = |word: &str, bracket: char| outside_quotes(word).filter(|(_, letter)| *letter == bracket).count();
    for mut word in between_spaces(text) {
        while word.starts_with('(') && n(word, '(') > n(word, ')') {
            words.push(&word[..1]);
            word = &word[1..];
        }
        let mut n_closed = 0;
        while word.ends_with(')') && n(word, ')') > n(word, '(') {
            word = &word[..word.len() - 1];
            n_closed += 1;
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
        words.extend(std::iter::repeat_n(")", n_closed));
    }
    words
}

fn between_spaces(text: &str) -> Vec<&str> {
    let mut begin = 0;
    let mut parts = Vec::new();
    for (at, space) in outside_quotes(text).filter(|(_, letter)| letter.is_whitespace()) {
        parts.push(&text[begin..at]);
        begin = at + space.len_utf8();
    }
    parts.push(&text[begin..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The letters that are not within double quotes, and where they are: labels, as in `up{job="a > b"}`, may hold
/// anything.
pub(crate) fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.char_indices().filter(move |(_, letter)| {
        if is_escaped {
            is_escaped = false;
        } else if *letter == '"' {
            is_quoted = !is_quoted;
            return false;
        } else if is_quoted {
            is_escaped = *letter == '\\';
        }
        !is_quoted
    })
}

/// Returns the words with one space between them, and none within brackets.
fn spelled(words: &[&str]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() && *word != ")" && !text.ends_with('(') {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

struct Reader<'a> {
    text: &'a str,
    words: Vec<&'a str>,
    next: usize,
    signals: Vec<String>,
    parts: Vec<Part>,
}

impl Reader<'_> {
    /// Operands with these operators between them, from the left; those of sums are ratios.
    fn operands(&mut self, depth: usize, operators: &[Operator]) -> Result<(), ExpressionError> {
        let is_ratio = operators == [Operator::Ratio];
        let mut pending = None;
        loop {
            if is_ratio {
                self.operand(depth)?
            } else {
                self.operands(depth, &[Operator::Ratio])?
            }
            self.parts.extend(pending.map(Part::Of));
            let word = self.words.get(self.next);
            pending = operators.iter().copied().find(|operator| word == Some(&operator.as_str()));
            if pending.is_none() {
                return Ok(());
            }
            self.next += 1;
        }
    }

    fn operand(&mut self, depth: usize) -> Result<(), ExpressionError> {
        let too_large = || ExpressionError::TooLarge { text: self.text.to_owned() };
        match self.words.get(self.next).copied() {
            Some("(") if depth >= DEPTH_MAX => Err(too_large()),
            Some("(") => {
                self.next += 1;
                self.operands(depth + 1, &[Operator::Sum, Operator::Difference])?;
                if self.words.get(self.next) != Some(&")") {
                    return Err(self.missing("`)`"));
                }
                self.next += 1;
                Ok(())
            }
            Some(word) if word != ")" && !Operator::ALL.iter().any(|operator| operator.as_str() == word) => {
                let name = unquoted(word);
                let known = self.signals.iter().position(|signal| *signal == name);
                if known.is_none() && self.signals.len() == N_SIGNALS_MAX {
                    return Err(too_large());
                }
                self.parts.push(Part::Signal(known.unwrap_or(self.signals.len())));
                if known.is_none() {
                    self.signals.push(name.into_owned());
                }
                self.next += 1;
                Ok(())
            }
            _ => Err(self.missing("a signal")),
        }
    }

    fn missing(&self, wanted: &'static str) -> ExpressionError {
        let place =
            self.words.get(self.next).map_or_else(|| "at the end".to_owned(), |word| format!("before `{word}`"));
        ExpressionError::Missing { text: self.text.to_owned(), wanted, place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_value(text: &str, values: &[f64], expected: f64) {
        assert_eq!(text.parse::<Expression>().unwrap().value(values), expected, "{text}");
    }

    #[test]
    fn ratios_bind_closer_and_the_left_comes_first() {
        check_value("a", &[3.0], 3.0);
        check_value("a - b - c", &[9.0, 3.0, 2.0], 4.0);
        check_value("a + b / c", &[1.0, 6.0, 2.0], 4.0);
        check_value("(a + b) / (c - a)", &[1.0, 7.0, 3.0], 4.0);
        check_value("a / b / b", &[8.0, 2.0], 2.0);
    }

    #[test]
    fn what_divides_by_nothing_is_a_gap() {
        let ratio: Expression = "a / b".parse().unwrap();
        assert!(ratio.value(&[1.0, 0.0]).is_nan() && ratio.value(&[f64::NAN, 1.0]).is_nan());
    }

    #[test]
    fn names_may_have_what_operators_have() {
        for name in ["net.eth0-1", "disk./var/lib", "up(a)", "a+b"] {
            assert_eq!(name.parse::<Expression>().unwrap().signals(), [name]);
        }
        assert_eq!("(up(a) + b)".parse::<Expression>().unwrap().signals(), ["up(a)", "b"]);
        assert_eq!("( a  +  b ) / c".parse::<Expression>().unwrap().to_string(), "(a + b) / c");
    }

    #[test]
    fn units_have_to_go_together() {
        let unit = |text: &str, units: &[&str]| text.parse::<Expression>().unwrap().unit(units);
        assert_eq!(unit("a / b", &["bytes", "bytes"]).unwrap(), "ratio");
        assert_eq!(unit("a / b", &["bytes", "seconds"]).unwrap(), "bytes/seconds");
        assert_eq!(unit("a / b", &["bytes", "requests/s"]).unwrap(), "bytes/(requests/s)");
        assert_eq!(unit("a + b", &["bytes/s", "bytes/s"]).unwrap(), "bytes/s");
        let refused = unit("a / b - c", &["bytes", "bytes", "celsius"]).unwrap_err().to_string();
        assert!(refused.contains("`a / b` is in `ratio` and `c` in `celsius`"), "{refused}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| text.parse::<Expression>().unwrap_err().to_string();
        assert!(message("").contains("a signal is missing at the end"));
        assert!(message("a b").contains("an operator is missing before `b`"));
        assert!(message("a +").contains("a signal is missing at the end"));
        assert!(message("/ a").contains("a signal is missing before `/`"));
        assert!(message("(a + b").contains("`)` is missing at the end"));
        assert!(message(&"( ".repeat(40)).contains("16"));
        assert!(message("a + b + c + d + e + f + g + h + i").contains("8 signals"));
    }
}
