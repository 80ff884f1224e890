//! Queries of a server that answers as the test says: what it offers, and what it gets wrong.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use feed::{Query, QuerySettings};
use signal::{Readings, Source};
use units::Timestamp;

const STEP: Duration = Duration::from_secs(10);

/// A query of a server that gives these answers, status and body, one after the other; and the bodies of its requests.
fn query(answers: &[(u16, &str)], change: impl FnOnce(&mut QuerySettings)) -> (Query, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/prometheus", listener.local_addr().unwrap());
    let answers: Vec<(u16, String)> = answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            // The form comes last, and has the expression in it.
            while !String::from_utf8_lossy(&request).contains("query=up") {
                let mut part = [0; 4096];
                let n = stream.read(&mut part).unwrap();
                request.extend(&part[..n]);
            }
            let _ = sender.send(String::from_utf8(request).unwrap());
            let length = body.len();
            // The other side may have seen enough and closed.
            let _ =
                write!(stream, "HTTP/1.1 {status} So\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        }
    });
    let mut settings = QuerySettings::new(&url, "q", "up").unwrap();
    change(&mut settings);
    (Query::open(settings, STEP).unwrap(), requests)
}

fn vector(elements: &str) -> String {
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{elements}]}}}}"#)
}

fn read(query: &mut Query) -> Vec<(String, f64)> {
    read_at(query, 0).0
}

/// What it said at this second, and what it has forgotten.
fn read_at(query: &mut Query, at_s: u64) -> (Vec<(String, f64)>, Vec<String>) {
    let mut readings = Readings::default();
    query.read(Duration::from_secs(at_s), &mut readings);
    let gone = readings.gone().iter().map(|signal| signal.id().to_string()).collect();
    (said(&readings), gone)
}

fn said(readings: &Readings) -> Vec<(String, f64)> {
    readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect()
}

#[track_caller]
fn check(status: u16, body: &str, expected: &[(&str, f64)], problem: Option<&str>) {
    let (mut query, _) = query(&[(status, body)], |_| ());
    let expected: Vec<(String, f64)> = expected.iter().map(|(id, value)| ((*id).to_owned(), *value)).collect();
    assert_eq!(read(&mut query), expected, "{body}");
    let said = query.last_error();
    match problem {
        None => assert_eq!(said, None, "{body}"),
        Some(problem) => {
            let said = said.unwrap();
            assert!(
                said.starts_with("query q: ") && said.contains("http://127.0.0.1:") && said.contains(problem),
                "{said}"
            );
        }
    }
}

#[test]
fn each_series_of_a_vector_is_a_signal_and_a_scalar_is_one() {
    let elements = r#"{"metric":{"__name__":"up","b":"2","a":"1"},"value":[1,"0.5"]},{"metric":{},"value":[1,"-2e3"]}"#;
    check(200, &vector(elements), &[(r#"q{a="1",b="2"}"#, 0.5), ("q", -2000.0)], None);
    check(
        200,
        r#"{"status":"success","data":{"resultType":"scalar","result":[1,"7"]},"warnings":["w"]}"#,
        &[("q", 7.0)],
        None,
    );
    check(200, &vector(""), &[], None);
}

#[test]
fn what_is_no_number_is_a_gap() {
    let elements =
        ["NaN", "+Inf", "-Inf", "x"].map(|text| format!(r#"{{"metric":{{"a":"{text}"}},"value":[1,"{text}"]}}"#));
    let histogram = r#"{"metric":{"a":"h"},"histogram":[1,{"count":"1"}]}"#;
    check(200, &vector(&format!("{},{histogram}", elements.join(","))), &[], None);
}

#[test]
fn what_a_server_gets_wrong_is_said_with_its_name() {
    let bad = r#"{"status":"error","errorType":"bad_data","error":"1:4: parse error:\n unclosed"}"#;
    check(400, bad, &[], Some("says: 1:4: parse error: unclosed"));
    check(503, r#"{"status":"error","errorType":"timeout","error":"too slow"}"#, &[], Some("says: too slow"));
    check(500, "<html>", &[], Some("status 500"));
    check(200, "", &[], Some("but not as Prometheus would"));
    check(
        200,
        r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":3}]}}"#,
        &[],
        Some("but not as Prometheus would"),
    );
    check(200, r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#, &[], Some("gives a range vector"));
    check(200, r#"{"status":"success","data":{"resultType":"string","result":[1,"a"]}}"#, &[], Some("gives a string"));
    let doubled = r#"{"metric":{"__name__":"a"},"value":[1,"1"]},{"metric":{"__name__":"b"},"value":[1,"2"]}"#;
    check(200, &vector(doubled), &[("q", 1.0)], Some("gives `q` twice"));
}

#[test]
fn an_answer_has_a_greatest_length_and_a_greatest_number_of_series() {
    let elements = r#"{"metric":{"a":"1"},"value":[1,"1"]},{"metric":{"a":"2"},"value":[1,"2"]}"#;
    let later = r#"{"metric":{"a":"2"},"value":[1,"3"]},{"metric":{"a":"1"},"value":[1,"4"]}"#;
    let (mut capped, _) =
        query(&[(200, &vector(elements)), (200, &vector(later))], |settings| settings.n_signals_max = 1);
    assert_eq!(read(&mut capped), [(r#"q{a="1"}"#.to_owned(), 1.0)]);
    assert_eq!(read(&mut capped), [(r#"q{a="1"}"#.to_owned(), 4.0)]);
    assert_eq!(capped.n_errors(), 1);
    assert!(capped.last_error().unwrap().contains("1 signals beyond the 1"));
    let (mut long, _) = query(&[(200, &vector(elements))], |settings| settings.answer_bytes_max = 100);
    assert!(read(&mut long).is_empty() && long.last_error().unwrap().contains("longer than 100 bytes"));
}

#[test]
fn a_series_that_was_silent_for_an_hour_gives_its_place_to_another() {
    let [one, two] = ["1", "2"].map(|name| vector(&format!(r#"{{"metric":{{"a":"{name}"}},"value":[1,"{name}"]}}"#)));
    let answers: [(u16, &str); 5] = [(200, &one), (200, &two), (200, &two), (200, &two), (200, &one)];
    let (mut query, _) = query(&answers, |settings| settings.n_signals_max = 1);
    let [one, two] = [1.0, 2.0].map(|value| vec![(format!("q{{a=\"{value}\"}}"), value)]);
    assert_eq!(read_at(&mut query, 0), (one, vec![]));
    assert_eq!(read_at(&mut query, 3599), (vec![], vec![]));
    assert_eq!(read_at(&mut query, 3600), (vec![], vec![r#"q{a="1"}"#.to_owned()]));
    assert_eq!(read_at(&mut query, 3601), (two, vec![]));
    assert_eq!(read_at(&mut query, 3602), (vec![], vec![]));
}

#[test]
fn the_past_is_asked_for_on_the_grid_and_read_with_its_gaps() {
    let matrix = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"1"},
        "values":[[1799999980,"9"],[1800000000,"1"],[1800000010.001,"NaN"],[1800000020,"3"],[1800000020,"4"],[1800000030,"5"]]}]}}"#;
    let (mut query, requests) = query(&[(200, matrix)], |settings| settings.history = Duration::from_secs(30));
    let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
    let history = query.history(STEP, at(1_800_000_020)).unwrap();
    assert_eq!(&**history[0].0.id(), r#"q{a="1"}"#);
    assert_eq!(history[0].1, [(at(1_800_000_000), 1.0), (at(1_800_000_020), 3.0)]);
    let request = requests.recv().unwrap();
    assert!(request.starts_with("POST /prometheus/api/v1/query_range HTTP/1.1"), "{request}");
    assert!(request.contains("start=1800000000.000&end=1800000020.000&step=10"), "{request}");
}

#[test]
fn a_past_that_is_too_long_for_one_answer_is_asked_for_in_parts() {
    let matrix = |values: &str| {
        let row = format!(r#"{{"metric":{{"a":"1"}},"values":[{values}]}}"#);
        format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{row}]}}}}"#)
    };
    let whole = matrix(r#"[1800000000,"1"],[1800000010,"2"],[1800000020,"3"]"#);
    let [begin, end] = [r#"[1800000000,"1"],[1800000010,"2"]"#, r#"[1800000020,"3"]"#].map(matrix);
    let (mut query, requests) = query(&[(200, &whole), (200, &begin), (200, &end)], |settings| {
        settings.history = Duration::from_secs(30);
        settings.answer_bytes_max = whole.len() as u64 - 1;
    });
    let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
    let history = query.history(STEP, at(1_800_000_020)).unwrap();
    assert_eq!(history.len(), 1);
    let samples = [(1_800_000_000, 1.0), (1_800_000_010, 2.0), (1_800_000_020, 3.0)];
    assert_eq!(history[0].1, samples.map(|(seconds, value)| (at(seconds), value)));
    let spans = requests.iter().map(|request| {
        let (_, span) = request.split_once("start=").unwrap();
        span.split("&step").next().unwrap().replace(".000", "")
    });
    let spans: Vec<String> = spans.collect();
    assert_eq!(spans, ["1800000000&end=1800000020", "1800000000&end=1800000010", "1800000020&end=1800000020"]);
}

#[test]
fn a_past_that_is_refused_is_not_asked_for_again_and_one_that_cannot_be_told_is() {
    let until = Timestamp::from_nanos(1_800_000_000_000_000_000);
    let refused = r#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution"}"#;
    let later = r#"{"status":"error","errorType":"unavailable","error":"not ready"}"#;
    let (mut query, _) = query(&[(503, later), (503, "Service Unavailable"), (400, refused)], |_| ());
    assert!(query.history(STEP, until).is_none());
    assert!(query.history(STEP, until).is_none());
    assert!(query.history(STEP, until).unwrap().is_empty());
    assert_eq!(query.n_errors(), 3);
    assert!(query.history(STEP, until).is_none(), "nobody is there any more");
}

#[test]
fn a_non_negative_query_has_a_range_from_zero() {
    let one = vector(r#"{"metric":{},"value":[1,"-2"]}"#);
    for (is_non_negative, expected) in [(false, (None, -2.0)), (true, (Some(0.0), 0.0))] {
        let (mut query, _requests) = query(&[(200, &one)], |settings| settings.is_non_negative = is_non_negative);
        let mut readings = Readings::default();
        query.read(Duration::ZERO, &mut readings);
        let found: Vec<_> = readings.iter().map(|(signal, value)| (signal.range().min, value)).collect();
        assert_eq!(found, [expected]);
    }
}
