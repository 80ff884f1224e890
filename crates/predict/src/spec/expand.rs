//! Ranges of orders in a specification's text: many candidates in few letters.

use super::{Spec, SpecError};

/// A selection fits every one of them.
const N_SPECS_MAX: usize = 1000;

impl Spec {
    /// Every specification that `text` stands for, where any whole number in it may be a range: `AR(1..16)`, `ARMA(0..4,0..4)`. Both
    /// ends belong to a range; the last one runs fastest. Combinations without a coefficient, as ARMA(0,0), are left out.
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
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let pieces = pieces(&compact)?;
        let sizes = pieces.iter().map(|piece| match piece {
            Piece::Plain(_) => 1,
            Piece::Range { low, high } => high - low + 1,
        });
        let n_specs = sizes.fold(1_usize, usize::saturating_mul);
        if n_specs > N_SPECS_MAX {
            return Err(SpecError::TooMany { text: text.to_owned(), n_specs, n_specs_max: N_SPECS_MAX });
        }
        let mut specs = Vec::with_capacity(n_specs);
        let mut left_out = None;
        for number in 0..n_specs {
            match written(&pieces, number).parse() {
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

enum Piece<'t> {
    Plain(&'t str),
    Range { low: usize, high: usize },
}

/// Taken apart at `low..high`.
fn pieces(text: &str) -> Result<Vec<Piece<'_>>, SpecError> {
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
        pieces.push(Piece::Plain(&before[..start]));
        pieces.push(Piece::Range { low, high });
        rest = &after[end..];
    }
    pieces.push(Piece::Plain(rest));
    Ok(pieces)
}

/// The combination of this number, the last range running fastest.
fn written(pieces: &[Piece<'_>], number: usize) -> String {
    let mut left = number;
    let mut parts: Vec<String> = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().rev() {
        parts.push(match piece {
            Piece::Plain(text) => (*text).to_owned(),
            Piece::Range { low, high } => {
                let size = high - low + 1;
                let value = low + left % size;
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
        check_refused("AR(0..0)", "the order of `AR` is `0`; it has to be a whole number from 1 to 1024");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        check_refused("AR(3..1)", "`3..1` is no range; it is written 1..16, the lower end first");
        check_refused("AR(..4)", "`..4` is no range; it is written 1..16, the lower end first");
        check_refused("AR(1..)", "`1..` is no range; it is written 1..16, the lower end first");
        check_refused("AR(1..2..3)", "`..3` is no range; it is written 1..16, the lower end first");
    }

    #[test]
    fn the_number_of_candidates_is_bounded() {
        check_refused(
            "ARMA(0..40,0..40)",
            "`ARMA(0..40,0..40)` stands for 1681 models, and at most 1000 are tried; narrower ranges have fewer",
        );
        check_refused(
            "AR(0..18446744073709551615)",
            "`0..18446744073709551615` is no range; it is written 1..16, the lower end first",
        );
    }
}
