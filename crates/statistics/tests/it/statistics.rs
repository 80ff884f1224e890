//! Statistics against R (the script is `testdata/series/statistics/reference.R`) and against series of known memory.

use series::csv::{Options, read};
use statistics::{
    Hurst, StatisticError, aggregated_variance, autocorrelations, autocovariances, geweke_porter_hudak, kpss,
    partial_autocorrelations, periodogram, pox_plot, rescaled_range, whittle,
};

pub fn named(name: &str) -> Vec<f64> {
    let path = format!("{}/../../testdata/predict/ar/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    read(std::fs::File::open(path).unwrap(), &Options::default()).unwrap().samples().to_vec()
}

/// Relative to the larger of 1 and the number; R prints 15 digits.
#[track_caller]
fn check_close(what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() < 1e-12 * theirs.abs().max(1.0), "{what}: {ours} is not {theirs}");
    }
}

#[test]
fn correlations_are_those_of_r() {
    check_close(
        "acf",
        &autocorrelations(&named("nile"), 5)[1..],
        &[0.498408184133029, 0.384576903904873, 0.327860437522546, 0.239191169941486, 0.22842198672084],
    );
    check_close(
        "pacf",
        &partial_autocorrelations(&named("nile"), 5),
        &[0.49840818413303, 0.181171005437572, 0.11089699311649, 0.00617563607921592, 0.0650249278381343],
    );
    check_close(
        "pacf",
        &partial_autocorrelations(&named("sunspots"), 5),
        &[0.820201294420022, -0.676694417175771, -0.14652327324991, 0.0479436480895412, 0.00543006926434798],
    );
}

#[test]
fn correlations_by_fft_are_the_sums_they_stand_for() {
    let mut samples = named("lake_huron");
    samples[20] = f64::NAN;
    let known: Vec<f64> = samples.iter().copied().filter(|sample| !sample.is_nan()).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let by_fft = autocovariances(&samples, 97);
    for (lag, covariance) in by_fft.iter().enumerate() {
        let products = samples.iter().zip(&samples[lag..]).map(|(a, b)| (a - mean) * (b - mean));
        let sum: f64 = products.filter(|product| !product.is_nan()).sum();
        assert!((covariance - sum / known.len() as f64).abs() < 1e-12, "lag {lag}");
    }
    assert_eq!(autocovariances(&samples, 200)[98..], [0.0; 103]);
}

#[test]
fn the_periodogram_is_that_of_r() {
    let spectrum = periodogram(&named("nile")).unwrap();
    check_close("first", &spectrum.powers[..3], &[59430.8472638668, 12003.7746168582, 2654.6738295226]);
    check_close("last", &spectrum.powers[49..], &[4380.39125927905]);
    let odd = periodogram(&named("sunspots")).unwrap();
    check_close("first", &odd.powers[..3], &[951.119587525894, 1087.33240992366, 3488.50093602281]);
    check_close("last", &odd.powers[153..], &[0.0498058765738149]);
}

#[test]
fn log_periodogram_regression_is_that_of_fracdiff() {
    for (name, d, deviation) in [
        ("nile", 0.389624745485815, 0.293559200483572),
        ("lake_huron", 0.43624240544106, 0.31706624848011),
        ("sunspots", 0.641853033585179, 0.201808383937089),
    ] {
        let ours = geweke_porter_hudak(&named(name)).unwrap();
        check_close(name, &[ours.exponent, ours.standard_error], &[d + 0.5, deviation]);
    }
}

#[test]
fn the_test_for_a_level_is_that_of_tseries() {
    for (name, statistic, n_lags, p_value) in [
        ("nile", 0.965434907752661, 4, 0.01),
        ("lake_huron", 0.995290114411606, 3, 0.01),
        ("sunspots", 0.584143801879482, 5, 0.0240778361927744),
    ] {
        let ours = kpss(&named(name)).unwrap();
        check_close(name, &[ours.statistic, ours.p_value], &[statistic, p_value]);
        assert_eq!(ours.n_lags, n_lags);
    }
}

/// Fractional noise of memory `d`, from uniform noise by the moving average (1 - B)^-d cut after 2,000 terms.
fn fractional_noise(d: f64, n: usize) -> Vec<f64> {
    const N_TERMS: usize = 2_000;
    let mut bits = 42_u64;
    let mut uniform = || {
        // Knuth's 64-bit linear congruence; the upper half is as good as noise for this purpose.
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (bits >> 32) as f64 / f64::from(u32::MAX) - 0.5
    };
    let noise: Vec<f64> = (0..n + N_TERMS).map(|_| uniform()).collect();
    let mut weights = vec![1.0];
    for k in 1..N_TERMS {
        weights.push(weights[k - 1] * (k as f64 - 1.0 + d) / k as f64);
    }
    (0..n).map(|t| weights.iter().enumerate().map(|(k, weight)| weight * noise[t + N_TERMS - k]).sum()).collect()
}

/// `tolerance` is what each method is known to miss by on 8,192 samples, bias included.
#[track_caller]
fn check_memory(method: fn(&[f64]) -> Result<Hurst, StatisticError>, tolerance: f64) {
    for d in [0.0, 0.2, 0.4] {
        let exponent = method(&fractional_noise(d, 8192)).unwrap().exponent;
        assert!((exponent - 0.5 - d).abs() < tolerance, "H {exponent} for {}", 0.5 + d);
    }
}

#[test]
fn rescaled_range_finds_the_memory() {
    check_memory(rescaled_range, 0.12);
}

#[test]
fn aggregated_variance_finds_the_memory() {
    check_memory(aggregated_variance, 0.12);
}

#[test]
fn log_periodogram_regression_finds_the_memory() {
    check_memory(geweke_porter_hudak, 0.15);
}

#[test]
fn whittle_finds_the_memory() {
    check_memory(whittle, 0.06);
}

#[test]
fn the_pox_plot_has_every_stretch() {
    let points = pox_plot(&fractional_noise(0.2, 1024)).unwrap();
    assert_eq!(points.iter().filter(|point| point.length == 8).count(), 128);
    assert_eq!(points.iter().filter(|point| point.length == 512).count(), 2);
    assert!(points.iter().all(|point| point.rescaled_range > 0.0));
}

#[test]
fn what_has_no_memory_to_measure_is_refused() {
    let refused = |samples: &[f64]| rescaled_range(samples).unwrap_err().to_string();
    assert_eq!(refused(&[1.0; 10]), "the pox plot needs at least 64 samples, but has 10");
    assert_eq!(refused(&[1.0; 100]), "the pox plot needs samples that vary, but every one is 1");
    let mut broken = vec![0.0; 100];
    broken[7] = f64::NAN;
    assert_eq!(
        refused(&broken),
        "the pox plot needs a row without gaps, but sample 7 is NaN; use a stretch without gaps"
    );
}
