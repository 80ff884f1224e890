//! Model specifications: what is asked for, as a value and as text that round-trips.

mod call;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use call::Call;

/// The highest autoregressive order that is taken. RPS timed AR(512); a Levinson recursion of this order
/// still takes about a millisecond.
const ORDER_MAX: usize = 1024;

/// The highest order of a moving average part, and of the autoregressive part beside one: a fit's cost grows with the square.
const ARMA_ORDER_MAX: usize = 64;

/// The most differences that are taken. Two make a straight line a constant; more than a few only breed noise.
const N_DIFFERENCES_MAX: usize = 8;

/// The longest window that BM looks back on. A fit tries every length, so its cost grows with this times the samples.
const BEST_MEAN_MAX: usize = 10_000;

/// The longest window of samples that REFIT fits to: 8 MB of samples.
const WINDOW_MAX: usize = 1_000_000;

/// A model to be fitted, by the names of RPS (Figure 3) where it has them.
///
/// Its text is what people type and what is shown: `AR(16)`, `REFIT(AR(16),every=100,window=600)`. It is
/// read without regard to case and space, and written in one way only, so that equal specifications
/// have equal texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Spec {
    /// `MEAN`: the running mean of all that was seen.
    Mean,
    /// `LAST`: the last value; the same as `BM(1)`.
    Last,
    /// `BM(p)`: the mean over the window of at most `p` samples that fits best.
    BestMean {
        /// The longest window tried, at least 1.
        window_max: usize,
    },
    /// `AR(p)`: autoregressive of order `p`.
    Ar {
        /// The order, at least 1.
        order: usize,
        /// How the coefficients are estimated.
        method: ArMethod,
    },
    /// `MA(q)`: moving average of order `q`.
    Ma {
        /// The order, at least 1.
        order: usize,
    },
    /// `ARMA(p,q)`: both.
    Arma {
        /// The autoregressive order.
        n_phi: usize,
        /// The moving average order; not both are 0.
        n_theta: usize,
    },
    /// `ARIMA(p,d,q)`: both, of the series differenced `d` times.
    Arima {
        /// The autoregressive order.
        n_phi: usize,
        /// How many times the series is differenced; 0 makes it an ARMA.
        n_differences: usize,
        /// The moving average order.
        n_theta: usize,
    },
    /// `REFIT(model,every=,window=)`: the model, fitted anew as samples arrive.
    Refit {
        /// The model that is refitted; not itself a `REFIT`.
        model: Box<Spec>,
        /// Steps between two fits, at least 1.
        every: usize,
        /// How many of the latest samples a fit uses.
        window: usize,
    },
}

/// How autoregressive coefficients are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArMethod {
    /// From the autocorrelations (Yule-Walker), as RPS does; always stationary.
    #[default]
    YuleWalker,
    /// From forward and backward errors (Burg 1975); always stationary, sharper on short or nearly periodic series.
    Burg,
}

/// A text that is no model specification.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No model has this name.
    #[error("unknown model `{given}`; known are {known}", known = KNOWN)]
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
        /// What is wrong with it.
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
    #[error("{argument} of `{model}` is `{given}`; it has to be a whole number from {min} to {max}")]
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
    #[error("method of `AR` is `{given}`; it has to be yw (Yule-Walker) or burg")]
    UnknownMethod {
        /// The word as given.
        given: String,
    },
    /// A REFIT within a REFIT.
    #[error("REFIT within REFIT: one of them is enough")]
    NestedRefit,
}

const KNOWN: &str =
    "MEAN, LAST, BM(p), AR(p), AR(p,method=burg), MA(q), ARMA(p,q), ARIMA(p,d,q), REFIT(model,every=n,window=n)";
const BM_EXAMPLE: &str = "BM(32)";
const AR_EXAMPLE: &str = "AR(16) or AR(16,method=burg)";
const MA_EXAMPLE: &str = "MA(8)";
const ARMA_EXAMPLE: &str = "ARMA(4,4)";
const ARIMA_EXAMPLE: &str = "ARIMA(4,1,4)";
const REFIT_EXAMPLE: &str = "REFIT(AR(16),every=100,window=600)";

impl Spec {
    /// Autoregressive of `order` by Yule-Walker.
    #[must_use]
    pub fn ar(order: usize) -> Self {
        Self::Ar { order, method: ArMethod::YuleWalker }
    }

    /// The same model, fitted anew every `every` steps to the last `window` samples.
    #[must_use]
    pub fn refit(self, every: usize, window: usize) -> Self {
        Self::Refit { model: Box::new(self), every, window }
    }

    /// The model itself, without the REFIT around it if there is one.
    #[must_use]
    pub fn inner(&self) -> &Self {
        match self {
            Self::Refit { model, .. } => model,
            plain => plain,
        }
    }

    /// (p, d, q) of a linear model.
    pub(crate) fn orders(&self) -> Option<(usize, usize, usize)> {
        match *self {
            Self::Mean | Self::Last | Self::BestMean { .. } => None,
            Self::Ar { order, .. } => Some((order, 0, 0)),
            Self::Ma { order } => Some((0, 0, order)),
            Self::Arma { n_phi, n_theta } => Some((n_phi, 0, n_theta)),
            Self::Arima { n_phi, n_differences, n_theta } => Some((n_phi, n_differences, n_theta)),
            Self::Refit { ref model, .. } => model.orders(),
        }
    }

    /// The least number of known samples that a fit takes.
    ///
    /// This is what the arithmetic needs, not what a good fit needs.
    #[must_use]
    pub fn n_samples_min(&self) -> usize {
        match self {
            Self::Mean | Self::Last | Self::BestMean { .. } => 2,
            Self::Ar { order, .. } => 2 * order + 1,
            Self::Ma { order } => 3 * order + 2,
            Self::Arma { n_phi, n_theta } => 3 * (n_phi + n_theta) + 2,
            Self::Arima { n_phi, n_differences, n_theta } => 3 * (n_phi + n_theta) + n_differences + 2,
            Self::Refit { model, .. } => model.n_samples_min(),
        }
    }

    /// Every model there is, as `(text, sentence)`, simplest first.
    #[must_use]
    pub fn catalogue() -> &'static [(&'static str, &'static str)] {
        &[
            ("MEAN", "the running mean of the series; right when there is no correlation over time"),
            ("LAST", "the last value; right for a random walk, and what everything else has to beat"),
            ("BM(p)", "the mean over the last N <= p samples, N chosen by the fit for the least one-step error"),
            ("AR(p)", "autoregressive of order p by Yule-Walker; AR(16) is the choice of RPS for host load"),
            ("AR(p,method=burg)", "the same by Burg's method: sharper on short or nearly periodic series"),
            ("MA(q)", "moving average of order q, by least squares of the one-step errors"),
            (
                "ARMA(p,q)",
                "autoregressive and moving average, by least squares: says in few coefficients what AR says in many",
            ),
            ("ARIMA(p,d,q)", "ARMA of the series differenced d times: for a level that wanders"),
            ("REFIT(model,every=n,window=n)", "any of these, fitted anew every n samples to the last n"),
        ]
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("MEAN"),
            Self::Last => f.write_str("LAST"),
            Self::BestMean { window_max } => write!(f, "BM({window_max})"),
            Self::Ar { order, method: ArMethod::YuleWalker } => write!(f, "AR({order})"),
            Self::Ar { order, method: ArMethod::Burg } => write!(f, "AR({order},method=burg)"),
            Self::Ma { order } => write!(f, "MA({order})"),
            Self::Arma { n_phi, n_theta } => write!(f, "ARMA({n_phi},{n_theta})"),
            Self::Arima { n_phi, n_differences, n_theta } => write!(f, "ARIMA({n_phi},{n_differences},{n_theta})"),
            Self::Refit { model, every, window } => write!(f, "REFIT({model},every={every},window={window})"),
        }
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let call = Call::parse(&compact).map_err(|problem| SpecError::Malformed { text: text.to_owned(), problem })?;
        match call.name.to_ascii_uppercase().as_str() {
            "MEAN" => call.finish("MEAN", "MEAN", 0).map(|()| Self::Mean),
            "LAST" => call.finish("LAST", "LAST", 0).map(|()| Self::Last),
            "BM" => parse_best_mean(call),
            "AR" => parse_ar(call),
            "MA" => parse_ma(call),
            "ARMA" => parse_arma(call),
            "ARIMA" => parse_arima(call),
            "REFIT" => parse_refit(call),
            _ => Err(SpecError::UnknownModel { given: call.name.to_owned() }),
        }
    }
}

impl TryFrom<String> for Spec {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Spec> for String {
    fn from(spec: Spec) -> Self {
        spec.to_string()
    }
}

fn parse_best_mean(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let window = call.positional(0).ok_or(missing("BM", "its longest window", BM_EXAMPLE))?;
    let window_max = whole("BM", "the window", window, 1, BEST_MEAN_MAX)?;
    call.finish("BM", BM_EXAMPLE, 1)?;
    Ok(Spec::BestMean { window_max })
}

fn parse_ar(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let order = call.positional(0).ok_or(missing("AR", "its order", AR_EXAMPLE))?;
    let order = whole("AR", "the order", order, 1, ORDER_MAX)?;
    let method = match call.named("method").map(str::to_ascii_lowercase).as_deref() {
        None | Some("yw") => ArMethod::YuleWalker,
        Some("burg") => ArMethod::Burg,
        Some(given) => return Err(SpecError::UnknownMethod { given: given.to_owned() }),
    };
    call.finish("AR", AR_EXAMPLE, 1)?;
    Ok(Spec::Ar { order, method })
}

fn parse_ma(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let order = call.positional(0).ok_or(missing("MA", "its order", MA_EXAMPLE))?;
    let order = whole("MA", "the order", order, 1, ARMA_ORDER_MAX)?;
    call.finish("MA", MA_EXAMPLE, 1)?;
    Ok(Spec::Ma { order })
}

fn parse_arma(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let n_phi = call.positional(0).ok_or(missing("ARMA", "its orders", ARMA_EXAMPLE))?;
    let n_phi = whole("ARMA", "the autoregressive order", n_phi, 0, ARMA_ORDER_MAX)?;
    let n_theta = call.positional(1).ok_or(missing("ARMA", "its moving average order", ARMA_EXAMPLE))?;
    let n_theta = whole("ARMA", "the moving average order", n_theta, usize::from(n_phi == 0), ARMA_ORDER_MAX)?;
    call.finish("ARMA", ARMA_EXAMPLE, 2)?;
    Ok(Spec::Arma { n_phi, n_theta })
}

fn parse_arima(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let mut order = |idx, argument, min, max| {
        let given = call.positional(idx).ok_or(missing("ARIMA", argument, ARIMA_EXAMPLE))?;
        whole("ARIMA", argument, given, min, max)
    };
    let n_phi = order(0, "the autoregressive order", 0, ARMA_ORDER_MAX)?;
    let n_differences = order(1, "the number of differences", 0, N_DIFFERENCES_MAX)?;
    let n_theta = order(2, "the moving average order", usize::from(n_phi == 0), ARMA_ORDER_MAX)?;
    call.finish("ARIMA", ARIMA_EXAMPLE, 3)?;
    Ok(Spec::Arima { n_phi, n_differences, n_theta })
}

fn parse_refit(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let model: Spec = call.positional(0).ok_or(missing("REFIT", "a model", REFIT_EXAMPLE))?.parse()?;
    if matches!(model, Spec::Refit { .. }) {
        return Err(SpecError::NestedRefit);
    }
    let every = call.named("every").ok_or(missing("REFIT", "every=", REFIT_EXAMPLE))?;
    let every = whole("REFIT", "every", every, 1, WINDOW_MAX)?;
    let window = call.named("window").ok_or(missing("REFIT", "window=", REFIT_EXAMPLE))?;
    let window = whole("REFIT", "window", window, model.n_samples_min(), WINDOW_MAX)?;
    call.finish("REFIT", REFIT_EXAMPLE, 1)?;
    Ok(model.refit(every, window))
}

fn missing(model: &'static str, argument: &'static str, example: &'static str) -> SpecError {
    SpecError::Missing { model, argument, example }
}

fn whole(model: &'static str, argument: &'static str, given: &str, min: usize, max: usize) -> Result<usize, SpecError> {
    let is_plain = given.bytes().all(|byte| byte.is_ascii_digit());
    given.parse().ok().filter(|number| is_plain && (min..=max).contains(number)).ok_or_else(|| SpecError::OutOfRange {
        model,
        argument,
        given: given.to_owned(),
        min,
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_canonical(given: &str, canonical: &str) {
        let spec: Spec = given.parse().unwrap();
        assert_eq!(spec.to_string(), canonical);
        assert_eq!(canonical.parse(), Ok(spec));
    }

    #[track_caller]
    fn check_refused(given: &str, message: &str) {
        assert_eq!(given.parse::<Spec>().unwrap_err().to_string(), message);
    }

    #[test]
    fn text_round_trips_in_one_spelling() {
        check_canonical("MEAN", "MEAN");
        check_canonical(" last ", "LAST");
        check_canonical("bm( 32 )", "BM(32)");
        check_canonical("ar(16)", "AR(16)");
        check_canonical("AR(16, method=yw)", "AR(16)");
        check_canonical("AR(8,METHOD=Burg)", "AR(8,method=burg)");
        check_canonical(
            "refit(ar(16,method=burg), window=600, every=100)",
            "REFIT(AR(16,method=burg),every=100,window=600)",
        );
    }

    #[test]
    fn unknown_model_lists_the_known_ones() {
        check_refused(
            "PROPHET",
            "unknown model `PROPHET`; known are MEAN, LAST, BM(p), AR(p), AR(p,method=burg), MA(q), ARMA(p,q), ARIMA(p,d,q), REFIT(model,every=n,window=n)",
        );
    }

    #[test]
    fn orders_have_a_range() {
        check_refused("AR(0)", "the order of `AR` is `0`; it has to be a whole number from 1 to 1024");
        check_refused("AR(+5)", "the order of `AR` is `+5`; it has to be a whole number from 1 to 1024");
        check_refused("AR(1e9)", "the order of `AR` is `1e9`; it has to be a whole number from 1 to 1024");
        check_refused("BM(-1)", "the window of `BM` is `-1`; it has to be a whole number from 1 to 10000");
        check_refused(
            "REFIT(AR(16),every=1,window=20)",
            "window of `REFIT` is `20`; it has to be a whole number from 33 to 1000000",
        );
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        check_refused("AR", "`AR` needs its order, as in AR(16) or AR(16,method=burg)");
        check_refused("REFIT(LAST,window=9)", "`REFIT` needs every=, as in REFIT(AR(16),every=100,window=600)");
        check_refused("AR(4,4)", "`AR` does not take `4`; it is written AR(16) or AR(16,method=burg)");
        check_refused("LAST(colour=red)", "`LAST` does not take `colour=red`; it is written LAST");
        check_refused("AR(4,method=mle)", "method of `AR` is `mle`; it has to be yw (Yule-Walker) or burg");
        check_refused(
            "REFIT(REFIT(LAST,every=1,window=2),every=1,window=2)",
            "REFIT within REFIT: one of them is enough",
        );
    }

    #[test]
    fn broken_shapes_are_refused() {
        for broken in ["", "(", ")", "AR(", "AR(4", "AR(4))", "AR((4)", "AR(4,)", "AR()", "A R(=", "AR(4)x", "é(1)"] {
            assert!(broken.parse::<Spec>().is_err(), "{broken} was taken");
        }
        assert!("x".repeat(10_000).parse::<Spec>().is_err());
    }
}
