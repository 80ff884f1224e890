//! Rules for warnings, made and tried over HTTP.

use node_api::ErrorCode::{BadBody, Conflict, NotFound, NotReady, UnknownSeries};
use node_api::{Rule, RuleOrigin, Rules, TriedRule};
use serde_json::json;

use super::outlook::DAY;
use super::{Answer, Host, percent};

impl Host {
    /// One that has a series `load.own`.
    fn with_load() -> Self {
        let host = Self::start();
        let series = json!({"id": "load.own", "unit": "tasks", "step": "1s", "model": "LAST"});
        assert_eq!(host.post("/api/v1/series", &series.to_string()).status, 201);
        host
    }

    fn put_rule(&self, name: &str, body: &str) -> Answer {
        let target = format!("/api/v1/rules/{}", percent(name));
        self.ask("PUT", &target, &[("Content-Type", "application/json")], body.as_bytes())
    }

    fn rules(&self) -> Rules {
        self.get("/api/v1/rules").json()
    }

    fn try_rule(&self, rule: &serde_json::Value, past: &str) -> Answer {
        self.post("/api/v1/rules/try", &json!({ "rule": rule, "past": past }).to_string())
    }
}

#[test]
fn a_rule_is_made_replaced_taken_along_and_removed() {
    let host = Host::with_load();
    assert_eq!(host.rules(), Rules { rules: Vec::new(), toml: String::new(), is_kept: false });
    let made: Rule = host.put_rule("50 %, \"full\"", r#"{"when":"load.own>3","within":"90min"}"#).json();
    let expected = Rule {
        name: "50 %, \"full\"".to_owned(),
        when: "load.own > 3".to_owned(),
        within: "1h 30m".to_owned(),
        lasting: None,
        raise: 0.8,
        clear: 0.5,
        quiet: Vec::new(),
        from: RuleOrigin::Page,
    };
    assert_eq!(made, expected);
    let body = r#"{"when":"load.own > 4","within":"1h","for":"5min","raise":0.6,"clear":0.2,"quiet":["sat sun"]}"#;
    let replaced: Rule = host.put_rule(&made.name, body).json();
    assert_eq!((replaced.lasting.as_deref(), replaced.raise, replaced.clear), (Some("5m"), 0.6, 0.2));
    assert_eq!(replaced.quiet, ["Sat Sun"]);
    let told = host.rules();
    assert_eq!(told.rules, [replaced]);
    let taken: warn::Rules = told.toml.parse().unwrap();
    assert_eq!((&*taken.rules()[0].name, taken.rules()[0].when.to_string()), (&*made.name, "load.own > 4".to_owned()));
    let target = format!("/api/v1/rules/{}", percent(&made.name));
    assert_eq!(host.ask("DELETE", &target, &[], b"").status, 204);
    host.ask("DELETE", &target, &[], b"").check_refused(404, NotFound, None);
    assert_eq!(host.rules().rules, []);
}

#[test]
fn the_file_s_rules_are_told_and_stay_as_they_are() {
    let host = Host::with_job();
    let told = host.rules();
    assert_eq!(
        told.rules.iter().map(|rule| (&*rule.name, rule.from)).collect::<Vec<_>>(),
        [("busy", RuleOrigin::File)]
    );
    assert_eq!(told.toml, "");
    host.put_rule("busy", r#"{"when":"trace > 2","within":"10s"}"#).check_refused(409, Conflict, Some("name"));
    host.ask("DELETE", "/api/v1/rules/busy", &[], b"").check_refused(409, Conflict, Some("name"));
}

#[test]
fn only_a_warning_that_fires_is_acknowledged() {
    let host = Host::with_job();
    let acknowledge = |rule: &str, body: &str| host.post(&format!("/api/v1/warnings/{rule}/acknowledge"), body);
    acknowledge("busy", "{}").check_refused(409, Conflict, None);
    acknowledge("busy", r#"{"by":"ana","since":"2026-11-24T06:12:00Z"}"#).check_refused(409, Conflict, None);
    acknowledge("bus", "{}").check_refused(404, NotFound, None);
    for by in ["", "a\\nb", &"x".repeat(101)] {
        acknowledge("busy", &format!(r#"{{"by":"{by}"}}"#)).check_refused(400, BadBody, Some("by"));
    }
    assert_eq!(host.get("/api/v1/warnings/busy/acknowledge").status, 405, "what follows links acknowledges nothing");
}

#[test]
fn what_makes_no_sense_is_refused_by_field() {
    let host = Host::with_load();
    for (body, field) in [
        (r#"{"when":"load.own","within":"10s"}"#, "when"),
        (r#"{"when":"load.own > 2","within":"10"}"#, "within"),
        (r#"{"when":"load.own > 2","within":"0s"}"#, "within"),
        (r#"{"when":"load.own > 2","within":"10s","for":"long"}"#, "for"),
        (r#"{"when":"load.own > 2","within":"10s","raise":1.5}"#, "raise"),
        (r#"{"when":"load.own > 2","within":"10s","clear":0.9}"#, "clear"),
        (r#"{"when":"load.own > 2","within":"10s","run":"/bin/sh"}"#, "run"),
        (r#"{"when":"load.own > 2","within":"10s","quiet":["at night"]}"#, "quiet"),
        (r#"{"when":"load.own > 2","within":"10s","quiet":["Mon-Sun"]}"#, "quiet"),
        (r#"{"when":"load.own > 2MB","within":"10s"}"#, "when"),
        (r#"{"when":"load.own > 2 requests/s","within":"10s"}"#, "when"),
        (r#"{"when":"load.own > 2","within":"20d"}"#, "within"),
        (r#"{"when":"load.own > 2","within":"10s","for":"20s"}"#, "for"),
    ] {
        host.put_rule("a", body).check_refused(400, BadBody, Some(field));
    }
    host.put_rule("a", r#"{"when":"load > 2","within":"10s"}"#).check_refused(404, UnknownSeries, None);
    let right = r#"{"when":"load.own > 2","within":"10s"}"#;
    for name in ["\n".to_owned(), "x".repeat(101), "x".repeat(1000)] {
        host.put_rule(&name, right).check_refused(400, BadBody, Some("name"));
    }
    let long = json!({"when": format!("{} > 2", "x".repeat(2000)), "within": "10s"}).to_string();
    host.put_rule("a", &long).check_refused(400, BadBody, Some("when"));
    assert_eq!(host.rules().rules, []);
}

#[test]
fn a_trial_says_what_a_rule_would_have_done() {
    let (host, _) = Host::start().with_days(10 * DAY);
    let rule = json!({"when": "shop.requests > 140", "within": "4h"});
    let tried: TriedRule = host.try_rule(&rule, "5d").json();
    // One peak a day; which of the days at both ends count depends on the hour.
    assert!((4..=6).contains(&tried.n_events) && tried.n_foreseen >= tried.n_events - 1, "{tried:?}");
    assert!(tried.n_right >= tried.n_warned - 1 && tried.n_warned >= 4, "{tried:?}");
    assert!((3600.0..=6.0 * 3600.0).contains(&tried.ahead_median_seconds.unwrap()), "{tried:?}");
    assert_eq!(tried.past_seconds, 5.0 * 86_400.0);
    let far: TriedRule = host.try_rule(&rule, "90d").json();
    // A half hour may begin in the meantime.
    assert!([10 * DAY, 10 * DAY + 1].contains(&((far.past_seconds / 1800.0) as usize)), "all there is: {far:?}");
    for (rule, past, field) in [
        (json!({"when": "shop.requests > 5 MB", "within": "4h"}), "7d", "rule.when"),
        (json!({"when": "shop.requests", "within": "4h"}), "7d", "rule.when"),
        (json!({"when": "shop.requests > 5", "within": "15d"}), "7d", "rule.within"),
        (json!({"when": "shop.requests > 5", "within": "1h", "for": "2h"}), "7d", "rule.for"),
        (json!({"when": "shop.requests > 5", "within": "1h", "raise": 0}), "7d", "rule.raise"),
        (rule.clone(), "0s", "past"),
        (rule.clone(), "7", "past"),
    ] {
        host.try_rule(&rule, past).check_refused(400, BadBody, Some(field));
    }
    host.try_rule(&json!({"when": "nothing > 5", "within": "1h"}), "7d").check_refused(404, UnknownSeries, None);
    let (young, _) = Host::start().with_days(2);
    young.try_rule(&rule, "7d").check_refused(409, NotReady, None);
}
