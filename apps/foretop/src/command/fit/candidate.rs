//! Models asked for by text, of which one may stand for many: `ARMA(0..4,0..4)`.

use std::ops::RangeInclusive;

use predict::{ArMethod, Method, Spec, SpecError};

/// A fit of each takes its time.
const N_CANDIDATES_MAX: usize = 1000;

/// Why texts are no candidates.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum CandidateError {
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("`{given}` is no range of orders; it is written from the least to the greatest, as in 0..4")]
    Backwards { given: String },
    #[error("`{text}` stands for more than {N_CANDIDATES_MAX} models; narrow its ranges")]
    TooMany { text: String },
    #[error("`{text}` already names its method; leave --method out")]
    MethodTwice { text: String },
    #[error("`{spec}` has only one way to be fitted; leave --method out")]
    NoMethod { spec: Spec },
}

/// The models that `text` stands for, a range of orders `a..b` for each number from a to b, in their order and with `method` filled
/// in. What is no model only because all its orders are 0, such as ARMA(0,0), is left out of a range.
pub fn candidates(text: &str, method: Option<Method>) -> Result<Vec<Spec>, CandidateError> {
    if method.is_some() && text.to_ascii_lowercase().contains("method") {
        return Err(CandidateError::MethodTwice { text: text.to_owned() });
    }
    let texts = expanded(text)?;
    let is_range = texts.len() > 1;
    let mut specs = Vec::new();
    for text in &texts {
        match text.parse::<Spec>() {
            Err(SpecError::OutOfRange { given, .. }) if is_range && given == "0" => {}
            spec => specs.push(with_method(spec?, method)?),
        }
    }
    if specs.is_empty() {
        texts[0].parse::<Spec>()?;
    }
    Ok(specs)
}

/// `text` with each combination of numbers in the places of its ranges.
fn expanded(text: &str) -> Result<Vec<String>, CandidateError> {
    let mut texts = Vec::new();
    expand(text.to_owned(), &mut texts)?;
    if texts.len() > N_CANDIDATES_MAX {
        return Err(CandidateError::TooMany { text: text.to_owned() });
    }
    Ok(texts)
}

/// Stops at one too many.
fn expand(text: String, texts: &mut Vec<String>) -> Result<(), CandidateError> {
    let Some((place, range)) = first_range(&text)? else {
        texts.push(text);
        return Ok(());
    };
    for order in range {
        if texts.len() > N_CANDIDATES_MAX {
            break;
        }
        expand(format!("{}{order}{}", &text[..place.start], &text[place.end..]), texts)?;
    }
    Ok(())
}

type Found = (std::ops::Range<usize>, RangeInclusive<usize>);

/// Where the first range of orders stands in `text`, and what it says.
fn first_range(text: &str) -> Result<Option<Found>, CandidateError> {
    let Some(dots) = text.find("..") else { return Ok(None) };
    let is_part = |c: char| !matches!(c, '(' | ')' | ',' | '=');
    let start = text[..dots].rfind(|c| !is_part(c)).map_or(0, |idx| idx + 1);
    let end = text[dots..].find(|c| !is_part(c)).map_or(text.len(), |idx| dots + idx);
    let given = &text[start..end];
    let (low, high) = (text[start..dots].trim().parse(), text[dots + 2..end].trim().parse());
    match (low, high) {
        (Ok(low), Ok(high)) if low <= high => Ok(Some((start..end, low..=high))),
        _ => Err(CandidateError::Backwards { given: given.trim().to_owned() }),
    }
}

fn with_method(spec: Spec, method: Option<Method>) -> Result<Spec, CandidateError> {
    let Some(method) = method else { return Ok(spec) };
    Ok(match spec {
        Spec::Ar { order, .. } => Spec::Ar {
            order,
            method: match method {
                Method::LeastSquares => ArMethod::LeastSquares,
                Method::MaximumLikelihood => ArMethod::MaximumLikelihood,
            },
        },
        Spec::Ma { order, .. } => Spec::Ma { order, method },
        Spec::Arma { n_phi, n_theta, .. } => Spec::Arma { n_phi, n_theta, method },
        Spec::Arima { n_phi, n_differences, n_theta, .. } => Spec::Arima { n_phi, n_differences, n_theta, method },
        Spec::Arfima { n_phi, n_theta, truncation, .. } => Spec::Arfima { n_phi, n_theta, method, truncation },
        Spec::Refit { model, every, window } => with_method(*model, Some(method))?.refit(every, window),
        spec => return Err(CandidateError::NoMethod { spec }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, method: Option<Method>) -> Vec<String> {
        candidates(text, method).unwrap().iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check_refused(text: &str, method: Option<Method>, message: &str) {
        assert_eq!(candidates(text, method).unwrap_err().to_string(), message);
    }

    #[test]
    fn a_range_stands_for_each_order_in_it() {
        assert_eq!(texts("AR(16)", None), ["AR(16)"]);
        assert_eq!(texts("ma(9..11)", None), ["MA(9)", "MA(10)", "MA(11)"]);
        let models = ["ARMA(0,1)", "ARMA(0,2)", "ARMA(1,0)", "ARMA(1,1)", "ARMA(1,2)"];
        assert_eq!(texts("ARMA( 0 .. 1 , 0..2 )", None), models);
        assert_eq!(
            texts("REFIT(AR(2..3),every=10,window=100)", None),
            ["REFIT(AR(2),every=10,window=100)", "REFIT(AR(3),every=10,window=100)"]
        );
    }

    #[test]
    fn a_method_is_filled_in() {
        let [css, ml] = [Method::LeastSquares, Method::MaximumLikelihood].map(Some);
        assert_eq!(texts("AR(2)", css), ["AR(2,method=ls)"]);
        assert_eq!(texts("ARMA(1..2,1)", ml), ["ARMA(1,1,method=ml)", "ARMA(2,1,method=ml)"]);
        assert_eq!(texts("REFIT(MA(1),every=9,window=90)", ml), ["REFIT(MA(1,method=ml),every=9,window=90)"]);
        assert_eq!(texts("ARFIMA(1,d,0)", css), ["ARFIMA(1,d,0)"]);
        check_refused("ARMA(1,1,method=ml)", css, "`ARMA(1,1,method=ml)` already names its method; leave --method out");
        check_refused("LAST", ml, "`LAST` has only one way to be fitted; leave --method out");
    }

    #[test]
    fn a_range_that_is_none_is_refused() {
        check_refused(
            "AR(4..1)",
            None,
            "`4..1` is no range of orders; it is written from the least to the greatest, as in 0..4",
        );
        check_refused(
            "AR(..4)",
            None,
            "`..4` is no range of orders; it is written from the least to the greatest, as in 0..4",
        );
        check_refused(
            "AR(1..x)",
            None,
            "`1..x` is no range of orders; it is written from the least to the greatest, as in 0..4",
        );
        check_refused(
            "ARMA(0..40,0..40)",
            None,
            "`ARMA(0..40,0..40)` stands for more than 1000 models; narrow its ranges",
        );
        check_refused(
            "ARMA(0..0,0..0)",
            None,
            "the moving average order of `ARMA` is `0`; it has to be a whole number from 1 to 64",
        );
        check_refused(
            "AR(0..18446744073709551615)",
            None,
            "`AR(0..18446744073709551615)` stands for more than 1000 models; narrow its ranges",
        );
        check_refused("MA(1..99)", None, "the order of `MA` is `65`; it has to be a whole number from 1 to 64");
    }
}
