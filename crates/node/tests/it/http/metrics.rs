//! `/metrics`, as an independent reader of the format understands it.

use std::collections::HashSet;

use prometheus_parse::{Scrape, Value};

use node_api::ErrorCode::BadParameter;

use super::Host;

fn scrape(host: &Host) -> (String, Scrape) {
    scrape_of(host, "/metrics")
}

fn scrape_of(host: &Host, path: &str) -> (String, Scrape) {
    let answer = host.get(path);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let scrape = Scrape::parse(answer.body.lines().map(|line| Ok(line.to_owned()))).unwrap();
    (answer.body, scrape)
}

#[test]
fn a_pushed_value_and_its_forecasts_are_there() {
    let (text, scrape) = scrape(&Host::start().with_pushed("trace"));
    let of_trace = |metric: &str, horizon: Option<&str>| {
        let found = scrape.samples.iter().find(|sample| {
            sample.metric == metric
                && sample.labels.get("signal") == Some("trace")
                && sample.labels.get("horizon") == horizon
        });
        match found.map(|sample| &sample.value) {
            Some(Value::Gauge(value)) => *value,
            _ => panic!("no {metric} at {horizon:?} in {text}"),
        }
    };
    assert!((of_trace("foretop_pushed_value", None) - 59_f64.sin()).abs() < 1e-12);
    let at = Some("10s");
    let (lower, upper) = ("foretop_pushed_value_forecast_lower", "foretop_pushed_value_forecast_upper");
    let mean = of_trace("foretop_pushed_value_forecast", at);
    assert!(of_trace(lower, at) <= mean && mean <= of_trace(upper, at));
}

#[test]
fn forecasts_are_there_as_yhat_when_asked_for() {
    let host = Host::start().with_pushed("trace");
    let (text, scrape) = scrape_of(&host, "/metrics?yhat=true");
    let of_trace = |metric: &str| {
        let is_it = |sample: &&prometheus_parse::Sample| {
            sample.metric == metric
                && sample.labels.get("signal") == Some("trace")
                && sample.labels.get("horizon") == Some("10s")
        };
        scrape.samples.iter().find(is_it).unwrap_or_else(|| panic!("no {metric} in {text}"))
    };
    for (yhat, ours) in [("yhat", ""), ("yhat_lower", "_lower"), ("yhat_upper", "_upper")] {
        let (yhat, ours) = (of_trace(yhat), of_trace(&format!("foretop_pushed_value_forecast{ours}")));
        assert_eq!(yhat.labels.get("for"), Some("foretop_pushed_value"));
        assert_eq!((&yhat.labels, &yhat.value), (&of_trace("yhat").labels, &ours.value));
    }
    assert!(!host.get("/metrics").body.contains("yhat"));
    host.get("/metrics?yhat=1").check_refused(400, BadParameter, Some("yhat"));
}

#[test]
fn every_family_has_one_head_and_no_sample_comes_twice() {
    let (text, scrape) = scrape(&Host::start().with_pushed("a").with_pushed("b"));
    let mut seen = HashSet::new();
    for line in text.lines() {
        let key = match line.strip_prefix("# ") {
            Some(head) => head.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" "),
            None => line.rsplit_once(' ').unwrap().0.to_owned(),
        };
        assert!(seen.insert(key.clone()), "{key} comes twice");
    }
    for sample in &scrape.samples {
        assert!(seen.contains(&format!("TYPE {}", sample.metric)), "{} has no type", sample.metric);
        assert!(scrape.docs.contains_key(&sample.metric), "{} has no help", sample.metric);
    }
}

#[test]
fn the_node_tells_of_itself() {
    let (text, scrape) = scrape(&Host::start());
    for (name, is_total) in [
        ("foretop_up_seconds", false),
        ("foretop_ticks_total", true),
        ("foretop_missed_deadlines_total", true),
        ("foretop_gaps_total", true),
        ("foretop_sensor_errors_total", true),
        ("foretop_fit_failures_total", true),
        ("foretop_store_ok", false),
        ("foretop_store_backlog_samples", false),
        ("foretop_store_dropped_samples_total", true),
        ("foretop_event_readers", false),
        ("foretop_tick_duration_seconds", false),
        ("foretop_process_cpu_seconds_total", true),
        ("foretop_process_resident_memory_bytes", false),
    ] {
        let sample = scrape.samples.iter().find(|sample| sample.metric == name);
        let sample = sample.unwrap_or_else(|| panic!("{name} is not in {text}"));
        assert_eq!(matches!(sample.value, Value::Counter(_)), is_total, "{name}");
    }
}

#[test]
fn a_hostile_name_stays_one_label_of_one_line() {
    let id = "a\"} 1 \\ # {b=\"";
    let (text, _) = scrape(&Host::start().with_pushed(id));
    // Backslash and quote are escaped by a backslash, by the format's definition; ids have no line breaks.
    let expected = r#"foretop_pushed_value{signal="a\"} 1 \\ # {b=\"",unit="ratio"} "#;
    assert_eq!(text.lines().filter(|line| line.starts_with(expected)).count(), 1, "{text}");
}
