//! What becomes of pages: recorded ones, those of the client library for Python, and made-up ones for what these lack.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use feed::{Exporter, ExporterSettings};
use signal::{Kind, Readings, Source, Unit};

/// What a page gave, by the ids of the signals.
pub type Values = BTreeMap<String, f64>;

pub fn settings(patterns: &[&str]) -> ExporterSettings {
    let mut settings = ExporterSettings::new("http://127.0.0.1:9/metrics");
    settings.patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    settings
}

pub fn values(readings: &Readings) -> Values {
    readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect()
}

/// Pages that are read one after the other.
struct Pages {
    exporter: Exporter,
    readings: Readings,
    is_open_metrics: bool,
}

impl Pages {
    fn new(settings: &ExporterSettings, is_open_metrics: bool) -> Pages {
        Pages { exporter: Exporter::open(settings).unwrap(), readings: Readings::default(), is_open_metrics }
    }

    fn read(&mut self, at_s: u64, page: &str) -> Values {
        self.exporter.read_page(Duration::from_secs(at_s), page.as_bytes(), self.is_open_metrics, &mut self.readings);
        values(&self.readings)
    }

    #[track_caller]
    fn check(&mut self, at_s: u64, page: &str, expected: &[(&str, f64)]) {
        let expected: Values = expected.iter().map(|&(id, value)| (id.to_owned(), value)).collect();
        assert_eq!(self.read(at_s, page), expected, "{:?}", self.exporter.last_error());
    }

    #[track_caller]
    fn check_errors(&self, n: u64, last: Option<&str>) {
        assert_eq!((self.exporter.n_errors(), self.exporter.last_error().as_deref()), (n, last));
    }
}

fn recorded(file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sensor/exporter");
    fs::read_to_string(folder.join(file)).unwrap()
}

/// Reads the three pages of the client library, and compares the last two with what its own parser and numpy make of
/// them.
#[track_caller]
fn check_client_library(form: &str) {
    let mut asked = settings(&[]);
    asked.quantiles = vec![0.5, 0.9];
    let mut pages = Pages::new(&asked, form == "openmetrics");
    for (page, at_s) in [(1, 10), (2, 12), (3, 16)] {
        let read = pages.read(at_s, &recorded(&format!("python-{form}.{page}.txt")));
        if page == 1 {
            continue;
        }
        let file = format!("python-{form}.{page}.expected.txt");
        let expected = recorded(&file);
        let expected: Vec<(&str, f64)> = expected
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap())
            .map(|(id, value)| (id, value.parse().unwrap()))
            .collect();
        for (id, expected) in &expected {
            let value = read.get(*id).unwrap_or_else(|| panic!("{file}: no {id}"));
            // Interpolation in another order of the same operations: some units in the last place.
            assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{file}: {id} is {value}, not {expected}");
        }
        assert_eq!(read.len(), expected.len(), "{file}");
    }
    pages.check_errors(0, None);
}

#[test]
fn open_metrics_of_the_client_library_are_as_its_own_parser_has_them() {
    check_client_library("openmetrics");
}

#[test]
fn the_older_text_of_the_client_library_is_as_its_own_parser_has_it() {
    check_client_library("older");
}

#[test]
fn a_recorded_page_of_the_node_exporter_is_read_whole() {
    let page = recorded("node-exporter.txt");
    let n_series = page.lines().filter(|line| !line.starts_with('#')).count();
    let mut asked = settings(&[]);
    asked.n_signals_max = n_series;
    let mut pages = Pages::new(&asked, false);
    let first = pages.read(1, &page);
    assert_eq!(first["node_load1"], 1.44);
    assert_eq!(
        first[r#"node_filesystem_size_bytes{device="/dev/vda",fstype="ext4",mountpoint="/"}"#],
        2.70553174016e11
    );
    // The second scrape has the counters besides.
    let second = pages.read(3, &page);
    assert_eq!(second[r#"node_cpu_seconds_total{cpu="0",mode="idle"}"#], 0.0);
    let n_infinite = page.lines().filter(|line| line.ends_with("Inf") || line.ends_with("NaN")).count();
    assert_eq!(second.len() + n_infinite, n_series);
    pages.check_errors(0, None);
}

#[test]
fn a_signal_says_what_the_page_says_of_it() {
    let mut asked = settings(&["node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"}", "node_load1"]);
    asked.name = Some("rack 7".to_owned());
    let mut pages = Pages::new(&asked, false);
    let page = recorded("node-exporter.txt");
    pages.read(1, &page);
    pages.read(2, &page);
    let signals: Vec<_> = pages.readings.iter().map(|(signal, _)| signal).collect();
    let [cpu, load] = signals[..] else { panic!("{} signals", signals.len()) };
    assert_eq!(cpu.id().as_ref(), r#"node_cpu_seconds_total{cpu="0",instance="rack 7",mode="idle"}"#);
    let labels: Vec<_> = cpu.labels().iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
    assert_eq!(labels, [("cpu", "0"), ("instance", "rack 7"), ("mode", "idle")]);
    assert_eq!((cpu.family().kind, &cpu.family().unit), (Kind::Rate, &Unit::Named("seconds/s".into())));
    assert_eq!(cpu.family().pattern, "node_cpu_seconds_total");
    assert_eq!(cpu.family().sentence, "Seconds the CPUs spent in each mode.");
    assert_eq!((load.family().kind, &load.family().unit), (Kind::Gauge, &Unit::Named("".into())));
    assert_eq!((load.family().sentence.as_ref(), load.is_listed()), ("1m load average.", false));
}

#[test]
fn a_label_that_is_ours_is_kept_beside_the_exporter_s() {
    let mut asked = settings(&[]);
    asked.name = Some("x".to_owned());
    let mut pages = Pages::new(&asked, false);
    let page = "a{instance=\"1\"} 1\nb{exported_instance=\"0\",instance=\"1\"} 2\n";
    let a = r#"a{exported_instance="1",instance="x"}"#;
    let b = r#"b{exported_exported_instance="1",exported_instance="0",instance="x"}"#;
    pages.check(1, page, &[(a, 1.0), (b, 2.0)]);
}

#[test]
fn a_summary_has_its_quantiles_as_gauges_and_its_counts_as_rates() {
    let mut pages = Pages::new(&settings(&["rpc_seconds"]), true);
    let page = |n: u32| {
        format!(
            "# TYPE rpc_seconds summary\nrpc_seconds{{quantile=\"0.5\"}} 4.5\nrpc_seconds{{quantile=\"0.9\"}} NaN\nrpc_seconds_count {n}\nrpc_seconds_sum {}\nother 1\n# EOF\n",
            f64::from(n) / 2.0
        )
    };
    pages.check(1, &page(10), &[("rpc_seconds{quantile=\"0.5\"}", 4.5)]);
    let expected = [("rpc_seconds{quantile=\"0.5\"}", 4.5), ("rpc_seconds_count", 4.0), ("rpc_seconds_sum", 2.0)];
    pages.check(2, &page(14), &expected);
}

#[test]
fn a_histogram_of_the_moment_gives_its_quantiles_at_once() {
    let mut asked = settings(&[]);
    asked.quantiles = vec![0.5];
    let page = "# TYPE g gaugehistogram\ng_bucket{le=\"2\"} 4\ng_bucket{le=\"+Inf\"} 4\ng_gcount 4\ng_gsum -2\n# EOF\n";
    Pages::new(&asked, true).check(1, page, &[("g{quantile=\"0.5\"}", 1.0), ("g_gcount", 4.0), ("g_gsum", -2.0)]);
    Pages::new(&settings(&[]), true).check(1, page, &[("g_gcount", 4.0), ("g_gsum", -2.0)]);
}

#[test]
fn what_the_exporter_measured_once_is_read_once() {
    let mut pages = Pages::new(&settings(&[]), false);
    let page = |at_ms: u64, value: u64| format!("# TYPE c counter\nc {value} {at_ms}\ng {value} {at_ms}\n");
    pages.check(1, &page(1_000, 10), &[("g", 10.0)]);
    pages.check(2, &page(1_000, 10), &[]);
    pages.check(3, &page(5_000, 18), &[("c", 2.0), ("g", 18.0)]);
}

#[test]
fn a_counter_that_stays_away_for_a_while_comes_back_with_its_mean() {
    let mut pages = Pages::new(&settings(&[]), false);
    pages.check(1, "# TYPE c counter\nc 10\n", &[]);
    pages.check(2, "", &[]);
    pages.check(5, "# TYPE c counter\nc 18\n", &[("c", 2.0)]);
    pages.check(6, "# TYPE c counter\nc NaN\n", &[]);
    pages.check(7, "# TYPE c counter\nc 20\n", &[("c", 1.0)]);
    pages.check(308, "# TYPE c counter\nc 90\n", &[]);
}

#[test]
fn labels_in_another_order_are_the_same_series() {
    let mut pages = Pages::new(&settings(&[]), false);
    pages.check(1, "a{b=\"1\",c=\"2\"} 1\n", &[("a{b=\"1\",c=\"2\"}", 1.0)]);
    pages.check(2, "a{c=\"2\",b=\"1\"} 3\n", &[("a{b=\"1\",c=\"2\"}", 3.0)]);
    pages.check_errors(0, None);
}

#[test]
fn the_first_are_kept_and_stay_kept() {
    let mut asked = settings(&["a.*"]);
    asked.n_signals_max = 2;
    let mut pages = Pages::new(&asked, false);
    pages.check(1, "b 0\na1 1\na2 2\na3 3\na4 4\n", &[("a1", 1.0), ("a2", 2.0)]);
    assert_eq!(pages.exporter.n_left_out(), 2);
    pages.check(2, "a4 4\na3 3\na2 2\n", &[("a2", 2.0)]);
    pages.check(3, "a2 2\na1 1\n", &[("a1", 1.0), ("a2", 2.0)]);
    assert_eq!(pages.exporter.n_left_out(), 0);
    let said =
        "`http://127.0.0.1:9/metrics` offers 2 signals beyond the 2 that are kept: choose fewer, or raise the cap";
    pages.check_errors(1, Some(said));
}

#[test]
fn a_series_that_was_silent_for_an_hour_gives_its_place_to_another() {
    let mut asked = settings(&["[ab].*"]);
    asked.n_signals_max = 2;
    let mut pages = Pages::new(&asked, false);
    let gone = |pages: &Pages| pages.readings.gone().iter().map(|signal| signal.id().to_string()).collect::<Vec<_>>();
    pages.check(0, "a1 1\na2 2\n", &[("a1", 1.0), ("a2", 2.0)]);
    pages.check(3599, "a2 2\nb3 3\n", &[("a2", 2.0)]);
    pages.check(3600, "a2 2\nb3 3\n", &[("a2", 2.0)]);
    assert_eq!(gone(&pages), [""; 0]);
    pages.check(3601, "b3 3\na2 2\n", &[("a2", 2.0), ("b3", 3.0)]);
    assert_eq!(gone(&pages), ["a1"]);
    // Nobody is silent while there is no page.
    pages.check(9000, "b4 4\na2 2\nb3 3\n", &[("a2", 2.0), ("b3", 3.0)]);
    pages.check(9001, "a2 2\nb3 3\n", &[("a2", 2.0), ("b3", 3.0)]);
    assert_eq!(gone(&pages), [""; 0]);
}

#[test]
fn an_exporter_that_always_has_other_series_holds_no_place_forever() {
    let mut asked = settings(&[]);
    asked.n_signals_max = 10;
    let mut pages = Pages::new(&asked, false);
    let mut n_gone = 0;
    for hour in 0..100 {
        let page: String = (0..10).map(|idx| format!("name{hour}_{idx} 1\n")).collect();
        // At the first scrape there is no room, at the second the last ones have been silent for an hour.
        for second in [0, 5] {
            pages.read(3605 * hour + second, &page);
            n_gone += pages.readings.gone().len();
        }
        assert_eq!(pages.readings.len(), 10, "hour {hour}");
    }
    assert_eq!(n_gone, 990);
}

#[test]
fn a_histogram_counts_as_many_signals_as_it_has_quantiles() {
    let mut asked = settings(&["h"]);
    asked.quantiles = vec![0.1, 0.5, 0.9];
    asked.n_signals_max = 3;
    let mut pages = Pages::new(&asked, false);
    let page = "# TYPE h histogram\nh_bucket{k=\"1\",le=\"1\"} 1\nh_bucket{k=\"1\",le=\"+Inf\"} 1\n\
                h_bucket{k=\"2\",le=\"1\"} 1\nh_bucket{k=\"2\",le=\"+Inf\"} 1\nh_sum 1\n";
    pages.check(1, page, &[]);
    assert_eq!(pages.exporter.n_left_out(), 4);
}

/// Reads the first page, then the second, which has one fault.
#[track_caller]
fn check_fault(is_open_metrics: bool, first: &str, second: &str, expected: &[(&str, f64)], message: &str) {
    let mut asked = settings(&[]);
    asked.quantiles = vec![0.5];
    let mut pages = Pages::new(&asked, is_open_metrics);
    pages.read(1, first);
    pages.check_errors(0, None);
    pages.check(2, second, expected);
    pages.check_errors(1, Some(message));
}

#[test]
fn a_fault_costs_what_it_is_in() {
    let url = "http://127.0.0.1:9/metrics";
    check_fault(
        false,
        "",
        "a 1\na 2\n",
        &[("a", 1.0)],
        &format!("`a` is listed twice at `{url}`: its first value counts"),
    );
    check_fault(
        false,
        "",
        "a{b=\"\x1b\" 1\nc 2\n",
        &[("c", 2.0)],
        &format!(
            "line 1 of `{url}` cannot be understood: needs `,` or `}}` after a label, says `a{{b=\\\"\\u{{1b}}\\\" 1`"
        ),
    );
    check_fault(
        false,
        "# TYPE a counter\na 1\n",
        "# TYPE a gauge\na 5\nc 2\n",
        &[("c", 2.0)],
        &format!("`a` of `{url}` changed from counter to gauge: it has no values until the node restarts"),
    );
    check_fault(
        false,
        "",
        "# TYPE a counter\n# TYPE a gauge\nc 2\n",
        &[("c", 2.0)],
        &format!("line 2 of `{url}` cannot be understood: needs one type for each family, says `# TYPE a gauge`"),
    );
    check_fault(
        false,
        "",
        "# TYPE a histogram\na_bucket{le=\"1\"} 1\nc 2\n",
        &[("c", 2.0)],
        &format!("the buckets of `a{{quantile=\"0.5\"}}` at `{url}` give no quantiles: needs a bucket `+Inf`"),
    );
    check_fault(
        true,
        "# EOF\n",
        "a 1\n",
        &[],
        &format!("the page at `{url}` is cut off: needs `# EOF` as its last line"),
    );
    let long = format!("a{{b=\"{}\"}} 1\nc 2\n", "x".repeat(20_000));
    check_fault(
        false,
        "",
        &long,
        &[("c", 2.0)],
        &format!(
            "line 1 of `{url}` cannot be understood: needs a line of 16 KiB at most, says `a{{b=\\\"{}`",
            "x".repeat(75)
        ),
    );
}

#[test]
fn ranges_of_series_chosen_as_non_negative_begin_at_zero() {
    let ranges = |patterns: &[&str]| {
        let mut asked = settings(&[]);
        asked.non_negative = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let mut pages = Pages::new(&asked, false);
        pages.check(0, "queue_items 3\nchange -2\n", &[("queue_items", 3.0), ("change", -2.0)]);
        pages
            .readings
            .iter()
            .map(|(signal, _)| (signal.id().to_string(), signal.range().min))
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(ranges(&[]), BTreeMap::from([("queue_items".into(), None), ("change".into(), None)]));
    assert_eq!(ranges(&["queue_.*"]), BTreeMap::from([("queue_items".into(), Some(0.0)), ("change".into(), None)]));
    let mut asked = settings(&[]);
    asked.non_negative = vec!["(".to_owned()];
    assert!(Exporter::open(&asked).is_err());
}
