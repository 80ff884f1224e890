//! The machine-readable description agrees with what the node does.

use node_api as api;
use node_api::ErrorCode::{MethodNotAllowed, NotFound};
use serde_json::Value;

use super::Host;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

fn description(host: &Host) -> Value {
    host.get("/api/v1/openapi.json").json()
}

/// A path that exists in this world: the ids in it are those of a series that was pushed, and of a job that runs.
fn fill(path: &str) -> String {
    let name = if path.starts_with("/api/v1/rules/") { "calm" } else { "busy" };
    path.replace("{id}", "trace").replace("{name}", name).replace("{job}", "heat")
}

#[test]
fn the_description_in_the_repository_is_the_one_that_is_served() {
    let described = format!("{:#}\n", description(&Host::start()));
    expect_test::expect_file!["../../../../../docs/formats/openapi.json"].assert_eq(&described);
}

#[test]
fn methods_that_are_not_described_are_refused_with_those_that_are() {
    let host = Host::with_job().with_pushed("trace");
    let description = description(&host);
    for (path, operations) in description["paths"].as_object().unwrap() {
        for method in METHODS {
            if operations.get(method.to_lowercase()).is_none() {
                let answer = host.ask(method, &fill(path), &[], b"");
                answer.check_refused(405, MethodNotAllowed, None);
                let allowed = answer.header("allow").unwrap_or_default();
                let described = operations.as_object().unwrap().keys().all(|one| allowed.contains(&one.to_uppercase()));
                assert!(described, "{method} {path}: {allowed}");
            }
        }
        host.get(&format!("{}/x/y", fill(path))).check_refused(404, NotFound, None);
    }
}

/// A path whose answer takes minutes that are over, which no host of a test has.
const CAUSE: &str = "/api/v1/series/{id}/cause";

/// A path that takes a warning that fires, which no host of a test has.
const ACKNOWLEDGE: &str = "/api/v1/warnings/{name}/acknowledge";

/// A request that is in order, for each path and method; a panic for one that nobody thought of.
fn request(method: &str, path: &str) -> (String, String) {
    let query = match path {
        "/api/v1/series/{id}/forecasts" => "?lead=1s",
        "/api/v1/runtime" => "?cpu_seconds=10",
        // What was pushed is too young for more.
        "/api/v1/series/{id}/outlook" => "?horizon=10s",
        "/api/v1/series/{id}/hindcast" => "?lead=10s",
        "/api/v1/probability" | "/api/v1/probability.png" => "?statement=trace%3E0.9&within=10s",
        _ => "",
    };
    let body = match (method, path) {
        ("get" | "delete", _) => "",
        ("post", "/api/v1/series") => r#"{"id":"another","step":"1s"}"#,
        ("post", "/api/v1/series/{id}/samples") => r#"{"samples":[{"value":0.5},{"value":null}]}"#,
        ("post", "/api/v1/warnings/{name}/silence") => r#"{"for":"1h"}"#,
        ("put", "/api/v1/rules/{name}") => r#"{"when":"trace > 0.5","within":"10s"}"#,
        ("post", "/api/v1/rules/try") => r#"{"rule":{"when":"trace > 0.9","within":"10s"}}"#,
        ("post", "/api/v1/kernel") => r#"{"do":"status"}"#,
        ("post", "/api/v1/forecast") => r#"{"model":"AR(1)","samples":[1,3,2,null,1,2],"horizon":3,"confidence":0.8}"#,
        ("post", "/api/v1/forecasts") => {
            r#"{"model":"AR(1)","series":{"a":[1,3,2,null,1,2],"b":[1,1,1,1]},"horizon":3}"#
        }
        _ => panic!("{method} {path} is described, and no test asks for it"),
    };
    (format!("{}{query}", fill(path)), body.to_owned())
}

#[track_caller]
fn check_reads(schema: &str, answer: &super::Answer) {
    match schema {
        "SeriesList" => drop(answer.json::<api::SeriesList>()),
        "SeriesDetail" => drop(answer.json::<api::SeriesDetail>()),
        "Samples" => drop(answer.json::<api::Samples>()),
        "Forecast" => drop(answer.json::<api::Forecast>()),
        "Remembered" => drop(answer.json::<api::Remembered>()),
        "Accuracy" => drop(answer.json::<api::Accuracy>()),
        "Hindcast" => drop(answer.json::<api::Hindcast>()),
        "Outlook" => drop(answer.json::<api::Outlook>()),
        "Probability" => drop(answer.json::<api::Probability>()),
        "ExhaustionList" => drop(answer.json::<api::ExhaustionList>()),
        "Warnings" => drop(answer.json::<api::Warnings>()),
        "Warning" => drop(answer.json::<api::Warning>()),
        "Rules" => drop(answer.json::<api::Rules>()),
        "Rule" => drop(answer.json::<api::Rule>()),
        "TriedRule" => drop(answer.json::<api::TriedRule>()),
        "ProgramHistory" => drop(answer.json::<api::ProgramHistory>()),
        "ProcessTable" => drop(answer.json::<api::ProcessTable>()),
        "RunTime" => drop(answer.json::<api::RunTime>()),
        "MpiJobs" => assert_eq!(answer.json::<api::MpiJobs>().jobs.len(), 1),
        "MpiJobDetail" => assert_eq!(answer.json::<api::MpiJobDetail>().analyses.len(), 1),
        "OneOffForecast" => drop(answer.json::<api::OneOffForecast>()),
        "OneOffForecasts" => drop(answer.json::<api::OneOffForecasts>()),
        "Accepted" => assert_eq!(answer.json::<api::Accepted>(), api::Accepted { accepted: 2 }),
        "Health" => drop(answer.json::<api::Health>()),
        "Readiness" => drop(answer.json::<api::Readiness>()),
        _ => panic!("an answer is described as {schema}, which no client knows"),
    }
}

#[test]
fn every_answer_that_is_described_reads_into_its_type() {
    let host = Host::with_job().with_pushed("trace").advising().looking_ahead();
    let description = description(&host);
    let mut n_read = 0;
    // What removes comes last, and the paths are sorted, so the series is there for all the others.
    let mut operations: Vec<_> = (description["paths"].as_object().unwrap().iter())
        .flat_map(|(path, operations)| {
            operations.as_object().unwrap().iter().map(move |(method, one)| (method, path, one))
        })
        .collect();
    operations.sort_by_key(|(method, ..)| *method == "delete");
    for (method, path, operation) in operations {
        let responses = operation["responses"].as_object().unwrap();
        assert_eq!(schema_of(&responses["default"], "application/json"), Some("ErrorBody"), "{method} {path}");
        if ["/api/v1/events", "/api/v1/kernel/records"].contains(&path.as_str()) {
            continue; // Their answers have no end; `stream` and `kernel` read them.
        }
        if [CAUSE, ACKNOWLEDGE].contains(&path.as_str()) {
            continue;
        }
        let (target, body) = request(method, path);
        let answer =
            host.ask(&method.to_uppercase(), &target, &[("Content-Type", "application/json")], body.as_bytes());
        let response = responses.get(&answer.status.to_string());
        let response = response.unwrap_or_else(|| panic!("{method} {path} gave {answer:?}, which is not described"));
        if let Some(schema) = schema_of(response, "application/json") {
            check_reads(schema, &answer);
            n_read += 1;
        }
    }
    assert!(n_read >= 11, "only {n_read} answers were read");
}

fn schema_of<'a>(response: &'a Value, media_type: &str) -> Option<&'a str> {
    response["content"][media_type]["schema"]["$ref"].as_str().map(|reference| reference.rsplit('/').next().unwrap())
}

#[test]
fn every_parameter_that_is_described_is_taken() {
    let host = Host::with_job().with_pushed("trace").advising().looking_ahead();
    let description = description(&host);
    let mut n_taken = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        let parameters = operations["get"]["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            if path == "/api/v1/events" {
                continue; // `stream` gives it all of its parameters.
            }
            if path == CAUSE {
                continue;
            }
            let (target, _) = request("get", path);
            let name = parameter["name"].as_str().unwrap();
            if (path.as_str(), name) == ("/api/v1/processes", "at") {
                continue; // No minute is over so soon.
            }
            let example = parameter["example"].as_str().map_or_else(|| parameter["example"].to_string(), str::to_owned);
            let join = if target.contains('?') { '&' } else { '?' };
            let is_there = ['?', '&'].iter().any(|before| target.contains(&format!("{before}{name}=")));
            let target = if is_there { target } else { format!("{target}{join}{name}={example}") };
            let answer = host.get(&target);
            assert_eq!(answer.status, 200, "{target}: {answer:?}");
            n_taken += 1;
        }
    }
    assert!(n_taken >= 8, "only {n_taken} parameters were tried");
}

#[test]
fn a_head_is_answered_like_a_get_without_its_body() {
    let host = Host::start();
    let answer = host.ask("HEAD", "/api/v1/series", &[], b"");
    assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{answer:?}");
}
