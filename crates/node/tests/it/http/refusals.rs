//! What a node says to mistakes: a status, a code of the closed set, and the field to blame, always as JSON.

use std::io::Write as _;

use node_api::ErrorCode::{self, *};

use super::{Answer, Host};

#[track_caller]
fn check_query(target: &str, field: &str, named: &str) {
    let answer = Host::start().with_pushed("trace").get(target);
    answer.check_refused(400, BadParameter, Some(field));
    assert!(answer.body.contains(named), "{answer:?} does not name {named}");
}

#[test]
fn a_horizon_is_at_least_a_step_and_at_most_100_000() {
    check_query("/api/v1/series/trace/forecast?horizon=0s", "horizon", "0s");
    check_query("/api/v1/series/trace/forecast?horizon=1000000000s", "horizon", "100");
    check_query("/api/v1/series/trace/forecast?horizon=30", "horizon", "`30`");
}

#[test]
fn a_confidence_is_between_0_and_1() {
    check_query("/api/v1/series/trace/forecast?confidence=1", "confidence", "0.95");
    check_query("/api/v1/series/trace/forecast?confidence=abc", "confidence", "abc");
}

#[test]
fn a_range_has_a_beginning_before_its_end() {
    check_query("/api/v1/series/trace/samples?from=yesterday", "from", "yesterday");
    check_query("/api/v1/series/trace/samples?to=-5", "to", "-10min");
    check_query("/api/v1/series/trace/samples?from=-5min&to=-10min", "from", "before");
}

#[test]
fn a_step_and_a_lead_take_time() {
    check_query("/api/v1/series/trace/samples?step=0s", "step", "0s");
    check_query("/api/v1/series/trace/forecasts", "lead", "lead=60s");
    check_query("/api/v1/series/trace/forecasts?lead=0s", "lead", "0s");
}

#[test]
fn a_parameter_that_is_unknown_or_given_twice_is_named() {
    check_query("/api/v1/series/trace/forecast?horzon=30s", "horzon", "horizon, confidence");
    check_query("/api/v1/series/trace/forecast?horizon=30s&horizon=5s", "horizon", "2 times");
    check_query("/api/v1/series?x", "x", "known here: none");
    check_query("/metrics?x=1", "x", "yhat");
}

#[test]
fn leads_of_events_are_whole_steps_within_an_hour() {
    check_query("/api/v1/events?leads=0", "leads", "1,10,60");
    check_query("/api/v1/events?leads=1,1000000", "leads", "3600");
}

#[track_caller]
fn check_post(target: &str, body: &str, status: u16, code: ErrorCode, field: Option<&str>) -> Answer {
    let answer = Host::start().with_pushed("trace").post(target, body);
    answer.check_refused(status, code, field);
    answer
}

#[test]
fn a_one_off_with_a_mistake_is_told_which() {
    let target = "/api/v1/forecast";
    check_post(target, r#"{"model":"NOPE","samples":[1,2],"horizon":1}"#, 400, BadModel, Some("model"));
    check_post(target, r#"{"model":"AR(0)","samples":[1,2],"horizon":1}"#, 400, BadModel, Some("model"));
    check_post(target, r#"{"model":"MEAN","samples":[1,2],"horizon":0}"#, 400, BadParameter, Some("horizon"));
    check_post(target, r#"{"model":"MEAN","samples":[1,2],"horizon":1000000000}"#, 400, BadParameter, Some("horizon"));
    check_post(target, r#"{"model":"MEAN","samples":[1],"horizon":-1}"#, 400, BadBody, Some("horizon"));
    let confident = r#"{"model":"MEAN","samples":[1,2],"horizon":1,"confidence":1}"#;
    check_post(target, confident, 400, BadParameter, Some("confidence"));
    check_post(target, r#"{"model":"MEAN","samples":[1,"x"],"horizon":1}"#, 400, BadBody, Some("samples[1]"));
    check_post(target, r#"{"model":"MEAN","samples":[1,NaN],"horizon":1}"#, 400, BadBody, Some("samples[1]"));
    check_post(target, r#"{"model":"AR(16)","samples":[1,2],"horizon":1}"#, 422, CannotFit, Some("samples"));
}

#[test]
fn many_one_offs_with_a_mistake_are_told_which() {
    let target = "/api/v1/forecasts";
    check_post(target, r#"{"model":"NOPE","series":{"a":[1,2]},"horizon":1}"#, 400, BadModel, Some("model"));
    check_post(target, r#"{"model":"MEAN","series":{"a":[1,"x"]},"horizon":1}"#, 400, BadBody, Some("series.a[1]"));
    let beyond = r#"{"model":"MEAN","series":{"a":[1,2],"b":[1,2]},"horizon":50001}"#;
    let answer = check_post(target, beyond, 400, BadParameter, Some("horizon"));
    assert!(answer.body.contains("for 2 series it must be from 1 to 50000"), "{answer:?}");
    let row = vec!["1"; 50_001].join(",");
    let long = format!(r#"{{"model":"LAST","series":{{"a":[{row}],"b":[{row}]}},"horizon":1}}"#);
    check_post(target, &long, 400, BadParameter, Some("series"));
}

#[test]
fn more_samples_than_are_taken_are_refused_by_number() {
    let samples = vec!["1"; 100_001].join(",");
    let body = format!(r#"{{"model":"LAST","samples":[{samples}],"horizon":1}}"#);
    let answer = check_post("/api/v1/forecast", &body, 400, BadParameter, Some("samples"));
    assert!(answer.body.contains("100001"), "{answer:?}");
}

#[test]
fn a_body_that_is_not_what_it_should_be_is_refused() {
    for target in ["/api/v1/forecast", "/api/v1/forecasts", "/api/v1/series", "/api/v1/series/trace/samples"] {
        for body in ["", "{", "[]", "null", "{} {}", "\"text\"", "\u{0}"] {
            check_post(target, body, 400, BadBody, None);
        }
        let answer = check_post(target, r#"{"x":1}"#, 400, BadBody, Some("x"));
        assert!(answer.body.contains("unknown field `x`"), "{answer:?}");
    }
    check_post("/api/v1/series/trace/samples", r#"{"samples":[{}]}"#, 400, BadBody, Some("samples[0]"));
    let answer = check_post("/api/v1/series", r#"["arr","","","1s",null]"#, 400, BadBody, None);
    assert!(answer.body.contains("it is an array and must be an object"), "{answer:?}");
    for (body, field, message) in [
        (r#"{"samples":{}}"#, "samples", "invalid type: object, expected an array"),
        (r#"{"samples":[{"value":"x"}]}"#, "samples[0].value", "expected a number"),
        (r#"{"samples":[7]}"#, "samples[0]", "invalid type: integer `7`, expected an object"),
    ] {
        let answer = check_post("/api/v1/series/trace/samples", body, 400, BadBody, Some(field));
        assert!(answer.body.contains(message), "{answer:?}");
    }
    let late = r#"{"samples":[{"time":"soon","value":1}]}"#;
    check_post("/api/v1/series/trace/samples", late, 400, BadBody, Some("samples[0].time"));
}

#[test]
fn a_body_has_to_be_said_to_be_json() {
    let host = Host::start();
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
        let answer = host.ask("POST", "/api/v1/forecast", &[("Content-Type", media_type)], b"{}");
        answer.check_refused(415, UnsupportedMediaType, Some("Content-Type"));
    }
    host.ask("POST", "/api/v1/forecast", &[], b"{}").check_refused(415, UnsupportedMediaType, Some("Content-Type"));
    let with_charset = [("Content-Type", "application/json; charset=utf-8")];
    host.ask("POST", "/api/v1/forecast", &with_charset, b"{}").check_refused(400, BadBody, None);
}

#[test]
fn ten_megabytes_are_refused_without_being_waited_for() {
    let host = Host::start();
    let head = format!(
        "POST /api/v1/forecast HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n",
        host.address()
    );
    // The rest never comes, so that an answer shows that nobody waits for it.
    host.exchange(&[head.as_bytes(), &[b' '; 1000]].concat()).check_refused(413, BodyTooLarge, None);
}

#[test]
fn a_client_that_sends_ten_megabytes_to_the_end_reads_why_they_were_refused() {
    let host = Host::start();
    let body = vec![b' '; 10_000_000];
    host.ask("POST", "/api/v1/forecast", &[("Content-Type", "application/json")], &body).check_refused(
        413,
        BodyTooLarge,
        None,
    );
}

#[test]
fn a_body_without_an_announced_length_is_cut_off_at_the_limit() {
    let host = Host::start();
    let mut stream = host.connect();
    write!(
        stream,
        "POST /api/v1/forecast HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        host.address()
    )
    .unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x1_0000], b"\r\n"].concat();
    for _ in 0..17 {
        stream.write_all(&chunk).unwrap();
    }
    Answer::read(stream).check_refused(413, BodyTooLarge, None);
}

#[test]
fn what_is_not_there_is_not_found() {
    let host = Host::start();
    for target in ["/nothing", "/api/v2/series", "/api/v1/series/", "/api/v1/series/a/b/c", "/../etc/passwd"] {
        host.get(target).check_refused(404, NotFound, None);
    }
    let long = format!("/api/v1/series/{}", "x".repeat(10_000));
    for target in ["/api/v1/series/nothing", "/api/v1/series/%2E%2E%2Fetc", "/api/v1/events?series=nothing", &long] {
        host.get(target).check_refused(404, UnknownSeries, None);
    }
    host.get("/api/v1/series/%FF").check_refused(400, BadParameter, Some("id"));
}

#[test]
fn a_sensor_is_neither_fed_nor_removed_and_a_series_made_once() {
    let host = Host::start().with_pushed("trace").ready();
    host.post("/api/v1/series", r#"{"id":"trace","step":"1s"}"#).check_refused(409, Conflict, Some("id"));
    host.post("/api/v1/series", r#"{"id":"b","step":"1"}"#).check_refused(400, BadParameter, Some("step"));
    host.post("/api/v1/series/load.1m/samples", r#"{"samples":[{"value":1}]}"#).check_refused(409, Conflict, None);
    host.ask("DELETE", "/api/v1/series/load.1m", &[], b"").check_refused(409, Conflict, None);
    assert_eq!(host.ask("DELETE", "/api/v1/series/trace", &[], b"").status, 204);
    host.ask("DELETE", "/api/v1/series/trace", &[], b"").check_refused(404, UnknownSeries, None);
}
