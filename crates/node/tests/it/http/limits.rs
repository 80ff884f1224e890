//! Whatever is asked, the node goes on: no request makes it fail, and every limit has an answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use proptest::prelude::*;

use super::stream::allow_more_files;
use super::{Answer, Host, percent};

/// Either an answer or a refusal with a reason, but never a fault of the node.
#[track_caller]
fn check_no_fault(answer: &Answer) {
    assert!((200..500).contains(&answer.status) || answer.status == 503, "{answer:?}");
    if answer.status >= 400 {
        let error = answer.json::<node_api::ErrorBody>().error;
        assert!(!error.message.is_empty());
    }
}

/// Values that are nearly right, which get further than noise does.
fn near_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,20}(s|ms|min|h|d|y)?",
        "-?[0-9]{1,6}(s|min|h|d)",
        "[0-9.eE+-]{1,12}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
        "(1,|60,|0,){0,40}[0-9]{0,4}",
        "(max\\(|mean\\()?(trace|load.1m)\\)?[<>]=?[0-9.eE+-]{1,8}( ?%|GB)?",
        ".{0,20}",
    ]
}

fn near_query() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("horizon".to_owned()),
        Just("confidence".to_owned()),
        Just("from".to_owned()),
        Just("to".to_owned()),
        Just("step".to_owned()),
        Just("lead".to_owned()),
        Just("within".to_owned()),
        Just("for".to_owned()),
        Just("statement".to_owned()),
        ".{0,8}",
    ];
    prop::collection::vec((key, near_value()), 0..4).prop_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{}={}", percent(key), percent(value))).collect();
        pairs.join("&")
    })
}

fn near_body() -> impl Strategy<Value = String> {
    let number =
        prop_oneof![any::<f64>().prop_map(|number| format!("{number:e}")), Just("null".to_owned()), "[0-9]{1,3}"];
    let samples = prop::collection::vec(number, 0..60).prop_map(|numbers| numbers.join(","));
    let model = prop_oneof!["(AR|BM|MEAN|LAST|REFIT)(\\([0-9]{0,6}\\))?", ".{0,10}"];
    prop_oneof![
        (model, samples, near_value()).prop_map(|(model, samples, horizon)| {
            format!(r#"{{"model":{},"samples":[{samples}],"horizon":{horizon}}}"#, serde_json::json!(model))
        }),
        (near_value(), near_value(), any::<f64>()).prop_map(|(id, step, value)| {
            serde_json::json!({"id": id, "step": step, "samples": [{"time": step, "value": value}]}).to_string()
        }),
        near_value().prop_map(|time| serde_json::json!({"samples": [{"time": time, "value": 1.0}]}).to_string()),
        ".{0,40}",
    ]
}

#[test]
fn no_query_makes_the_node_fail() {
    let host = Host::start().with_pushed("trace");
    let paths =
        ["forecast", "samples", "forecasts", "accuracy", "outlook", ""].map(|path| format!("series/trace/{path}"));
    let paths: Vec<String> = paths.into_iter().chain(["probability".to_owned()]).collect();
    proptest!(ProptestConfig::with_cases(300), |(path in 0..paths.len(), query in near_query())| {
        check_no_fault(&host.get(&format!("/api/v1/{}?{query}", paths[path])));
    });
}

#[test]
fn no_body_makes_the_node_fail() {
    let host = Host::start().with_pushed("trace");
    let targets = ["/api/v1/forecast", "/api/v1/forecasts", "/api/v1/series", "/api/v1/series/trace/samples"];
    proptest!(ProptestConfig::with_cases(300), |(target in 0..targets.len(), body in near_body())| {
        check_no_fault(&host.post(targets[target], &body));
    });
}

#[test]
fn no_path_makes_the_node_fail() {
    let host = Host::start();
    proptest!(ProptestConfig::with_cases(100), |(id in ".{0,40}")| {
        let segment = percent(&id);
        check_no_fault(&host.get(&format!("/api/v1/series/{segment}")));
        check_no_fault(&host.ask("DELETE", &format!("/api/v1/series/{segment}"), &[], b""));
    });
}

#[test]
fn a_head_without_an_end_is_given_up() {
    let host = Host::start();
    let endless = [b"GET / HTTP/1.1\r\nX: ".as_slice(), &vec![b'x'; 200_000]].concat();
    assert_eq!(host.exchange(&endless).status, 431);
}

#[test]
fn a_long_head_in_one_piece_is_refused() {
    let host = Host::start();
    let with = |n: usize| host.ask("GET", "/healthz", &[("X-Long", &"x".repeat(n))], b"").status;
    assert_eq!([60_000, 70_000, 100_000].map(with), [200, 431, 431]);
}

#[test]
fn idle_connections_keep_nobody_out() {
    allow_more_files();
    let host = Host::start();
    let idle: Vec<TcpStream> = (0..600)
        .map(|_| {
            let mut stream = TcpStream::connect(host.address()).unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            assert!(stream.read(&mut [0; 12]).unwrap() > 0);
            stream
        })
        .collect();
    assert_eq!(host.get("/healthz").status, 200);
    drop(idle);
}

#[test]
fn the_longest_forecast_is_answered_whole() {
    let host = Host::start();
    let samples: Vec<_> = (0..2_000).map(|i| f64::from(i).sin()).collect();
    let asked = serde_json::json!({"model": "AR(16)", "samples": samples, "horizon": 100_000});
    let answer = host.post("/api/v1/forecast", &asked.to_string());
    assert_eq!(answer.status, 200);
    let forecast: node_api::OneOffForecast = answer.json();
    let lengths = [&forecast.mean, &forecast.standard_error, &forecast.lower, &forecast.upper].map(Vec::len);
    assert_eq!(lengths, [100_000; 4]);
}
