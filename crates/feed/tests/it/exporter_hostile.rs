//! Whatever an exporter sends, a signal has a name that can be shown and a value that is a number, and the cap holds.

use std::{collections::BTreeSet, time::Duration};

use feed::Exporter;
use proptest::{collection::vec, prelude::*, sample::select};
use signal::{Readings, Source};

use crate::exporter_pages::settings;

const NAMES: &[&str] = &["a", "a_total", "a_bucket", "a_count", "a_sum", "a_created", "a_gcount", "b", "a_info", ""];
const TYPES: &[&str] =
    &["counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset", "unknown", "tally", ""];
const LABELS: &[&str] = &[
    "",
    "{}",
    "{le=\"1\"}",
    "{le=\"+Inf\"}",
    "{le=\"NaN\"}",
    "{quantile=\"0.5\"}",
    "{x=\"1\",le=\"-Inf\"}",
    "{x=\"\\n\\\\\\\"\u{1b}[2J\u{85}\"}",
    "{instance=\"1\"",
    "{x=\"1\",x=\"2\"}",
    "{x=\"",
];
const VALUES: &[&str] = &["0", "1", "7.5", "-3", "1e308", "-1e308", "1e999", "NaN", "+Inf", "x", ""];
const TAILS: &[&str] = &["", " 0", " 1500", " -1", " 1e3", " # {} 1", " 1 2 3"];

fn line() -> impl Strategy<Value = String> {
    let sample = (select(NAMES), select(LABELS), select(VALUES), select(TAILS));
    prop_oneof![
        6 => sample.prop_map(|(name, labels, value, tail)| format!("{name}{labels} {value}{tail}\n")),
        2 => (select(NAMES), select(TYPES)).prop_map(|(name, kind)| format!("# TYPE {name} {kind}\n")),
        1 => (select(NAMES), "\\PC{0,20}").prop_map(|(name, text)| format!("# HELP {name} {text}\n# UNIT {name} {text}\n")),
        1 => Just("# EOF\n".to_owned()),
    ]
}

fn page() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => vec(any::<u8>(), 0..300),
        6 => vec(line(), 0..40).prop_map(|lines| (lines.concat() + "# EOF\n").into_bytes()),
    ]
}

proptest! {
    #[test]
    fn random_pages_never_panic_and_give_only_what_can_be_shown(
        pages in vec(page(), 1..5), is_open_metrics: bool, is_named: bool,
    ) {
        let mut asked = settings(&[]);
        asked.quantiles = vec![0.0, 0.5, 1.0];
        asked.n_signals_max = 8;
        asked.name = is_named.then(|| "n".to_owned());
        let mut exporter = Exporter::open(&asked).unwrap();
        let mut readings = Readings::default();
        let mut ids = BTreeSet::new();
        for (at_s, page) in (0..).zip(&pages) {
            exporter.read_page(Duration::from_secs(at_s), page, is_open_metrics, &mut readings);
            let n_before = readings.len();
            let of_page: BTreeSet<&str> = readings.iter().map(|(signal, _)| signal.id().as_ref()).collect();
            prop_assert_eq!(of_page.len(), n_before, "an id comes twice");
            for (signal, value) in &readings {
                prop_assert!(value.is_finite());
                prop_assert!(signal.id().len() <= 200 && !signal.id().contains(char::is_control), "{}", signal.id());
                let texts = signal.labels().iter().flat_map(|(name, value)| [name, value]);
                prop_assert!(texts.clone().all(|text| !text.contains(char::is_control)));
                let names: BTreeSet<_> = signal.labels().iter().map(|(name, _)| name).collect();
                prop_assert_eq!(names.len(), signal.labels().len(), "a label comes twice");
                prop_assert!(!signal.family().sentence.contains(char::is_control));
                ids.insert(signal.id().to_string());
            }
            prop_assert!(exporter.last_error().is_none_or(|error| !error.contains(char::is_control)));
            prop_assert_eq!(exporter.n_errors() == 0, exporter.last_error().is_none());
        }
        prop_assert!(ids.len() <= 8, "{ids:?}");
    }
}

#[test]
fn a_million_series_leave_two_hundred_and_one_error() {
    let page: String = (0..1_000_000).map(|n| format!("a{{n=\"{n}\"}} 1\n")).collect();
    let mut exporter = Exporter::open(&settings(&[])).unwrap();
    let mut readings = Readings::default();
    exporter.read_page(Duration::ZERO, page.as_bytes(), false, &mut readings);
    assert_eq!((readings.len(), exporter.n_left_out(), exporter.n_errors()), (200, 999_800, 1));
}
