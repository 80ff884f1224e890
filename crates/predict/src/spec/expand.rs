//! Ranges of orders in a specification's text: many candidates in few letters.

use std::fmt;
use std::str::FromStr;

use super::{Spec, SpecError};

/// A selection fits every one of them.
const N_SPECS_MAX: usize = 1000;

impl Spec {
    /// Every specification that `text` stands for, where any whole number in it may be a range: `AR(1..16)`,
    /// `ARMA(0..4,0..4)`. Both ends belong to a range; the last one runs fastest. Combinations without a coefficient,
    /// as ARMA(0,0), are left out.
    ///
    /// ```
    /// use predict::Spec;
    /// let orders = Spec::expand("ARMA(0..1,0..1)")?;
    /// assert_eq!(orders, ["ARMA(0,1)".parse()?, "ARMA(1,0)".parse()?, "ARMA(1,1)".parse()?]);
    /// # Ok::<(), predict::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// Those of reading a specification; a range that is none, or that falls; more than 1000 combinations.
    pub fn expand(text: &str) -> Result<Vec<Self>, SpecError> {
        let family: Family = text.parse()?;
        let n_specs = usize::try_from(family.n_members).unwrap_or(usize::MAX);
        if n_specs > N_SPECS_MAX {
            return Err(SpecError::TooMany { text: text.to_owned(), n_specs, n_specs_max: N_SPECS_MAX });
        }
        let mut specs = Vec::with_capacity(n_specs);
        let mut left_out = None;
        for number in 0..family.n_members {
            match family.read(number) {
                Ok(spec) => specs.push(spec),
                // An order of 0 that its range brought along.
                Err(error @ SpecError::OutOfRange { .. }) if n_specs > 1 && is_order_zero(&error) => {
                    left_out = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        match left_out {
            Some(error) if specs.is_empty() => Err(error),
            _ => Ok(specs),
        }
    }
}

/// Specifications that differ in numbers only, as many as there may be: a text with ranges, read but not expanded.
///
/// ```
/// use predict::Family;
/// let family: Family = "REFIT(AR(1..32),every=100..500,window=600)".parse()?;
/// assert_eq!(family.n_members(), 32 * 401);
/// assert_eq!(family.member(401)?, Some("REFIT(AR(2),every=100,window=600)".parse()?));
/// # Ok::<(), predict::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    text: String,
    pieces: Vec<Piece>,
    n_members: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Plain(String),
    Range { low: usize, high: usize },
}

impl Family {
    /// Returns the number of combinations of numbers, at least 1; those without a coefficient count.
    #[must_use]
    pub fn n_members(&self) -> u64 {
        self.n_members
    }

    /// The specification of this number, the last range running fastest; `None` for a combination without a
    /// coefficient, as ARMA(0,0), where ranges brought it along.
    ///
    /// # Errors
    /// When the numbers are outside of what the model takes.
    ///
    /// # Panics
    /// When `number` is not below [`Family::n_members`].
    pub fn member(&self, number: u64) -> Result<Option<Spec>, SpecError> {
        assert!(number < self.n_members, "member {number} of {}", self.n_members);
        match self.read(number) {
            Ok(spec) => Ok(Some(spec)),
            Err(error) if self.n_members > 1 && is_order_zero(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, number: u64) -> Result<Spec, SpecError> {
        written(&self.pieces, number).parse()
    }
}

impl FromStr for Family {
    type Err = SpecError;

    /// Says whether the text has the shape of a model and of ranges; numbers are checked as members are made.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let pieces = pieces(&text)?;
        let sizes = pieces.iter().map(|piece| match piece {
            Piece::Plain(_) => 1,
            Piece::Range { low, high } => (high - low + 1) as u64,
        });
        let n_members = sizes.fold(1_u64, u64::saturating_mul);
        Ok(Self { text, pieces, n_members })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Taken apart at `low..high`.
fn pieces(text: &str) -> Result<Vec<Piece>, SpecError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(dots) = rest.find("..") {
        let (before, after) = (&rest[..dots], &rest[dots + 2..]);
        let start = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let end = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let range = before[start..].parse::<usize>().ok().zip(after[..end].parse::<usize>().ok());
        let (low, high) = range
            .filter(|(low, high)| low <= high && *high < usize::MAX)
            .ok_or_else(|| SpecError::BadRange { given: format!("{}..{}", &before[start..], &after[..end]) })?;
        pieces.push(Piece::Plain(before[..start].to_owned()));
        pieces.push(Piece::Range { low, high });
        rest = &after[end..];
    }
    pieces.push(Piece::Plain(rest.to_owned()));
    Ok(pieces)
}

/// The combination of this number, the last range running fastest.
fn written(pieces: &[Piece], number: u64) -> String {
    let mut left = number;
    let mut parts: Vec<String> = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().rev() {
        parts.push(match piece {
            Piece::Plain(text) => text.clone(),
            Piece::Range { low, high } => {
                let size = (high - low + 1) as u64;
                let value = *low as u64 + left % size;
                left /= size;
                value.to_string()
            }
        });
    }
    parts.reverse();
    parts.concat()
}

fn is_order_zero(error: &SpecError) -> bool {
    matches!(error, SpecError::OutOfRange { given, argument, .. } if given == "0" && argument.contains("order"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_expands(text: &str, expected: &[&str]) {
        let specs: Vec<String> = Spec::expand(text).unwrap().iter().map(Spec::to_string).collect();
        assert_eq!(specs, expected);
    }

    #[track_caller]
    fn check_refused(text: &str, message: &str) {
        assert_eq!(Spec::expand(text).unwrap_err().to_string(), message);
    }

    #[test]
    fn ranges_count_both_ends() {
        check_expands("AR(1..3)", &["AR(1)", "AR(2)", "AR(3)"]);
        check_expands(
            "arima( 0..1, 1, 1..2, method=ml )",
            &["ARIMA(0,1,1,method=ml)", "ARIMA(0,1,2,method=ml)", "ARIMA(1,1,1,method=ml)", "ARIMA(1,1,2,method=ml)"],
        );
        check_expands(
            "REFIT(AR(2..3),every=50,window=100)",
            &["REFIT(AR(2),every=50,window=100)", "REFIT(AR(3),every=50,window=100)"],
        );
    }

    #[test]
    fn a_text_without_ranges_stands_for_itself() {
        check_expands("LAST", &["LAST"]);
    }

    #[test]
    fn what_has_no_coefficient_is_left_out() {
        check_expands("ARMA(0..1,0..1)", &["ARMA(0,1)", "ARMA(1,0)", "ARMA(1,1)"]);
        check_refused("AR(0..0)", "the order of `AR` is `0`; it must be a whole number from 1 to 1024");
    }

    #[test]
    fn a_family_may_be_larger_than_a_selection() {
        let family: Family = "ARIMA(0..99, 0..1, 0..99)".parse().unwrap();
        assert_eq!((family.n_members(), family.to_string().as_str()), (20_000, "ARIMA(0..99,0..1,0..99)"));
        assert_eq!(family.member(0).unwrap(), None);
        assert_eq!(family.member(101).unwrap(), Some("ARIMA(0,1,1)".parse().unwrap()));
        assert_eq!("AR(0..18446744073709551614)".parse::<Family>().unwrap().n_members(), u64::MAX);
        assert!("AR(2..1)".parse::<Family>().is_err());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        check_refused("AR(3..1)", "`3..1` is not a range; it is written 1..16, the lower end first");
        check_refused("AR(..4)", "`..4` is not a range; it is written 1..16, the lower end first");
        check_refused("AR(1..)", "`1..` is not a range; it is written 1..16, the lower end first");
        check_refused("AR(1..2..3)", "`..3` is not a range; it is written 1..16, the lower end first");
    }

    #[test]
    fn the_number_of_candidates_is_bounded() {
        check_refused(
            "ARMA(0..40,0..40)",
            "`ARMA(0..40,0..40)` stands for 1681 models, but at most 1000 are tried; use narrower ranges",
        );
        check_refused(
            "AR(0..18446744073709551615)",
            "`0..18446744073709551615` is not a range; it is written 1..16, the lower end first",
        );
    }
}
