//! A report says what is so, and a file that is none is refused by name.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crossval::{
    Campaign, Costs, Metric, Progress, Report, ReportSettings, Results, ResultsError, Run, Template, Trace,
};
use tempfile::TempDir;

use crate::drawing::TEMPLATE;
use crate::run::finished;

/// Normal numbers, nearly: sums of twelve uniform ones.
fn noise(seed: u32) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        let uniform = |state: &mut u32| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(*state >> 8) / f64::from(1 << 24)
        };
        (0..12).map(|_| uniform(&mut state)).sum::<f64>() - 6.0
    }
}

/// An autoregressive process of order 2, whose oscillation neither the mean nor the last value follows.
fn oscillation(seed: u32, n: usize) -> Vec<f64> {
    let mut noise = noise(seed);
    let mut past = [0.0, 0.0];
    let sample = |_| {
        let sample = 1.2 * past[0] - 0.8 * past[1] + noise();
        past = [sample, past[0]];
        sample + 50.0
    };
    (0..n).map(sample).collect()
}

pub fn results(folder: &Path, template: &str, traces: Vec<Trace>, n_cases: u64) -> PathBuf {
    let out = folder.join("cases.parquet");
    let campaign = Campaign::new(Template::read(template).unwrap(), traces, 1).unwrap();
    let progress = Progress::new(&campaign);
    Run::open(campaign, n_cases, &out).unwrap().run(&AtomicBool::new(false), &progress).unwrap();
    out
}

fn report(path: &Path) -> Report {
    Report::new(&Results::read(path, Metric::MeanSquared).unwrap(), &ReportSettings::default())
}

const OSCILLATION: &str = "models = [\"MEAN\", \"LAST\", \"AR(1..4)\"]\nfit = 200\ntest = 100\nleads = [1, 2, 40]";

#[test]
fn the_model_that_made_the_series_is_recommended() {
    let folder = TempDir::new().unwrap();
    let traces = (1..4).map(|seed| Trace::new(format!("t{seed}"), oscillation(seed, 5000)).unwrap()).collect();
    let path = results(folder.path(), OSCILLATION, traces, 1200);
    let report = report(&path);
    assert_eq!(report.recommended(), Some("AR(2)"));
    let markdown = report.to_markdown();
    assert!(markdown.contains("Use `AR(2)`. `AR(1..4)` won"), "{markdown}");
    // Nothing is left of the noise but noise, except by AR(1); the mean leaves the whole oscillation.
    let kept = |model: &str| report.summary().residuals.iter().find(|row| row.model == model).unwrap().kept;
    let (autoregressive, mean) = (kept("AR(1..4)"), kept("MEAN"));
    assert!(autoregressive.ljung_box > 0.6 && autoregressive.normality > 0.8, "{autoregressive:?}");
    assert!(mean.ljung_box < 0.01 && mean.turning_points < 0.5, "{mean:?}");
    assert!(markdown.contains("## Errors one step ahead"), "{markdown}");
    // At lead 1 it is better than both others for certain; at lead 40 nothing is left to know.
    let row = |lead: &str| markdown.lines().find(|line| line.starts_with(&format!("| {lead} |"))).unwrap().to_owned();
    assert!(row("1").ends_with("| 2 of 2 |"), "{}", row("1"));
    let winners = markdown.split("## Who wins").nth(1).unwrap();
    let winner = |lead: &str| winners.lines().find(|line| line.starts_with(&format!("| {lead} |"))).unwrap().to_owned();
    assert!(winner("1").contains("`AR(1..4)`") && winner("1").ends_with("| yes |"), "{}", winner("1"));
    assert!(winner("40").ends_with("| not shown |"), "{}", winner("40"));
    assert!(markdown.contains("## Calibration") && markdown.contains("| `AR(1..4)` | 50 /"), "{markdown}");
}

#[test]
fn progress_ranks_as_the_report_does() {
    // Noise, in which MEAN wins a little, and ramps, in which LAST wins a lot: by the mean error LAST would lead.
    let mut noise = noise(3);
    let mut trace = |idx: usize| {
        let slope = if idx < 7 { 0.0 } else { 1.0 };
        let samples = (0..2000).map(|t| f64::from(t) * slope + noise()).collect();
        Trace::new(format!("t{idx}"), samples).unwrap()
    };
    let traces = (0..10).map(&mut trace).collect();
    let template = Template::read("models = [\"MEAN\", \"LAST\"]\nfit = 100\ntest = 50\nleads = 1").unwrap();
    let campaign = Campaign::new(template, traces, 1).unwrap();
    let (folder, progress) = (TempDir::new().unwrap(), Progress::new(&campaign));
    let out = folder.path().join("cases.parquet");
    Run::open(campaign.clone(), 400, &out).unwrap().run(&AtomicBool::new(false), &progress).unwrap();
    let standings = progress.standings(&campaign);
    assert!(standings[0].relative_error > standings[1].relative_error, "the case is not reached: {standings:?}");
    assert_eq!(Some(&*standings[0].family), report(&out).recommended());
    let elsewhere = Progress::new(&campaign);
    elsewhere.add(&progress.tally());
    assert_eq!(elsewhere.standings(&campaign), standings);
}

#[test]
fn every_metric_finds_what_is_plain() {
    let folder = TempDir::new().unwrap();
    let traces = vec![Trace::new("t", oscillation(9, 20_000)).unwrap()];
    let path = results(folder.path(), OSCILLATION, traces, 600);
    for metric in [Metric::MeanSquared, Metric::MeanAbsolute, Metric::Crps, Metric::IntervalScore] {
        let report = Report::new(&Results::read(&path, metric).unwrap(), &ReportSettings::default());
        assert_eq!(report.recommended(), Some("AR(2)"), "{metric:?}");
        assert!(report.to_markdown().contains(metric.name()));
    }
}

#[test]
fn a_report_needs_nothing_from_outside() {
    let folder = TempDir::new().unwrap();
    let report = report(&finished(folder.path(), 2));
    let html = report.to_html();
    assert!(html.contains("<svg ") && html.ends_with("</body>\n</html>\n"));
    let addresses = html.matches("http").count();
    assert_eq!(addresses, html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    assert!(!html.contains("src=") && !html.contains("url(") && !html.contains("<script"));
    // Its template gives two of four models to a window, so that ranks of all four cannot be had.
    assert!(html.contains("Without <code>models_per_window</code>"));
}

#[test]
fn failures_are_counted_by_reason_and_lose() {
    let folder = TempDir::new().unwrap();
    let mut samples = oscillation(5, 4000);
    samples[1000..3000].fill(42.0);
    let template = "models = [\"LAST\", \"AR(4)\"]\nfit = 100\ntest = 50\nleads = 1";
    let path = results(folder.path(), template, vec![Trace::new("stuck", samples).unwrap()], 400);
    let markdown = report(&path).to_markdown();
    let row = markdown.lines().find(|line| line.starts_with("| `AR(4)` | constant |")).unwrap();
    let n: u32 = row.trim_end_matches(" |").rsplit(' ').next().unwrap().parse().unwrap();
    // About half of 200 windows begin in the stuck half.
    assert!((70..130).contains(&n), "{row}");
    assert!(markdown.contains(&format!("{n} of 400 cases failed")));
}

#[test]
fn timings_of_another_run_are_left_aside() {
    let folder = TempDir::new().unwrap();
    let path = finished(folder.path(), 1);
    let timings = Run::timings_path(&path);
    let markdown = || report(&path).to_markdown();
    assert!(markdown().contains("| model | fit, µs |"));
    let other = results(folder.path(), OSCILLATION, vec![Trace::new("t", oscillation(1, 2000)).unwrap()], 3);
    fs::copy(Run::timings_path(&other), &timings).unwrap();
    assert!(markdown().contains("the file of timings is not beside the results"));
    fs::remove_file(timings).unwrap();
    assert!(markdown().contains("the file of timings is not beside the results"));
}

#[test]
fn without_costs_a_report_says_nothing_that_differs_from_run_to_run() {
    let folder = TempDir::new().unwrap();
    let path = finished(folder.path(), 1);
    let settings = ReportSettings { title: "Of a test".to_owned(), costs: Costs::LeftOut };
    let markdown = || Report::new(&Results::read(&path, Metric::MeanSquared).unwrap(), &settings).to_markdown();
    let beside_timings = markdown();
    assert!(beside_timings.starts_with("# Of a test\n") && !beside_timings.contains("## Cost"), "{beside_timings}");
    fs::remove_file(Run::timings_path(&path)).unwrap();
    assert_eq!(markdown(), beside_timings);
}

#[test]
fn what_is_no_result_file_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.parquet");
    let read = || Results::read(&path, Metric::MeanSquared).unwrap_err();
    assert!(matches!(read(), ResultsError::Io { .. }));
    fs::write(&path, "not parquet").unwrap();
    assert!(
        matches!(read(), ResultsError::Parquet { .. })
            && read().to_string().contains("x.parquet` is not a Parquet file")
    );
    let whole = fs::read(finished(folder.path(), 1)).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(read(), ResultsError::Parquet { .. }));
}

#[test]
fn damage_to_what_was_found_is_noticed() {
    let folder = TempDir::new().unwrap();
    let template = TEMPLATE.replace("[1, 3, 10]", "[1]");
    let out = results(folder.path(), &template, vec![Trace::new("t", oscillation(1, 3000)).unwrap()], 40);
    let whole = fs::read(&out).unwrap();
    // Behind the row groups, which begin after four letters, is what the file says of itself; at its end is how long
    // that is.
    let n_footer = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap()) as usize;
    let end = whole.len() - 8 - n_footer;
    let path = folder.path().join("damaged.parquet");
    for number in 0..300 {
        let mut bytes = whole.clone();
        bytes[4 + (number * 7919 + number * number * 31) % (end - 4)] ^= 1 << (number % 8);
        fs::write(&path, bytes).unwrap();
        let error = Results::read(&path, Metric::MeanSquared).unwrap_err();
        assert!(matches!(error, ResultsError::Damaged { group: 0, .. }), "{error}");
    }
}

#[test]
fn no_damage_to_what_a_file_says_of_itself_is_more_than_an_error() {
    let folder = TempDir::new().unwrap();
    let template = TEMPLATE.replace("[1, 3, 10]", "[1]");
    let out = results(folder.path(), &template, vec![Trace::new("t", oscillation(1, 3000)).unwrap()], 40);
    let whole = fs::read(&out).unwrap();
    let n_footer = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap()) as usize;
    let path = folder.path().join("damaged.parquet");
    for number in 0..300 {
        let mut bytes = whole.clone();
        let place = whole.len() - 1 - (number * 7919 + number * number * 31) % (n_footer + 8);
        bytes[place] ^= 1 << (number % 8);
        fs::write(&path, bytes).unwrap();
        // Some of it says nothing that matters, as the name of the program.
        if let Ok(results) = Results::read(&path, Metric::MeanSquared) {
            assert!(!Report::new(&results, &ReportSettings::default()).to_html().is_empty());
        }
    }
}
