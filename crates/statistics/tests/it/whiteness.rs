//! Tests for noise, for normality and for a trend against R (the script is `testdata/series/whiteness/reference.R`).

use statistics::{Portmanteau, Whiteness, kpss_trend, normality};

use crate::statistics::named;

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/series/whiteness/reference.csv");

/// The figures on the line of `series` and `test`.
fn figures(series: &str, test: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(REFERENCE).unwrap();
    let start = format!("{series},{test},");
    let line = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("no line {start}"));
    line.split(',').map(|figure| figure.parse().unwrap()).collect()
}

/// R prints 15 digits; the tails that statrs gives of the normal distribution are good to ten, relative to 1.
#[track_caller]
fn check_close(series: &str, test: &str, ours: &[f64]) {
    let theirs = figures(series, test);
    assert_eq!(ours.len(), theirs.len(), "{series}, {test}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() < 1e-10 * theirs.abs().max(1.0), "{series}, {test}: {ours} is not {theirs}");
    }
}

#[track_caller]
fn check(series: &str, samples: &[f64], n_fitted: usize) {
    let ours = Whiteness::test(samples, 10, n_fitted).unwrap();
    let portmanteau = |q: Portmanteau| [q.statistic, q.degrees_of_freedom as f64, q.p_value];
    check_close(series, "Ljung-Box", &portmanteau(ours.ljung_box));
    check_close(series, "Box-Pierce", &portmanteau(ours.box_pierce));
    check_close(series, "significant share", &[ours.significant_share]);
    for (test, count) in [("turning points", ours.turning_points), ("rises", ours.rises)] {
        check_close(series, test, &[count.found as f64, count.expected, count.standard_deviation, count.p_value]);
    }
    let line = normality(samples).unwrap();
    check_close(series, "normality", &[line.r_squared, line.intercept, line.slope, line.p_value.unwrap()]);
    let trend = kpss_trend(samples).unwrap();
    check_close(series, "KPSS trend", &[trend.statistic, trend.n_lags as f64, trend.p_value]);
}

#[test]
fn nile_is_as_r_has_it() {
    check("nile", &named("nile"), 0);
}

#[test]
fn lake_huron_is_as_r_has_it() {
    check("lake_huron", &named("lake_huron"), 0);
}

#[test]
fn sunspots_are_as_r_has_them() {
    check("sunspots", &named("sunspots"), 0);
}

#[test]
fn dow_jones_is_as_r_has_it() {
    check("dow_jones", &named("dow_jones"), 0);
}

#[test]
fn errors_of_an_ar_2_are_as_r_has_them() {
    let deviations: Vec<f64> = named("nile").iter().map(|sample| sample - 919.35).collect();
    let errors: Vec<f64> = deviations.windows(3).map(|z| z[2] - 0.41 * z[1] - 0.18 * z[0]).collect();
    check("nile_errors", &errors, 2);
}

#[test]
fn the_tests_do_not_depend_on_the_unit() {
    let ours = Whiteness::test(&named("nile"), 10, 0).unwrap();
    for factor in [2.0_f64.powi(900), 2.0_f64.powi(-900)] {
        let scaled: Vec<f64> = named("nile").iter().map(|sample| sample * factor).collect();
        assert_eq!(Whiteness::test(&scaled, 10, 0).unwrap(), ours);
    }
}
