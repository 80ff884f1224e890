//! Hours and days ahead, from samples that were pushed with their times.

use std::time::Duration;

use node_api::ErrorCode::{BadParameter, NotReady, UnknownSeries};
use node_api::{Hindcast, Outlook, Probability};
use serde_json::json;

use super::Host;

/// Half an hour.
const STEP: Duration = Duration::from_secs(1800);
pub(super) const DAY: usize = 48;

fn shape(i: usize) -> f64 {
    100.0 + 50.0 * (std::f64::consts::TAU * i as f64 / DAY as f64).sin()
}

impl Host {
    /// Makes a series of `n` samples at half an hour that end in the half hour under way, and says what each step has.
    pub(super) fn with_days(self, n: usize) -> (Self, impl Fn(usize) -> f64) {
        (self.with_steps(n, shape), shape)
    }

    /// The same of any shape.
    fn with_steps(self, n: usize, shape: impl Fn(usize) -> f64) -> Self {
        self.with_steps_of(STEP, n, shape)
    }

    fn with_steps_of(self, step: Duration, n: usize, shape: impl Fn(usize) -> f64) -> Self {
        let length = format!("{}s", step.as_secs());
        let series = json!({"id": "shop.requests", "unit": "requests/s", "step": length, "model": "LAST"});
        assert_eq!(self.post("/api/v1/series", &series.to_string()).status, 201);
        let now = clock::now().floor_to(step);
        let sample = |i: usize| {
            let ago = step * u32::try_from(n - 1 - i).unwrap();
            let bump = (i * 7919 % 13) as f64 - 6.0;
            json!({"time": (now - ago).to_string(), "value": shape(i) + 0.3 * bump})
        };
        let samples: Vec<_> = (0..n).map(sample).collect();
        let pushed = self.post("/api/v1/series/shop.requests/samples", &json!({ "samples": samples }).to_string());
        assert_eq!(pushed.status, 200, "{pushed:?}");
        self
    }
}

#[test]
fn tomorrow_looks_like_the_days_before() {
    let n = 10 * DAY;
    let (host, shape) = Host::start().with_days(n);
    let outlook: Outlook = host.get("/api/v1/series/shop.requests/outlook?horizon=24h&confidence=0.8").json();
    assert_eq!((outlook.median.len(), outlook.step_seconds, outlook.confidence), (DAY, 1800.0, 0.8));
    // A half hour may begin in the meantime.
    assert!([n, n + 1].contains(&((outlook.history_seconds / 1800.0) as usize)), "{}", outlook.history_seconds);
    assert_eq!(outlook.seen_seconds, 86_400.0);
    assert!(outlook.season_ratio.is_some_and(|season| season > 0.7), "{:?}", outlook.season_ratio);
    for (idx, median) in outlook.median.iter().enumerate() {
        assert!((median - shape(n + idx)).abs() < 10.0, "step {idx}: {median} is not {}", shape(n + idx));
        assert!(outlook.lower[idx] <= *median && *median <= outlook.upper[idx]);
    }
}

#[test]
fn what_would_have_been_said_a_day_before_is_held_against_what_came() {
    let n = 10 * DAY;
    let (host, shape) = Host::start().with_days(n);
    let path = "/api/v1/series/shop.requests/hindcast";
    let hindcast: Hindcast = host.get(&format!("{path}?lead=24h&confidence=0.8&from=-5d")).json();
    let n_told = hindcast.median.len();
    assert!((5 * DAY - 1..=5 * DAY + 1).contains(&n_told) && hindcast.n + 2 >= n_told, "{n_told}, {}", hindcast.n);
    assert_eq!((hindcast.lead_seconds, hindcast.step_seconds), (86_400.0, 1800.0));
    assert!(hindcast.held_ratio.is_some_and(|held| held > 0.7), "{:?}", hindcast.held_ratio);
    assert!(hindcast.median_width.is_some_and(|width| (1.0..40.0).contains(&width)), "{:?}", hindcast.median_width);
    let first = clock::now().saturating_since(hindcast.start).as_secs() as usize / 1800;
    for (idx, median) in hindcast.median.iter().enumerate() {
        let came = shape(n - 1 + idx - first);
        assert!(median.is_some_and(|median| (median - came).abs() < 15.0), "step {idx}: {median:?} is not {came}");
    }
    let all: Hindcast = host.get(&format!("{path}?lead=24h&from=-60d")).json();
    assert_eq!(all.median[..DAY], vec![None; DAY], "a day before, nothing was known");
    assert!(all.median[2 * DAY].is_some() && all.lower.len() == all.upper.len());
    let before: Hindcast = host.get(&format!("{path}?lead=6h&from=-60d&to=-50d")).json();
    assert_eq!((before.n, before.held_ratio, before.median_width), (0, None, None));
    host.get(&format!("{path}?lead=15d")).check_refused(400, BadParameter, Some("lead"));
    host.get(&format!("{path}?from=-1h&to=-2h")).check_refused(400, BadParameter, Some("from"));
}

#[test]
fn an_amount_that_was_never_negative_will_not_be() {
    let host = Host::start().with_steps(4 * DAY, |i| if i % 11 == 0 { 90.0 } else { 2.0 });
    let outlook: Outlook = host.get("/api/v1/series/shop.requests/outlook?horizon=24h").json();
    assert!(outlook.lower.iter().all(|lower| *lower >= 0.0), "{:?}", outlook.lower);
    let asked = host.get("/api/v1/probability?statement=shop.requests%20%3C%200&within=6h");
    asked.check_refused(400, BadParameter, Some("statement"));
}

#[test]
fn half_hours_and_hours_say_the_same_of_tomorrow() {
    // Hours have hardly seen what half hours have: since a moment ago it is more.
    let n = 10 * DAY;
    let host = Host::start().with_steps(n, |i| shape(i) + if i + 3 < n { 0.0 } else { 80.0 });
    let ask = |query: &str| -> Outlook { host.get(&format!("/api/v1/series/shop.requests/outlook?{query}")).json() };
    let (fine, coarse) = (ask("horizon=24h"), ask("horizon=14d"));
    assert_eq!((fine.step_seconds, coarse.step_seconds, coarse.median.len()), (1800.0, 3600.0, 336));
    // The hour under way is known in part, or, as a sample stands for the half hour that it begins, as a whole.
    let n_known = fine.origin.saturating_since(coarse.origin).as_secs() as usize / 1800 - 1;
    assert!([1, 2].contains(&n_known), "{} and {}", fine.origin, coarse.origin);
    let hours = fine.median[2 - n_known..].chunks_exact(2).zip(&coarse.median[1..]);
    for (idx, (halves, hour)) in hours.enumerate() {
        let mean = (halves[0] + halves[1]) / 2.0;
        // All that is between them is what half hours usually lack, as hours have learned it at the far leads.
        assert!((mean - hour).abs() < 1.5, "hour {idx}: {halves:?} and {hour}");
    }
}

#[test]
fn seasons_that_were_found_are_told_and_can_be_switched_off() {
    // As many samples as are needed to tell others from the day.
    let (host, _) = Host::start().with_days(20 * DAY);
    let ask = |query: &str| -> Outlook { host.get(&format!("/api/v1/series/shop.requests/outlook?{query}")).json() };
    let outlook = ask("horizon=24h");
    let [season, ..] = outlook.seasons[..] else { panic!("a season beside the day: {outlook:?}") };
    // What is added to the shape rises twice in 13 steps.
    assert!((season.period_seconds - 6.5 * 1800.0).abs() < 30.0, "{season:?}");
    assert!((0.0..0.01).contains(&season.explained_ratio), "{season:?}");
    let without = ask("horizon=24h&season=false");
    assert_eq!((without.season_ratio, &without.seasons[..]), (None, &[][..]));
    assert_ne!(without.median, ask("horizon=24h&season=true").median);
    let query = "/api/v1/probability?statement=shop.requests%3E140&within=8h&season=false";
    assert_eq!(host.get(query).json::<Probability>().seasons, []);
}

#[test]
fn a_statement_s_probability_comes_with_its_record() {
    let (host, _) = Host::start().with_days(10 * DAY);
    let ask = |query: &str| -> Probability { host.get(&format!("/api/v1/probability?{query}")).json() };
    // The series stands at the beginning of its day: the peak comes in six hours.
    let soon = ask("statement=shop.requests%3E140&within=8h");
    assert_eq!((soon.statement.as_str(), soon.line, soon.within_seconds), ("shop.requests > 140", 140.0, 28_800.0));
    assert!(soon.probability > 0.95, "{}", soon.probability);
    let after = soon.after.p50_seconds.unwrap();
    assert!((7_200.0..=16_200.0).contains(&after), "{after}");
    let record = &soon.record;
    assert!(record.n > 100 && record.brier.unwrap() < 0.5 * record.base_rate_brier.unwrap(), "{record:?}");
    assert_eq!(record.bins.iter().map(|bin| bin.n).sum::<usize>(), record.n);
    let never = ask("statement=min(shop.requests)%3C%3D20&within=8h");
    assert!(
        never.probability < 0.05 && never.record.n_true == 0 && never.record.brier.is_some_and(|brier| brier < 0.01),
        "{never:?}"
    );
    let lasting = ask("statement=shop.requests%3E140&within=8h&for=6h");
    assert!(lasting.probability < soon.probability && lasting.for_seconds == Some(21_600.0), "{lasting:?}");
}

#[test]
fn a_statement_is_no_less_probable_within_a_longer_time() {
    // A minute of load about every ten hours: means of five minutes or of an hour never are beyond the line.
    let shape = |i: usize| if i * 7919 % 601 < 1 { 300.0 } else { 100.0 };
    let host = Host::start().with_steps_of(Duration::from_secs(60), 3000, shape);
    let ask = |within: &str| -> Probability {
        host.get(&format!("/api/v1/probability?statement=shop.requests%3E200&within={within}")).json()
    };
    let answers = ["10m", "1h", "6h", "7h", "30h", "31h", "14d"].map(ask);
    let probabilities = answers.each_ref().map(|answer| answer.probability);
    assert!(probabilities.is_sorted() && probabilities[0] < 0.2 && probabilities[2] > 0.2, "{probabilities:?}");
    // The longest has steps of an hour, and knows when the first tenth is from those of a minute.
    let first = |answer: &Probability| answer.after.p10_seconds;
    assert!(first(&answers[6]).is_some() && first(&answers[6]) == first(&answers[2]), "{:?}", answers[6].after);
}

#[test]
fn statements_may_be_about_several_signals() {
    let (host, shape) = Host::start().with_days(10 * DAY);
    let now = clock::now().floor_to(STEP);
    for (id, unit, factor) in [("shop.capacity", "requests/s", 2.0), ("shop.heat", "celsius", 1.0)] {
        let series = json!({"id": id, "unit": unit, "step": "1800s", "model": "LAST"});
        assert_eq!(host.post("/api/v1/series", &series.to_string()).status, 201);
        // As long as it has been known: half as long as the other.
        let sample = |i: usize| json!({"time": (now - STEP * u32::try_from(5 * DAY - 1 - i).unwrap()).to_string(), "value": factor * 100.0});
        let samples: Vec<_> = (0..5 * DAY).map(sample).collect();
        let pushed = host.post(&format!("/api/v1/series/{id}/samples"), &json!({ "samples": samples }).to_string());
        assert_eq!(pushed.status, 200, "{pushed:?}");
    }
    let ask = |query: &str| -> Probability { host.get(&format!("/api/v1/probability?{query}")).json() };
    // The peak is at 150 of 200, in six hours.
    assert!((shape(10 * DAY + DAY / 4) - 150.0).abs() < 1.0);
    let soon = ask("statement=shop.requests%20/%20shop.capacity%3E70%25&within=8h");
    assert_eq!((soon.id.as_str(), soon.unit.as_str(), soon.line), ("shop.requests / shop.capacity", "ratio", 0.7));
    assert!(soon.probability > 0.95 && soon.record.n > 50, "{soon:?}");
    assert!([5 * DAY, 5 * DAY + 1].contains(&((soon.history_seconds / 1800.0) as usize)), "{}", soon.history_seconds);
    let never = ask("statement=shop.requests%20/%20shop.capacity%3E85%25&within=8h");
    assert!(never.probability < 0.05, "{never:?}");
    let difference = ask("statement=max(shop.capacity%20-%20shop.requests)%3C40&within=8h");
    assert_eq!(difference.statement, "max(shop.capacity - shop.requests) < 40requests/s".replace("requests/s", ""));
    for (query, part) in [
        ("statement=shop.requests%20%2B%20shop.heat%3E5", "`shop.heat` in `celsius`"),
        ("statement=shop.requests%20%2B%3E5", "a signal is missing at the end"),
        ("statement=shop.requests%20/%20shop.heat%3E5%25", "`requests/s/celsius`"),
    ] {
        let refused = host.get(&format!("/api/v1/probability?{query}"));
        refused.check_refused(400, BadParameter, Some("statement"));
        assert!(refused.body.contains(part), "{}", refused.body);
    }
    host.get("/api/v1/probability?statement=shop.requests%20/%20nothing%3E5").check_refused(404, UnknownSeries, None);
}

#[test]
fn questions_that_make_no_sense_are_refused_by_field() {
    let (host, _) = Host::start().with_days(DAY);
    for (query, field) in [
        ("", "statement"),
        ("statement=shop.requests", "statement"),
        ("statement=p99(shop.requests)%3E3", "statement"),
        ("statement=shop.requests%3E5%20MB", "statement"),
        ("statement=shop.requests%3E5&within=15d", "within"),
        ("statement=shop.requests%3E5&within=0s", "within"),
        ("statement=shop.requests%3E5&within=2h&for=3h", "for"),
        ("statement=max(shop.requests)%3E5&within=2h&for=1h", "for"),
        ("statement=shop.requests%3E5&season=maybe", "season"),
    ] {
        host.get(&format!("/api/v1/probability?{query}")).check_refused(400, BadParameter, Some(field));
    }
    host.get("/api/v1/probability?statement=nothing%3E5").check_refused(404, UnknownSeries, None);
    let outlook = "/api/v1/series/shop.requests/outlook";
    host.get(&format!("{outlook}?horizon=15d")).check_refused(400, BadParameter, Some("horizon"));
}

#[test]
fn a_young_series_says_what_it_needs() {
    let (host, _) = Host::start().with_days(2);
    let refused = host.get("/api/v1/series/shop.requests/outlook");
    refused.check_refused(409, NotReady, None);
    assert!(
        refused.body.contains("has 2 of the 4 whole steps of 30m that it takes to look 1d ahead"),
        "{}",
        refused.body
    );
}

#[test]
fn a_series_of_minutes_is_looked_at_in_minutes_a_day_ahead() {
    let host = Host::start().with_steps_of(Duration::from_secs(60), 10, shape);
    // With less than four steps of five minutes.
    let outlook: Outlook = host.get("/api/v1/series/shop.requests/outlook?horizon=24h").json();
    assert_eq!((outlook.step_seconds, outlook.median.len()), (60.0, 1440));
    let width = |idx: usize| outlook.upper[idx] - outlook.lower[idx];
    assert!(width(1439) > 2.0 * width(60) && width(60) > width(0), "{} {} {}", width(0), width(60), width(1439));
    let answer: Probability = host.get("/api/v1/probability?statement=shop.requests%3E300&within=24h").json();
    assert_eq!((answer.step_seconds, answer.within_seconds), (60.0, 86_400.0));
    host.get("/api/v1/series/shop.requests/outlook?horizon=14d").check_refused(409, NotReady, None);
}

#[test]
fn a_scaler_finds_the_last_step_of_a_horizon_where_it_is_told() {
    let (host, _) = Host::start().with_days(10 * DAY);
    // As in docs/howto/autoscale.md: so many steps as the horizon has, counted from 0.
    for (path, last) in [("forecast?horizon=4h&confidence=0.8", "/upper/7"), ("outlook?horizon=6h", "/upper/11")] {
        let answer: serde_json::Value = host.get(&format!("/api/v1/series/shop.requests/{path}")).json();
        assert!(answer.pointer(last).is_some_and(serde_json::Value::is_f64), "{path}: {answer}");
        let beyond = last.replace("/7", "/8").replace("/11", "/12");
        assert_eq!(answer.pointer(&beyond), None, "{path}");
    }
}
