//! `analyze`: what it says, what it draws, and what it does with bad input.

use expect_test::expect;

use crate::command::{run, run_with_input, trace};

const TRACE: &str = "ec2_cpu_utilization_5f5533.csv";

/// The PNG signature (PNG specification, section 5.2).
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[track_caller]
fn check_refused(args: &[&str], input: &str, status: i32, message: &str) {
    run_with_input(&[&["analyze", "-"], args].concat(), input).check_failed(status, message);
}

#[test]
fn a_trace_is_described_in_figures() {
    let text = run(&["analyze", &trace(TRACE), "--rows", "600", "--lags", "4"]).output();
    expect![[r#"
        samples       600, no gaps, 5m apart, from 2014-02-14T14:27:00Z to 2014-02-16T16:22:00Z
        mean          46.4834, variance 13.7865, from 38.5220 to 56.2200
        noise         not noise: Ljung-Box Q 382.523 (p < 0.0001), Box-Pierce Q 379.726 (p < 0.0001), on 4 degrees of freedom
                      75 % of 4 autocorrelations beyond 0.080 (5 % in noise)
                      444 turning points, 398.7 expected (p < 0.0001); 238 rises, 299.5 expected (p < 0.0001)
        normality     not normal: R^2 of the quantile-quantile line 0.9828 (p < 0.0001)
        stationarity  stationary about a level: KPSS 0.367773 (p 0.091) for a level, 0.0693502 (p >= 0.1) for a line

        hurst exponent by               H  standard error
        rescaled range              0.370               -
        aggregated variance         0.296               -
        log-periodogram regression  0.375           0.161
        local Whittle               0.538           0.063

        means of    n   variance
               1  600    13.7865
               2  300    3.26502
               4  150    1.19487
               8   75   0.269284
              16   37   0.160631
              32   18  0.0831089

        lag  autocorrelation   partial
          1         -0.5362*  -0.5362*
          2         -0.0483   -0.4714*
          3          0.3820*   0.1645*
          4         -0.4439*  -0.1862*
    "#]].assert_eq(&text);
}

#[test]
fn seasons_are_taken_apart_with_their_share_of_the_variance() {
    // Three weeks of hours with a day, and a wave of seven hours that nobody named: variances 8 and 2 beside 2 of
    // noise.
    let wave = |hour: usize, period: f64| (std::f64::consts::TAU * hour as f64 / period).sin();
    let sample =
        |hour: usize| 50.0 + 4.0 * wave(hour, 24.0) + 2.0 * wave(hour, 7.0) + (hour * 7919 % 101) as f64 / 20.0;
    let rows =
        (0..24 * 22).map(|hour| format!("2026-11-{:02}T{:02}:00:00Z,{}\n", 1 + hour / 24, hour % 24, sample(hour)));
    let samples = format!("time,value\n{}", rows.collect::<String>());
    let analysis = run_with_input(&["analyze", "-", "--format", "json"], &samples).json();
    let parts = &analysis["decomposition"];
    let shares: Vec<(&str, f64)> = parts["seasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|season| (season["name"].as_str().unwrap(), season["explained_ratio"].as_f64().unwrap()))
        .collect();
    // Weeks explain nothing.
    let [("period of 7h", found), ("day", day)] = shares[..] else { panic!("{shares:?}") };
    assert!((day - 8.0 / 12.0).abs() < 0.05 && (found - 2.0 / 12.0).abs() < 0.05, "{shares:?}");
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("parts.svg");
    let text = run_with_input(&["analyze", "-", "--plot", svg.to_str().unwrap()], &samples).output();
    assert!(text.contains("decomposition of the variance level ") && text.contains("period of 7h 1"), "{text}");
    let drawn = std::fs::read_to_string(svg).unwrap();
    for words in ["Level", "Period of 7h", "Day", "Rest", "of the variance"] {
        assert!(drawn.contains(words), "{words}");
    }
}

#[test]
fn gaps_part_the_samples_and_are_said() {
    let samples: String =
        (0..40).map(|t| if t == 10 { "NaN\n".into() } else { format!("{}\n", t * 7919 % 13) }).collect();
    let text = run_with_input(&["analyze", "-", "--lags", "2"], &samples).output();
    expect![[r#"
        samples       39, 1 gap
        mean          5.82051, variance 14.8652, from 0.00000 to 12.0000
        noise         like noise: Ljung-Box Q 4.22167 (p 0.1211), Box-Pierce Q 3.74865 (p 0.1535), on 2 degrees of freedom
                      0 % of 2 autocorrelations beyond 0.314 (5 % in noise)
                      11 turning points, 23.3 expected (p < 0.0001); 31 rises, 18.5 expected (p < 0.0001)
        normality     like normal: R^2 of the quantile-quantile line 0.9526 (p 0.0927)
        unbroken      samples 12 to 40, which stationarity, Hurst exponents and periodogram are of
        stationarity  stationary about a level: KPSS 0.0329094 (p >= 0.1) for a level, 0.0331312 (p >= 0.1) for a line

        means of   n  variance
               1  39   14.8652
               2  20   7.94000
               4  10   3.02750

        lag  autocorrelation   partial
          1          0.1992    0.1992
          2         -0.2376   -0.2887

        not available: the pox plot needs at least 64 samples, but has 29
        not available: the aggregated variance needs at least 64 samples, but has 29
        not available: the log-periodogram regression needs at least 64 samples, but has 29
        not available: the Whittle estimate needs at least 64 samples, but has 29
    "#]].assert_eq(&text);
}

#[test]
fn a_constant_has_a_mean_and_no_more() {
    let text = run_with_input(&["analyze", "-"], &"5\n".repeat(12)).output();
    expect![[r#"
        samples       12, no gaps
        mean          5.00000, variance 0.00000, from 5.00000 to 5.00000

        means of   n  variance
               1  12   0.00000

        not available: the portmanteau test needs samples that vary, but every one is 5
        not available: the quantile-quantile line needs samples that vary, but every one is 5
        not available: the KPSS test needs samples that vary, but every one is 5
        not available: the pox plot needs at least 64 samples, but has 12
        not available: the aggregated variance needs at least 64 samples, but has 12
        not available: the log-periodogram regression needs at least 64 samples, but has 12
        not available: the Whittle estimate needs at least 64 samples, but has 12
        not available: the periodogram needs samples that vary, but every one is 5
    "#]]
    .assert_eq(&text);
}

#[test]
fn json_has_every_figure_in_full() {
    let analysis = run(&["analyze", &trace(TRACE), "--rows", "600", "--lags", "2", "--format", "json"]).json();
    // Sum and variance of testdata's trace by R: 27890.036 / 600, 13.786476711955556; another order of summation is
    // left room.
    assert!((analysis["mean"].as_f64().unwrap() - 46.483_393_333_333_33).abs() < 1e-9);
    assert!((analysis["variance"].as_f64().unwrap() - 13.786_476_711_955_556).abs() < 1e-9);
    assert_eq!((&analysis["n_samples"], &analysis["step_seconds"]), (&600.into(), &300.0.into()));
    assert_eq!(analysis["autocorrelations"].as_array().unwrap().len(), 2);
    assert_eq!(analysis["hurst"].as_array().unwrap().len(), 4);
    assert_eq!(analysis["pox"][0]["length"], 8);
    // Two days are too few to tell a day.
    assert_eq!(analysis["decomposition"], serde_json::Value::Null);
    assert_eq!(analysis["unavailable"], serde_json::json!([]));
}

#[test]
fn pictures_are_drawn_as_svg_and_as_png() {
    let folder = tempfile::tempdir().unwrap();
    let [svg, png] = ["trace.svg", "trace.PNG"].map(|name| folder.path().join(name));
    run(&["analyze", &trace(TRACE), "--plot", svg.to_str().unwrap(), "--plot", png.to_str().unwrap()]).output();
    let drawn = std::fs::read_to_string(svg).unwrap();
    for words in [
        "Samples",
        "time, UTC",
        "Autocorrelation",
        "Partial autocorrelation",
        "Periodogram",
        "Pox plot",
        "H = 0.",
        "lag in samples",
    ] {
        assert!(drawn.contains(words), "{words}");
    }
    assert!(std::fs::read(png).unwrap().starts_with(PNG));
}

#[test]
fn what_cannot_be_drawn_leaves_its_frame_empty() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("constant.svg");
    run_with_input(&["analyze", "-", "--plot", svg.to_str().unwrap()], &"5\n".repeat(12)).output();
    assert!(std::fs::read_to_string(svg).unwrap().contains("not available for these samples"));
}

#[test]
fn what_makes_no_sense_exits_with_2() {
    check_refused(
        &["--lags", "40"],
        &"1\n2\n".repeat(10),
        2,
        "--lags 40 is too many for 20 samples; it must be from 1 to 19",
    );
    check_refused(&["--lags", "0"], "1\n2\n", 2, "0 is not in 1..=10000");
    check_refused(&["--plot", "trace.jpg"], "1\n2\n", 2, "its name must end in .svg or .png");
}

#[test]
fn a_file_that_says_nothing_exits_with_1() {
    check_refused(&[], "5\n", 1, "at least 2 samples that are not gaps are needed, but there are 1");
    check_refused(&["--column", "disk"], "cpu,net\n1,2\n", 1, "there is no column `disk`; there are: 1 `cpu`, 2 `net`");
    check_refused(
        &["--plot", "/no/such/folder/a.svg"],
        &"1\n2\n".repeat(10),
        1,
        "cannot write `/no/such/folder/a.svg`",
    );
}
