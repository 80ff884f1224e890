//! Reasons why a text is no model specification.

use super::Spec;
use crate::outlook::PeriodsError;

/// A text that is no model specification.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No model has this name.
    #[error("unknown model `{given}`; known are {known}", known = known())]
    UnknownModel {
        /// The name as given.
        given: String,
    },
    /// The text does not have the shape of a specification.
    #[error(
        "cannot read `{text}` as a model: {problem}; it should look like AR(16) or REFIT(AR(16),every=100,window=600)"
    )]
    Malformed {
        /// The whole text.
        text: String,
        /// The problem with the text.
        problem: &'static str,
    },
    /// An argument is absent.
    #[error("`{model}` needs {argument}, as in {example}")]
    Missing {
        /// The model's name.
        model: &'static str,
        /// The argument's name.
        argument: &'static str,
        /// A complete specification.
        example: &'static str,
    },
    /// An argument that the model does not have.
    #[error("`{model}` does not take `{given}`; it is written {example}")]
    UnknownArgument {
        /// The model's name.
        model: &'static str,
        /// The argument as given.
        given: String,
        /// A complete specification.
        example: &'static str,
    },
    /// A number outside what is allowed.
    #[error("{argument} of `{model}` is `{given}`; it must be a whole number from {min} to {max}")]
    OutOfRange {
        /// The model's name.
        model: &'static str,
        /// The argument's name.
        argument: &'static str,
        /// The value as given.
        given: String,
        /// The least that is taken.
        min: usize,
        /// The most that is taken.
        max: usize,
    },
    /// A word where one of a few was expected.
    #[error("{argument} of `{model}` is `{given}`; it must be {known}")]
    UnknownWord {
        /// The model's name.
        model: &'static str,
        /// The argument's name.
        argument: &'static str,
        /// The words that are taken.
        known: &'static str,
        /// The word as given.
        given: String,
    },
    /// A number in the place of the fraction that an ARFIMA estimates.
    #[error(
        "the second place of `ARFIMA` is `{given}`; it must be the letter d, because the fit estimates the fraction"
    )]
    FixedFraction {
        /// The text that stands there.
        given: String,
    },
    /// Two dots without a range around them.
    #[error("`{given}` is not a range; it is written 1..16, the lower end first")]
    BadRange {
        /// The text that stands there.
        given: String,
    },
    /// Ranges that stand for too many models.
    #[error("`{text}` stands for {n_specs} models, but at most {n_specs_max} are tried; use narrower ranges")]
    TooMany {
        /// The whole text.
        text: String,
        /// Number of specifications that the text stands for.
        n_specs: usize,
        /// The most that are taken.
        n_specs_max: usize,
    },
    /// A length of a season that is no number.
    #[error("a season of `SEASONAL` is `{given}`; it must be a length in steps, as in SEASONAL(288,2016)")]
    NoPeriod {
        /// The text that stands there.
        given: String,
    },
    /// Lengths of seasons that cannot be.
    #[error("SEASONAL: {0}")]
    Periods(PeriodsError),
    /// A REFIT within a REFIT.
    #[error("REFIT within REFIT: one of them is enough")]
    NestedRefit,
    /// A REFIT around AUTO.
    #[error("REFIT around AUTO: it refits its members by itself, as in AUTO(every=100,window=600)")]
    RefitOfAuto,
}

fn known() -> String {
    Spec::catalogue().iter().map(|(text, _)| *text).collect::<Vec<_>>().join(", ")
}
