//! How long tasks take, as `GET /api/v1/runtime` says.

use node::Config;
use node_api::ErrorCode::{BadParameter, UnknownSeries};
use node_api::RunTime;
use signal::Selection;

use super::Host;

#[test]
fn a_task_takes_no_less_than_it_needs_and_the_distribution_rises() {
    let host = Host::start().advising();
    let answer: RunTime = host.get("/api/v1/runtime?cpu_seconds=2.5&confidence=0.8").json();
    assert_eq!((answer.cpu_seconds, answer.threads, answer.confidence), (2.5, 1, 0.8));
    assert_eq!(answer.series, ["cpu.availability"]);
    // A host that is too busy for an answer has times beyond the horizon, which is 32 times the need or more.
    let or_longer = |seconds: Option<f64>| seconds.unwrap_or(f64::INFINITY);
    assert!(answer.horizon_seconds >= 80.0 - 1.0);
    let times: Vec<f64> = answer.quantiles.iter().map(|quantile| or_longer(quantile.seconds)).collect();
    assert!(times.is_sorted() && times[0] >= 2.5 - 1e-6, "{times:?}");
    assert!(or_longer(answer.lower_seconds) <= or_longer(answer.median_seconds));
    assert!(or_longer(answer.median_seconds) <= or_longer(answer.upper_seconds));
}

#[test]
fn questions_that_make_no_sense_are_refused_by_field() {
    let host = Host::start().advising();
    for (query, field) in [
        ("", "cpu_seconds"),
        ("cpu_seconds=0", "cpu_seconds"),
        ("cpu_seconds=-1", "cpu_seconds"),
        ("cpu_seconds=nan", "cpu_seconds"),
        ("cpu_seconds=1e300", "cpu_seconds"),
        ("cpu_seconds=1&threads=0", "threads"),
        ("cpu_seconds=1&confidence=1", "confidence"),
    ] {
        host.get(&format!("/api/v1/runtime?{query}")).check_refused(400, BadParameter, Some(field));
    }
}

#[test]
fn more_threads_than_cores_get_what_as_many_as_cores_get() {
    let host = Host::start().advising();
    let answer: RunTime = host.get("/api/v1/runtime?cpu_seconds=2&threads=1000000").json();
    let n_cores = answer.n_cores.expect("no host has a million cores");
    let as_many: RunTime = host.get(&format!("/api/v1/runtime?cpu_seconds=2&threads={n_cores}")).json();
    assert_eq!((as_many.n_cores, &as_many.series), (None, &answer.series));
    // The second answer starts a little later.
    assert!(answer.threads == 1_000_000 && (answer.horizon_seconds - as_many.horizon_seconds).abs() < 5.0);
}

#[test]
fn threads_that_only_the_selection_leaves_out_are_refused() {
    let select = Selection::new(&["cpu.availability"], &[]).unwrap();
    let host = Host::with(Config { select, ..Config::default() }).advising();
    let refused = host.get("/api/v1/runtime?cpu_seconds=2&threads=1000000");
    refused.check_refused(400, BadParameter, Some("threads"));
}

#[test]
fn a_node_that_does_not_measure_availability_says_so() {
    let select = Selection::new(&["load.*".to_owned()], &[]).unwrap();
    let host = Host::with(Config { select, ..Config::default() }).ready();
    host.get("/api/v1/runtime?cpu_seconds=1").check_refused(404, UnknownSeries, None);
}
