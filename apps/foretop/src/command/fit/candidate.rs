//! Models asked for by text, of which one may stand for many: `ARMA(0..4,0..4)`.

use predict::{ArMethod, Method, Spec, SpecError};

/// The reason why a text is no candidate.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum CandidateError {
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("`{text}` already names its method; leave out --method")]
    MethodTwice { text: String },
    #[error("`{spec}` can be fitted in only one way; leave out --method")]
    NoMethod { spec: Spec },
}

/// The models that `texts` stand for, each once, in the order asked for, with `method` filled in.
pub fn candidates(texts: &[String], method: Option<Method>) -> Result<Vec<Spec>, CandidateError> {
    let mut specs = Vec::new();
    for text in texts {
        if method.is_some() && text.to_ascii_lowercase().contains("method") {
            return Err(CandidateError::MethodTwice { text: text.clone() });
        }
        for spec in Spec::expand(text)? {
            let spec = method.map_or(Ok(spec.clone()), |method| with_method(spec, method))?;
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
    }
    Ok(specs)
}

fn with_method(spec: Spec, method: Method) -> Result<Spec, CandidateError> {
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
        Spec::Refit { model, every, window } => with_method(*model, method)?.refit(every, window),
        spec => return Err(CandidateError::NoMethod { spec }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(texts: &[&str], method: Option<Method>) -> Result<Vec<String>, CandidateError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Ok(candidates(&texts, method)?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_model_is_there_once() {
        assert_eq!(specs(&["MA(2)", "ma(1..2)", "LAST"], None).unwrap(), ["MA(2)", "MA(1)", "LAST"]);
    }

    #[test]
    fn a_method_is_filled_in() {
        let [css, ml] = [Method::LeastSquares, Method::MaximumLikelihood].map(Some);
        assert_eq!(specs(&["AR(2)"], css).unwrap(), ["AR(2,method=ls)"]);
        assert_eq!(specs(&["ARMA(1..2,1)"], ml).unwrap(), ["ARMA(1,1,method=ml)", "ARMA(2,1,method=ml)"]);
        assert_eq!(
            specs(&["REFIT(MA(1),every=9,window=90)"], ml).unwrap(),
            ["REFIT(MA(1,method=ml),every=9,window=90)"]
        );
        assert_eq!(specs(&["ARFIMA(1,d,0)"], css).unwrap(), ["ARFIMA(1,d,0)"]);
    }

    #[test]
    fn a_method_too_many_is_refused() {
        let refused = |text| specs(&[text], Some(Method::LeastSquares)).unwrap_err().to_string();
        assert_eq!(refused("MA(1,method=ml)"), "`MA(1,method=ml)` already names its method; leave out --method");
        assert_eq!(refused("LAST"), "`LAST` can be fitted in only one way; leave out --method");
    }
}
