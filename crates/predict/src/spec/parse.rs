//! Parser from text to a specification.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::call::Call;
use super::{ArMethod, Method, Region, Spec, SpecError, Trend};
use crate::auto::BUDGET_MIN;
use crate::loss::Loss;
use crate::outlook::Periods;

/// The highest autoregressive order that is taken. RPS timed AR(512); a Levinson recursion of this order
/// still takes about a millisecond.
const ORDER_MAX: usize = 1024;

/// The highest order of a moving average part, and of the autoregressive part beside one: a fit's cost grows with the
/// square.
const ARMA_ORDER_MAX: usize = 64;

/// The most differences that are taken. Two make a straight line a constant; more than a few only breed noise.
const N_DIFFERENCES_MAX: usize = 8;

/// Number of past samples that a fractional difference weighs unless the text sets another; RPS's choice (section
/// 5.2.1).
pub(super) const TRUNCATION_DEFAULT: usize = 300;

/// More would cost more per step than the weights that far back are worth.
const TRUNCATION_MAX: usize = 10_000;

/// The longest window that BM looks back on. A fit tries every length, so its cost grows with this times the samples.
const BEST_MEAN_MAX: usize = 10_000;

/// The highest order of a TAR: a fit tries every delay up to it, so its cost grows with the cube.
const TAR_ORDER_MAX: usize = 32;

/// The most steps that NWS judges its members on, short of all: their errors are kept.
const NWS_RECENT_MAX: usize = 10_000;

/// Steps between two fits of a member of AUTO's ensemble unless the text says otherwise, and samples per fit: what
/// repairs drifting series at a cost that nobody notices.
pub(super) const AUTO_EVERY: usize = 100;
pub(super) const AUTO_WINDOW: usize = 600;

/// Limit on the cost of AUTO's ensemble unless the text sets another, in multiplications with addition per sample.
pub(super) const AUTO_BUDGET: u64 = 35_000;

/// A budget beyond what any candidate costs.
const AUTO_BUDGET_MAX: usize = 1_000_000_000;

/// The shortest window that AUTO takes: as many samples as its longest autoregression needs.
const AUTO_WINDOW_MIN: usize = 80;

/// The longest window of samples that REFIT fits to: 8 MB of samples.
const WINDOW_MAX: usize = 1_000_000;

const BM_EXAMPLE: &str = "BM(32)";
const AR_EXAMPLE: &str = "AR(16) or AR(16,method=burg)";
const MA_EXAMPLE: &str = "MA(8)";
const ARMA_EXAMPLE: &str = "ARMA(4,4)";
const ARIMA_EXAMPLE: &str = "ARIMA(4,1,4)";
const ARFIMA_EXAMPLE: &str = "ARFIMA(4,d,4) or ARFIMA(1,d,0,method=ml,truncation=300)";
const ETS_EXAMPLE: &str = "ETS(A,Ad,N) or ETS(A,A,N,bounds=admissible)";
const NWS_EXAMPLE: &str = "NWS or NWS(by=mae,recent=100)";
const TAR_EXAMPLE: &str = "TAR(2) or TAR(4,delay=2)";
const SEASONAL_EXAMPLE: &str = "SEASONAL(288), SEASONAL(288,2016), or OUTLOOK without a season";
const AUTO_EXAMPLE: &str = "AUTO, AUTO(24,168) or AUTO(every=100,window=600,budget=35000)";
const REFIT_EXAMPLE: &str = "REFIT(AR(16),every=100,window=600)";

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
            "ARFIMA" => parse_arfima(call),
            "ETS" => parse_ets(call),
            "HOLT" => {
                call.finish("HOLT", "HOLT", 0).map(|()| Self::Ets { trend: Trend::Additive, region: Region::Usual })
            }
            "NWS" => parse_nws(call),
            "TAR" => parse_tar(call),
            "SEASONAL" => parse_seasonal(call),
            "OUTLOOK" => parse_outlook(call),
            "AUTO" => parse_auto(call),
            "REFIT" => parse_refit(call),
            _ => Err(SpecError::UnknownModel { given: call.name.to_owned() }),
        }
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
    let method = match call.named("method").map(str::to_ascii_lowercase).as_deref() {
        None | Some("yw") => ArMethod::YuleWalker,
        Some("burg") => ArMethod::Burg,
        Some("ls") => ArMethod::LeastSquares,
        Some("ml") => ArMethod::MaximumLikelihood,
        Some(given) => {
            let known = "yw (Yule-Walker), burg, ls (least squares) or ml (maximum likelihood)";
            return Err(SpecError::UnknownWord { model: "AR", argument: "method", known, given: given.to_owned() });
        }
    };
    // A search for the greatest likelihood tries every coefficient by itself, where the other methods solve for all at
    // once.
    let (model, order_max) = match method {
        ArMethod::MaximumLikelihood => ("AR(p,method=ml)", ARMA_ORDER_MAX),
        _ => ("AR", ORDER_MAX),
    };
    let order = whole(model, "the order", order, 1, order_max)?;
    call.finish("AR", AR_EXAMPLE, 1)?;
    Ok(Spec::Ar { order, method })
}

fn parse_ma(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let order = order(&mut call, ("MA", MA_EXAMPLE), 0, "the order", 1..=ARMA_ORDER_MAX)?;
    let method = method(&mut call, "MA")?;
    call.finish("MA", MA_EXAMPLE, 1)?;
    Ok(Spec::Ma { order, method })
}

fn parse_arma(mut call: Call<'_>) -> Result<Spec, SpecError> {
    const ARMA: Named = ("ARMA", ARMA_EXAMPLE);
    let n_phi = order(&mut call, ARMA, 0, "the autoregressive order", 0..=ARMA_ORDER_MAX)?;
    let n_theta = order(&mut call, ARMA, 1, "the moving average order", usize::from(n_phi == 0)..=ARMA_ORDER_MAX)?;
    let method = method(&mut call, "ARMA")?;
    call.finish("ARMA", ARMA_EXAMPLE, 2)?;
    Ok(Spec::Arma { n_phi, n_theta, method })
}

fn parse_arima(mut call: Call<'_>) -> Result<Spec, SpecError> {
    const ARIMA: Named = ("ARIMA", ARIMA_EXAMPLE);
    let n_phi = order(&mut call, ARIMA, 0, "the autoregressive order", 0..=ARMA_ORDER_MAX)?;
    let n_differences = order(&mut call, ARIMA, 1, "the number of differences", 0..=N_DIFFERENCES_MAX)?;
    let n_theta = order(&mut call, ARIMA, 2, "the moving average order", usize::from(n_phi == 0)..=ARMA_ORDER_MAX)?;
    let method = method(&mut call, "ARIMA")?;
    call.finish("ARIMA", ARIMA_EXAMPLE, 3)?;
    Ok(Spec::Arima { n_phi, n_differences, n_theta, method })
}

fn parse_arfima(mut call: Call<'_>) -> Result<Spec, SpecError> {
    const ARFIMA: Named = ("ARFIMA", ARFIMA_EXAMPLE);
    let n_phi = order(&mut call, ARFIMA, 0, "the autoregressive order", 0..=ARMA_ORDER_MAX)?;
    match call.positional(1) {
        None => return Err(missing("ARFIMA", "the letter d in its second place", ARFIMA_EXAMPLE)),
        Some(letter) if letter.eq_ignore_ascii_case("d") => {}
        Some(given) => return Err(SpecError::FixedFraction { given: given.to_owned() }),
    }
    let n_theta = order(&mut call, ARFIMA, 2, "the moving average order", 0..=ARMA_ORDER_MAX)?;
    let method = method(&mut call, "ARFIMA")?;
    let truncation = match call.named("truncation") {
        None => TRUNCATION_DEFAULT,
        Some(given) => whole("ARFIMA", "truncation", given, (2 * n_phi).max(1), TRUNCATION_MAX)?,
    };
    call.finish("ARFIMA", ARFIMA_EXAMPLE, 3)?;
    Ok(Spec::Arfima { n_phi, n_theta, method, truncation })
}

/// A model's name, and a complete specification of it.
type Named = (&'static str, &'static str);

fn order(
    call: &mut Call<'_>,
    (model, example): Named,
    idx: usize,
    argument: &'static str,
    range: RangeInclusive<usize>,
) -> Result<usize, SpecError> {
    let given = call.positional(idx).ok_or(missing(model, argument, example))?;
    whole(model, argument, given, *range.start(), *range.end())
}

fn method(call: &mut Call<'_>, model: &'static str) -> Result<Method, SpecError> {
    match call.named("method").map(str::to_ascii_lowercase).as_deref() {
        None | Some("css") => Ok(Method::LeastSquares),
        Some("ml") => Ok(Method::MaximumLikelihood),
        Some(given) => {
            let known = "css (conditional sum of squares) or ml (maximum likelihood)";
            Err(SpecError::UnknownWord { model, argument: "method", known, given: given.to_owned() })
        }
    }
}

fn parse_ets(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let region = match call.named("bounds").map(str::to_ascii_lowercase).as_deref() {
        None | Some("usual") => Region::Usual,
        Some("admissible") => Region::Admissible,
        Some(given) => return Err(unknown("ETS", "bounds", given, "usual or admissible")),
    };
    let mut letter = |idx: usize, argument: &'static str| {
        call.positional(idx).map(str::to_ascii_lowercase).ok_or(missing("ETS", argument, ETS_EXAMPLE))
    };
    match letter(0, "the letter of its errors")?.as_str() {
        "a" => {}
        given => return Err(unknown("ETS", "the error", given, "A (additive)")),
    }
    let trend = match letter(1, "the letter of its trend")?.as_str() {
        "n" => Trend::None,
        "a" => Trend::Additive,
        "ad" => Trend::Damped,
        given => return Err(unknown("ETS", "the trend", given, "N (none), A (additive) or Ad (damped)")),
    };
    match letter(2, "the letter of its season")?.as_str() {
        "n" => {}
        given => return Err(unknown("ETS", "the season", given, "N (none)")),
    }
    call.finish("ETS", ETS_EXAMPLE, 3)?;
    Ok(Spec::Ets { trend, region })
}

fn parse_nws(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let loss = match call.named("by").map(str::to_ascii_lowercase).as_deref() {
        None | Some("mse") => Loss::Squared,
        Some("mae") => Loss::Absolute,
        Some(given) => {
            let known = "mse (mean squared error) or mae (mean absolute error)";
            return Err(unknown("NWS", "by", given, known));
        }
    };
    let recent = call.named("recent").map(|given| whole("NWS", "recent", given, 1, NWS_RECENT_MAX)).transpose()?;
    call.finish("NWS", NWS_EXAMPLE, 0)?;
    Ok(Spec::Nws { loss, recent })
}

fn parse_auto(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let (periods, n_given) = periods(&mut call)?;
    let mut number =
        |name, default, min, max| call.named(name).map_or(Ok(default), |given| whole("AUTO", name, given, min, max));
    let every = number("every", AUTO_EVERY, 1, WINDOW_MAX)?;
    let window = number("window", AUTO_WINDOW, AUTO_WINDOW_MIN, WINDOW_MAX)?;
    let budget = number("budget", AUTO_BUDGET as usize, BUDGET_MIN as usize, AUTO_BUDGET_MAX)? as u64;
    call.finish("AUTO", AUTO_EXAMPLE, n_given)?;
    Ok(Spec::Auto { periods, every, window, budget })
}

fn parse_seasonal(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let (periods, n_given) = periods(&mut call)?;
    call.finish("SEASONAL", SEASONAL_EXAMPLE, n_given)?;
    Ok(Spec::Seasonal { periods })
}

fn parse_outlook(call: Call<'_>) -> Result<Spec, SpecError> {
    call.finish("OUTLOOK", SEASONAL_EXAMPLE, 0)?;
    Ok(Spec::Seasonal { periods: Periods::NONE })
}

/// Reads the lengths of seasons, and counts them.
fn periods(call: &mut Call<'_>) -> Result<(Periods, usize), SpecError> {
    let given: Vec<&str> = (0..2).map_while(|idx| call.positional(idx)).collect();
    let steps = |given: &&str| given.parse().map_err(|_| SpecError::NoPeriod { given: (*given).to_owned() });
    let steps = given.iter().map(steps).collect::<Result<Vec<f64>, _>>()?;
    Ok((Periods::new(&steps).map_err(SpecError::Periods)?, given.len()))
}

fn parse_tar(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let order = order(&mut call, ("TAR", TAR_EXAMPLE), 0, "the order", 1..=TAR_ORDER_MAX)?;
    let delay = call.named("delay").map(|given| whole("TAR", "delay", given, 1, order)).transpose()?;
    call.finish("TAR", TAR_EXAMPLE, 1)?;
    Ok(Spec::Tar { order, delay })
}

fn parse_refit(mut call: Call<'_>) -> Result<Spec, SpecError> {
    let model: Spec = call.positional(0).ok_or(missing("REFIT", "a model", REFIT_EXAMPLE))?.parse()?;
    if matches!(model, Spec::Refit { .. }) {
        return Err(SpecError::NestedRefit);
    }
    if matches!(model, Spec::Auto { .. }) {
        return Err(SpecError::RefitOfAuto);
    }
    let every = call.named("every").ok_or(missing("REFIT", "every=", REFIT_EXAMPLE))?;
    let every = whole("REFIT", "every", every, 1, WINDOW_MAX)?;
    let window = call.named("window").ok_or(missing("REFIT", "window=", REFIT_EXAMPLE))?;
    let window = whole("REFIT", "window", window, model.n_samples_min(), WINDOW_MAX)?;
    call.finish("REFIT", REFIT_EXAMPLE, 1)?;
    Ok(model.refit(every, window))
}

fn unknown(model: &'static str, argument: &'static str, given: &str, known: &'static str) -> SpecError {
    SpecError::UnknownWord { model, argument, given: given.to_owned(), known }
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
        check_canonical("AR(4,method=LS)", "AR(4,method=ls)");
        check_canonical("arma(2,1,method=ml)", "ARMA(2,1,method=ml)");
        check_canonical("ARIMA(1,1,1,method=css)", "ARIMA(1,1,1)");
        check_canonical("arfima(4,D,4,truncation=300)", "ARFIMA(4,d,4)");
        check_canonical("ARFIMA(0,d,0,truncation=50,method=ml)", "ARFIMA(0,d,0,method=ml,truncation=50)");
        check_canonical("ets(a,AD,n)", "ETS(A,Ad,N)");
        check_canonical("ETS(A, N, N, bounds=Admissible)", "ETS(A,N,N,bounds=admissible)");
        check_canonical("holt", "ETS(A,A,N)");
        check_canonical("tar( 2 )", "TAR(2)");
        check_canonical("TAR(4,Delay=2)", "TAR(4,delay=2)");
        check_canonical("auto(every=100,window=600)", "AUTO");
        check_canonical("AUTO(budget=9000, window=900)", "AUTO(window=900,budget=9000)");
        check_canonical("nws(by=MSE)", "NWS");
        check_canonical("nws( recent=100, by=mae )", "NWS(by=mae,recent=100)");
        check_canonical(
            "refit(ar(16,method=burg), window=600, every=100)",
            "REFIT(AR(16,method=burg),every=100,window=600)",
        );
    }

    #[test]
    fn unknown_model_lists_the_known_ones() {
        let catalogue: Vec<&str> = Spec::catalogue().iter().map(|(text, _)| *text).collect();
        check_refused("PROPHET", &format!("unknown model `PROPHET`; known are {}", catalogue.join(", ")));
    }

    #[test]
    fn orders_have_a_range() {
        check_refused("AR(0)", "the order of `AR` is `0`; it must be a whole number from 1 to 1024");
        check_refused("AR(+5)", "the order of `AR` is `+5`; it must be a whole number from 1 to 1024");
        check_refused("AR(1e9)", "the order of `AR` is `1e9`; it must be a whole number from 1 to 1024");
        check_refused(
            "AR(65,method=ml)",
            "the order of `AR(p,method=ml)` is `65`; it must be a whole number from 1 to 64",
        );
        check_refused("BM(-1)", "the window of `BM` is `-1`; it must be a whole number from 1 to 10000");
        check_refused(
            "REFIT(AR(16),every=1,window=20)",
            "window of `REFIT` is `20`; it must be a whole number from 33 to 1000000",
        );
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        check_refused("AR", "`AR` needs its order, as in AR(16) or AR(16,method=burg)");
        check_refused("REFIT(LAST,window=9)", "`REFIT` needs every=, as in REFIT(AR(16),every=100,window=600)");
        check_refused("AR(4,4)", "`AR` does not take `4`; it is written AR(16) or AR(16,method=burg)");
        check_refused("LAST(colour=red)", "`LAST` does not take `colour=red`; it is written LAST");
        check_refused(
            "AR(4,method=mle)",
            "method of `AR` is `mle`; it must be yw (Yule-Walker), burg, ls (least squares) or ml (maximum likelihood)",
        );
        check_refused(
            "ARMA(4,4,method=burg)",
            "method of `ARMA` is `burg`; it must be css (conditional sum of squares) or ml (maximum likelihood)",
        );
        check_refused(
            "NWS(by=guess)",
            "by of `NWS` is `guess`; it must be mse (mean squared error) or mae (mean absolute error)",
        );
        check_refused("ETS(M,A,N)", "the error of `ETS` is `m`; it must be A (additive)");
        check_refused(
            "ETS(A,A)",
            "`ETS` needs the letter of its season, as in ETS(A,Ad,N) or ETS(A,A,N,bounds=admissible)",
        );
        check_refused("TAR(2,delay=3)", "delay of `TAR` is `3`; it must be a whole number from 1 to 2");
        check_refused("NWS(5)", "`NWS` does not take `5`; it is written NWS or NWS(by=mae,recent=100)");
        check_refused(
            "ARFIMA(1,0.3,1)",
            "the second place of `ARFIMA` is `0.3`; it must be the letter d, because the fit estimates the fraction",
        );
        check_refused(
            "REFIT(REFIT(LAST,every=1,window=2),every=1,window=2)",
            "REFIT within REFIT: one of them is enough",
        );
        check_refused(
            "REFIT(AUTO,every=1,window=99)",
            "REFIT around AUTO: it refits its members by itself, as in AUTO(every=100,window=600)",
        );
        check_refused("AUTO(budget=1)", "budget of `AUTO` is `1`; it must be a whole number from 2000 to 1000000000");
    }

    #[test]
    fn broken_shapes_are_refused() {
        for broken in ["", "(", ")", "AR(", "AR(4", "AR(4))", "AR((4)", "AR(4,)", "AR()", "A R(=", "AR(4)x", "é(1)"] {
            assert!(broken.parse::<Spec>().is_err(), "{broken} was taken");
        }
        assert!("x".repeat(10_000).parse::<Spec>().is_err());
    }
}
