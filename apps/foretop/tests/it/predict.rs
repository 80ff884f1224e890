//! `predict`: the numbers of the reference, and what it does with bad input.

use crate::command::{run, run_with_input, trace};

const TRACE: &str = "ec2_cpu_utilization_5f5533.csv";

#[track_caller]
fn check_refused(args: &[&str], input: &str, status: i32, message: &str) {
    run_with_input(&[&["predict", "-"], args].concat(), input).check_failed(status, message);
}

/// 40 samples that vary.
fn samples() -> String {
    (0..40).map(|t| format!("{}\n", t * 7919 % 13)).collect()
}

#[test]
fn ar_16_on_a_trace_agrees_with_r_and_statsmodels() {
    let args = ["predict", &trace(TRACE), "--model", "AR(16)", "--horizon", "30", "--rows", "600", "--format", "json"];
    let prediction = run(&args).json();
    // From R 4.2.2 and statsmodels 0.15, which agree to 12 digits; 1e-9 leaves room for another order of summation.
    let expected = [
        (1, 48.985_573_631_422_03, 1.948_513_895_079_141_6),
        (5, 42.556_864_151_819_106, 2.120_576_309_988_153),
        (10, 42.563_741_956_863_21, 2.514_771_708_588_519),
        (30, 48.966_816_935_141_3, 3.022_151_825_635_589),
    ];
    for (lead, mean, standard_error) in expected {
        let row = &prediction["forecast"][lead - 1];
        assert_eq!(row["lead"], lead);
        assert!((row["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{row}");
        assert!((row["standard_error"].as_f64().unwrap() - standard_error).abs() < 1e-9, "{row}");
    }
    assert_eq!((&prediction["n_samples"], &prediction["model"]), (&600.into(), &"AR(16)".into()));
}

#[test]
fn csv_has_full_precision_and_the_moments() {
    let trace = trace(TRACE);
    let args = ["predict", &trace, "--model", "AR(16)", "--horizon", "10min", "--rows", "600", "--format", "csv"];
    let text = run(&args).output();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "lead,time,mean,standard_error,lower,upper");
    assert!(lines[1].starts_with("1,2014-02-16T16:27:00Z,48.98557363142"), "{}", lines[1]);
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_table_of_samples_without_times_has_no_times() {
    let text = run_with_input(&["predict", "-", "--model", "mean", "--horizon", "2"], "1\n2\n3\n4\n").output();
    assert_eq!(
        text,
        // The variance 5/3, and that of the mean of four samples with it: 25/12.
        "lead     mean  standard_error      lower    upper\n   \
            1  2.50000         1.44338  -0.328964  5.32896\n   \
            2  2.50000         1.44338  -0.328964  5.32896\n"
    );
}

#[test]
fn a_gap_is_no_sample() {
    let with_gaps = samples().replace("0\n", "0\nNaN\n");
    let prediction =
        run_with_input(&["predict", "-", "--model", "AR(2)", "--horizon", "1", "--format", "json"], &with_gaps).json();
    assert_eq!((&prediction["n_samples"], &prediction["step_seconds"]), (&40.into(), &serde_json::Value::Null));
    assert!(prediction["n_gaps"].as_u64().unwrap() > 0);
}

/// 60 samples at uneven times, in seconds since 1970.
fn uneven() -> String {
    let times = (0..60).scan(0, |at, n| {
        *at += 10 + n * 7919 % 97;
        Some(*at)
    });
    let rows = times.map(|at| format!("{at},{}\n", at * 7919 % 13));
    ["at,load\n".to_owned()].into_iter().chain(rows).collect()
}

#[test]
fn uneven_times_need_a_step_and_take_it() {
    let args = ["--time-column", "at", "--model", "LAST", "--horizon", "2"];
    check_refused(&args, &uneven(), 1, "the times suggest no step; bring the samples to one, as with --step '");
    check_refused(&args, &uneven(), 1, "`standard input`: line 3: sample 1, of 1970-01-01T00:01:");
    let with_step = [&["predict", "-"], &args[..], &["--step", "2min", "--format", "json"]].concat();
    let prediction = run_with_input(&with_step, &uneven()).json();
    assert_eq!(prediction["step_seconds"], 120.0);
    check_refused(&["--step", "1s", "--model", "LAST"], "1\n2\n3\n", 1, "the samples have no times");
}

#[test]
fn intervals_can_be_chosen_and_means_stay_the_same() {
    let with = |intervals: &[&str]| {
        let args =
            ["predict", &trace(TRACE), "--rows", "600", "--model", "AR(4)", "--horizon", "3", "--format", "json"];
        run(&[&args, intervals].concat()).json()
    };
    let normal = with(&[]);
    assert_eq!((&normal["intervals"], &with(&["--intervals", "normal"])), (&"normal".into(), &normal));
    for kind in ["empirical", "adaptive"] {
        let learned = with(&["--intervals", kind]);
        assert_eq!((&learned["intervals"], &learned["model"]), (&kind.into(), &"AR(4)".into()));
        let (ours, theirs) = (&normal["forecast"][0], &learned["forecast"][0]);
        assert_eq!((&ours["mean"], &ours["standard_error"]), (&theirs["mean"], &theirs["standard_error"]));
        assert_ne!(ours["upper"], theirs["upper"], "{kind}");
    }
}

#[test]
fn errors_are_widened_by_those_of_the_coefficients_where_these_are_known() {
    let error = |more: &[&str]| {
        let args = ["predict", "-", "--model", "AR(2)", "--horizon", "1", "--format", "json"];
        let prediction = run_with_input(&[&args, more].concat(), &samples()).json();
        prediction["forecast"][0]["standard_error"].as_f64().unwrap()
    };
    // By about (2 + 1) / 40 of the variance.
    let ratio = error(&["--widen"]) / error(&[]);
    assert!((1.01..1.15).contains(&ratio), "{ratio}");
    check_refused(&["--model", "LAST", "--widen"], &samples(), 2, "LAST has no covariances of coefficients");
    check_refused(
        &["--model", "AR(2)", "--intervals", "empirical", "--widen"],
        &samples(),
        2,
        "that are learned from errors",
    );
}

#[test]
fn an_argument_that_makes_no_sense_exits_with_2() {
    let cases: [(&[&str], &str); 8] = [
        (&["--model", "FOO(3)"], "unknown model `FOO`"),
        (&["--model", "AR(9999)"], "it must be a whole number from 1 to 1024"),
        (&["--horizon", "0"], "a horizon of 0 is too short"),
        (&["--horizon", "1000000000"], "a horizon of 1000000000 is too far"),
        (&["--horizon", "1e9"], "`1e9` is not a horizon"),
        (&["--confidence", "1"], "confidence 1 is not strictly between 0 and 1"),
        (&["--rows", "0"], "0 is not in 1.."),
        (&["--horizon", "30s", "--model", "MEAN"], "a horizon of 30s needs samples with times"),
    ];
    for (args, message) in cases {
        check_refused(args, &samples(), 2, message);
    }
}

#[test]
fn a_file_that_holds_no_series_exits_with_1() {
    check_refused(&[], "", 1, "foretop: cannot take a series from `standard input`: there are no samples in it");
    check_refused(&[], "1\n2\nthree\n", 1, "line 3, column 1: `three` is not a number");
    check_refused(&["--column", "disk"], "cpu,net\n1,2\n", 1, "there is no column `disk`; there are: 1 `cpu`, 2 `net`");
    run(&["predict", "no-such-file"]).check_failed(1, "foretop: cannot open `no-such-file`: No such file");
}

#[test]
fn a_model_that_cannot_be_fitted_says_why() {
    check_refused(&["--model", "AR(16)"], "1\n2\n", 1, "AR(16) needs at least 33 samples that are not gaps, but has 2");
    check_refused(&["--model", "AR(1)"], "5\n5\n5\n5\n", 1, "cannot be fitted to a constant series");
    check_refused(&["--model", "AR(1)"], "NaN\nNaN\nNaN\nNaN\n", 1, "AR(1) needs at least 3 samples that are not gaps");
}

#[test]
fn without_a_model_few_samples_are_forecast_by_what_they_allow() {
    let ten = "3\n5\n4\n6\n5\n7\n6\n8\n7\n9\n";
    let prediction = run_with_input(&["predict", "-", "--horizon", "3", "--format", "json"], ten).json();
    assert_eq!(prediction["model"], "AUTO");
    for lead in prediction["forecast"].as_array().unwrap() {
        let (mean, lower, upper) = (lead["mean"].as_f64(), lead["lower"].as_f64(), lead["upper"].as_f64());
        assert!(lower < mean && mean < upper && (3.0..=12.0).contains(&mean.unwrap()), "{lead}");
    }
    check_refused(&[], "1\n", 1, "AUTO needs at least 2 samples");
    assert_eq!(run_with_input(&["predict", "-", "--format", "json"], &samples()).json()["model"], "AUTO");
}

#[test]
fn a_spreadsheet_is_read_or_the_option_is_named() {
    let predict = |args: &[&str], text: &str| {
        let common = ["predict", "-", "--model", "LAST", "--horizon", "1", "--format", "csv"];
        run_with_input(&[&common, args].concat(), text).output()
    };
    let german = "Zeit;Last\n01.02.2026;1,5\n02.02.2026;#DIV/0!\n03.02.2026;1.234,5\n";
    assert!(predict(&[], german).contains("1,2026-02-04T00:00:00Z,1234.5,"));
    assert!(predict(&["--decimal", "comma"], "\"1,5\"\n\"2,5\"\n").contains("1,2.5,"));
    assert!(predict(&["--separator", ";", "--decimal", ","], "1,5\n2,5\n").contains("1,2.5,"));
    check_refused(&[], "\"1,5\"\n\"2,5\"\n", 1, "--decimal comma: line 1, column 1: `1,5`");
    check_refused(&[], "load\n1,5\n2,5\n", 1, "--decimal comma: line 2 has 2 columns");
    check_refused(&[], "1;2\n3;4\n", 1, "standard input`: there are several columns");
    check_refused(&[], "1,5\n2,5\n", 1, "--separator ';' --decimal comma");
}

#[test]
fn an_error_is_one_line_and_harmless() {
    let ended = run(&["predict", "no\x1b[2Jsuch\nfile"]);
    assert_eq!(ended.stderr.lines().count(), 1);
    assert!(!ended.stderr.contains('\x1b'));
}

#[test]
fn a_season_that_auto_finds_is_said() {
    use std::fmt::Write as _;
    let mut rows = String::from("time,value\n");
    for t in 0..288 * 8 {
        let (day, hour, minute) = (t / 288 + 1, t % 288 / 12, t % 12 * 5);
        let wave = (std::f64::consts::TAU * f64::from(t) / 288.0).sin();
        let value = 50.0 + 10.0 * wave + f64::from(t * 7919 % 13) / 5.0;
        writeln!(rows, "2026-01-{day:02}T{hour:02}:{minute:02}:00Z,{value}").unwrap();
    }
    let args = ["predict", "-", "--model", "AUTO", "--horizon", "12h"];
    let text = run_with_input(&args, &rows).output();
    let line = text.lines().last().unwrap();
    assert!(line.starts_with("season of 288 steps (1d): SEASONAL(288) errs "), "{line}");
    assert!(line.contains(" % less than ") && line.contains(" at lead "), "{line}");
    let season = &run_with_input(&[&args[..], &["--format", "json"]].concat(), &rows).json()["fitted"]["season"];
    assert_eq!((&season["model"], &season["period_steps"]), (&"SEASONAL(288)".into(), &[288.0][..].into()));
    assert!(season["leads"].as_array().unwrap().iter().any(|at| at["error_ratio"].as_f64().unwrap() < 0.9));
    let noise: String = (0..700_u64).map(|t| format!("{}\n", t.pow(3) * 7919 % 1009)).collect();
    assert!(!run_with_input(&["predict", "-", "--model", "AUTO"], &noise).output().contains("season of"));
    let unseen = run_with_input(&["predict", "-", "--model", "SEASONAL(24,5000)"], &noise).output();
    assert_eq!(
        unseen.lines().last(),
        Some("a season of 5000 steps is longer than the 700 that are known: nothing is known of it")
    );
}

#[test]
fn a_forecast_is_drawn_into_files_and_into_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let [svg, png] = ["a.svg", "a.png"].map(|name| folder.path().join(name));
    let rows = wave((0..400).map(|hour| format!("2026-01-{:02}T{:02}:00:00Z", hour / 24 + 1, hour % 24)), 24.0);
    let args = ["predict", "-", "--horizon", "1d", "--plot", "-"];
    let files = ["--plot", svg.to_str().unwrap(), "--plot", png.to_str().unwrap()];
    let text = run_with_input(&[&args[..], &files].concat(), &rows).output();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("stdin: forecast by AUTO(24,168); bands of 50 and 95 %"));
    let field: Vec<&str> = lines.skip(1).take_while(|line| !line.is_empty()).collect();
    assert_eq!(field.len(), 17, "{text}");
    assert!(
        field.iter().all(|line| line.chars().count() <= 80) && field[16].ends_with("2026-01-18T15:00:00Z"),
        "{text}"
    );
    for ink in ['•', '━', '┬'] {
        assert!(text.contains(ink), "{ink} is not in {text}");
    }
    assert!(text.contains("\n\nlead  time"), "{text}");
    let drawn = std::fs::read_to_string(svg).unwrap();
    for words in ["forecast by AUTO(24,168)", "time, UTC", "Jan 15", "<polygon"] {
        assert!(drawn.contains(words), "{words}");
    }
    assert!(std::fs::read(png).unwrap().starts_with(b"\x89PNG"));
    check_refused(&["--plot", "a.jpg"], "1\n2\n", 2, "its name must end in .svg or .png");
    check_refused(&["--plot", "-", "--format", "csv"], "1\n2\n", 2, "goes with --format table only");
}

/// Rows of a wave with this period at these times, under the header `t,x`.
fn wave(times: impl Iterator<Item = String>, period: f64) -> String {
    let row = |(n, time): (usize, String)| {
        let angle = std::f64::consts::TAU * n as f64 / period;
        format!("{time},{}\n", 50.0 + 10.0 * angle.sin() + (n * 7919 % 13) as f64 / 10.0)
    };
    ["t,x\n".to_owned()].into_iter().chain(times.enumerate().map(row)).collect()
}

#[test]
fn months_are_forecast_by_the_calendar_and_with_a_season_of_a_year() {
    let months = |format: fn(usize, usize) -> String| (0..144).map(move |n| format(1949 + n / 12, n % 12 + 1));
    for text in [wave(months(|y, m| format!("{y}-{m:02}-01")), 12.0), wave(months(|y, m| format!("{y}-{m:02}")), 12.0)]
    {
        let prediction = run_with_input(&["predict", "-", "--horizon", "1y", "--format", "json"], &text).json();
        let found = (&prediction["model"], &prediction["n_samples"], &prediction["step"], &prediction["origin"]);
        assert_eq!(found, (&"AUTO(12)".into(), &144.into(), &"1 month".into(), &"1960-12-01T00:00:00Z".into()));
        let times: Vec<&str> =
            prediction["forecast"].as_array().unwrap().iter().map(|lead| lead["time"].as_str().unwrap()).collect();
        assert_eq!((times.len(), times[0], times[1]), (12, "1961-01-01T00:00:00Z", "1961-02-01T00:00:00Z"));
        assert_eq!(times[11], "1961-12-01T00:00:00Z");
    }
    let quarters = wave((0..100).map(|n| format!("{}Q{}", 2000 + n / 4, n % 4 + 1)), 4.0);
    let prediction = run_with_input(&["predict", "-", "--horizon", "2", "--format", "csv"], &quarters).output();
    assert!(prediction.contains("\n1,2025-01-01T00:00:00Z,") && prediction.contains("\n2,2025-04-01T00:00:00Z,"));
    let three = run_with_input(
        &["predict", "-", "--horizon", "1", "--format", "csv"],
        "t,x\n2024-01,1\n2024-02,2\n2024-03,4\n",
    );
    assert!(three.output().contains("\n1,2024-04-01T00:00:00Z,"));
}

#[test]
fn samples_that_share_a_step_are_warned_of() {
    let text = "t,x\n2024-01,1\n2024-02,2\n2024-02,4\n2024-03,5\n";
    let ended = run_with_input(&["predict", "-", "--model", "LAST", "--format", "json"], text);
    assert_eq!(
        ended.stderr,
        "foretop: warning: in `standard input`, 1 sample is averaged with another one of the same step: that of 2024-02-01T00:00:00Z\n"
    );
    let prediction: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.status, &prediction["n_samples"]), (0, &3.into()));
}

#[test]
fn an_hour_that_comes_twice_is_refused_until_the_zone_is_known() {
    let clock = (0..97).map(|n| if n < 27 { n } else { n - 1 });
    let text = wave(clock.map(|n| format!("2026-10-{} {:02}:00", 24 + n / 24, n % 24)), 24.0);
    check_refused(
        &[],
        &text,
        1,
        "state the time zone of these times with --zone, such as --zone Europe/Berlin: line 29, column 1: 02:00 comes twice on 2026-10-25",
    );
    let zone = ["predict", "-", "--zone", "Europe/Berlin", "--horizon", "1", "--format", "json"];
    let prediction = run_with_input(&zone, &text).json();
    let found = (&prediction["n_samples"], &prediction["n_gaps"], &prediction["forecast"][0]["time"]);
    assert_eq!(found, (&97.into(), &0.into(), &"2026-10-28T00:00:00+01:00".into()));
    check_refused(&["--zone", "Mars/Olympus"], &text, 2, "`Mars/Olympus` is no time zone of this system");
    check_refused(
        &["--zone", "Europe/Berlin"],
        "t,x\n2026-03-29 01:00,1\n2026-03-29 02:00,2\n",
        1,
        "state another --zone, or none if these times are in UTC: line 3, column 1: `2026-03-29 02:00` is skipped",
    );
}

#[test]
fn times_and_forecasts_out_of_range_are_refused_with_the_range() {
    let years = |first: usize, n: usize| wave((first..first + n).map(|year| format!("{year}-01-01")), 9.0);
    check_refused(
        &[],
        &years(1650, 50),
        1,
        "line 2, column 1: `1650-01-01` is out of range; times are from 1677-09-21",
    );
    check_refused(
        &["--horizon", "4"],
        &years(2200, 60),
        2,
        "a horizon of 4 steps is too far; it ends after 2262-04-11",
    );
    run_with_input(&["predict", "-", "--horizon", "3"], &years(2200, 60)).output();
}
