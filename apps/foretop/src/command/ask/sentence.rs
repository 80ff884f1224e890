//! Answers, in words.

use std::time::Duration;

use node_api as api;
use text::{figure, printable};
use units::span;

use super::Answer;

/// Models named on the line; it has to fit on a terminal.
const N_SPEAKERS: usize = 2;

const DAY_SECONDS: f64 = 86_400.0;
const WEEK_SECONDS: f64 = 7.0 * DAY_SECONDS;

/// The number of known days below which a model has no daily season, and of known weeks below which it has no weekly
/// one.
const N_PERIODS_KNOWN: f64 = 1.5;

/// `cpu.availability in 30s: 0.93 (95 %: 0.81 to 1.00), 0.97 now, by AR(16)`.
pub(super) fn sentence(signal: &str, answer: &Answer) -> String {
    let show = |value| figure::format(value, &answer.unit);
    let percent = percent(answer.confidence);
    let lead = length(answer.lead_seconds);
    let last = answer.last.map_or_else(|| "no value".to_owned(), show);
    let when = answer.no_sample_since.map_or_else(|| "now".to_owned(), |since| format!("at {since}"));
    let central = answer.mean.or(answer.median).map_or_else(|| "no value".to_owned(), show);
    let by = match answer.mean_over_seconds {
        None => format!("by {}", by(answer)),
        Some(over) => {
            let unseen = unseen(answer.seen_seconds, answer.lead_seconds);
            let (seasons, scale) = (explained(&answer.seasons), on_scale(answer.scale));
            let young = young(answer.history_seconds.unwrap_or_default(), over, answer.lead_seconds);
            format!("mean over {}{seasons}{scale}{unseen}{young}", length(over))
        }
    };
    printable(&format!(
        "{signal} in {lead}: {central} ({percent}: {} to {}), {last} {when}, {by}",
        show(answer.lower),
        show(answer.upper),
    ))
}

/// The least explained share that is worth a word.
const EXPLAINED_MIN: f64 = 0.01;

/// `; a period of 6h explains 40 %`, for each of them.
fn explained(seasons: &[api::Season]) -> String {
    let one = |season: &api::Season| {
        // More digits than this were not found.
        let period = Duration::from_secs_f64(season.period_seconds.round());
        format!("; a period of {} explains {:.0} %", span::format(period), 100.0 * season.explained_ratio)
    };
    seasons.iter().filter(|season| season.explained_ratio >= EXPLAINED_MIN).map(one).collect()
}

/// `; on a log scale`, unless it is the quantity's own.
fn on_scale(scale: api::Scale) -> &'static str {
    match scale {
        api::Scale::Linear => "",
        api::Scale::Log => "; on a log scale",
        api::Scale::Logit => "; on a logit scale",
    }
}

/// Returns the remark on an error bar that was not compared with what came; nothing for others.
fn unseen(seen_seconds: Option<f64>, lead_seconds: f64) -> String {
    match seen_seconds.filter(|seen| *seen < lead_seconds) {
        None => String::new(),
        Some(0.0) => "; the error bar is a guess: no forecast has been checked yet".to_owned(),
        Some(seen) => {
            format!("; the error bar is a guess beyond {}: no longer forecast has been checked yet", length(seen))
        }
    }
}

/// `cpu.busy > 90% within 1h: 73 % (10 % by 12m, 50 % by 40m); means over 1m; known for 3h: no day yet`.
pub(super) fn statement_sentence(answer: &api::Probability) -> String {
    let api::Probability { statement, probability, after, .. } = answer;
    let lasting = answer.for_seconds.map_or_else(String::new, |lasting| format!(" for {}", length(lasting)));
    let by = [("10 %", after.p10_seconds), ("50 %", after.p50_seconds), ("90 %", after.p90_seconds)];
    let by = by.into_iter().filter_map(|(share, seconds)| Some(format!("{share} by {}", length(seconds?))));
    let by: Vec<String> = by.collect();
    let when = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    let (within, over) = (length(answer.within_seconds), length(answer.step_seconds));
    let explained = explained(&answer.seasons);
    let young = young(answer.history_seconds, answer.step_seconds, answer.within_seconds);
    printable(&format!(
        "{statement}{lasting} within {within}: {}{when}; means over {over}{explained}{young}",
        chance(*probability)
    ))
}

/// Returns the record of such answers, in words.
pub(super) fn worth(answer: &api::Probability) -> String {
    let record = &answer.record;
    let (n, n_true, past) = (record.n, record.n_true, length(answer.history_seconds));
    match (record.brier, record.base_rate_brier) {
        (Some(brier), Some(base)) => {
            let share = chance(n_true as f64 / n as f64);
            format!(
                "At {n} earlier moments of the past {past} it came true {n_true} times ({share}). Brier score of these answers {brier:.3}; always \
                 saying {share} scores {base:.3} (lower is better)."
            )
        }
        _ if n == 0 => "No such answer can be checked yet.".to_owned(),
        _ => format!(
            "At {n} earlier moments of the past {past} it came true {n_true} times: too few to judge answers by."
        ),
    }
}

/// `; known for 3h: no day yet`, as long as nothing can be said of days, or of weeks where the answer is about another
/// day.
fn young(known_seconds: f64, step_seconds: f64, lead_seconds: f64) -> String {
    let is_short = |period_seconds: f64| known_seconds < N_PERIODS_KNOWN * period_seconds;
    // Of an old series no more than this is looked at in such steps.
    let all_seconds = warn::past(duration(step_seconds)).as_secs_f64() - step_seconds;
    let missing = if known_seconds >= all_seconds {
        None
    } else if is_short(DAY_SECONDS) {
        Some("day")
    } else {
        Some("week").filter(|_| is_short(WEEK_SECONDS) && lead_seconds >= DAY_SECONDS)
    };
    missing.map_or_else(String::new, |period| format!("; known for {}: no {period} yet", length(known_seconds)))
}

fn percent(share: f64) -> String {
    // Shares such as 0.95 times 100 are a rounding error away from a whole number.
    format!("{} %", (share * 1e8).round() / 1e6)
}

/// `12 %`, as exactly as counted paths tell; what would be shown as certain without being it is `<0.1 %` or `>99.9 %`.
pub(super) fn chance(probability: f64) -> String {
    match 100.0 * probability {
        percent if percent > 0.0 && percent < 0.1 => "<0.1 %".to_owned(),
        percent if percent > 99.9 && percent < 100.0 => ">99.9 %".to_owned(),
        percent if (1.0..=99.0).contains(&percent) || percent == 0.0 || percent == 100.0 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

pub(super) fn length(seconds: f64) -> String {
    span::format(duration(seconds))
}

pub(super) fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// `AR(16)`; `AUTO (AR(2) 62 %, MEAN 38 %)`.
fn by(answer: &Answer) -> String {
    let speaker = |one: &api::Weighed| format!("{} {:.0} %", one.model, 100.0 * one.weight_ratio);
    let mut speakers: Vec<String> = answer.speakers.iter().take(N_SPEAKERS).map(speaker).collect();
    let n_more = answer.speakers.len().saturating_sub(N_SPEAKERS);
    speakers.extend((n_more > 0).then(|| format!("{n_more} more")));
    if speakers.is_empty() { answer.model.clone() } else { format!("{} ({})", answer.model, speakers.join(", ")) }
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::super::{answer, far_answer};
    use super::*;

    fn forecast() -> api::Forecast {
        api::Forecast {
            id: "cpu.availability.vmstat".into(),
            unit: "ratio".into(),
            origin: Timestamp::from_nanos(0),
            step_seconds: 15.0,
            confidence: 0.95,
            model: "AR(16)".into(),
            model_speaking: Vec::new(),
            speakers: Vec::new(),
            mean: vec![0.9, 0.931],
            standard_error: vec![0.05, 0.06],
            lower: vec![0.8, 0.812],
            upper: vec![1.0, 1.0],
        }
    }

    #[test]
    fn the_answer_is_the_last_lead() {
        let last = api::LastSample { time: Timestamp::from_nanos(0), value: Some(0.97) };
        let answer = answer(forecast(), Some(last)).unwrap();
        assert_eq!(answer.time.to_string(), "1970-01-01T00:00:30Z");
        assert_eq!(
            sentence("cpu.availability", &answer),
            "cpu.availability in 30s: 0.93 (95 %: 0.81 to 1.00), 0.97 now, by AR(16)"
        );
    }

    #[test]
    fn an_old_value_is_not_that_of_now() {
        let last = api::LastSample { time: Timestamp::from_nanos(0), value: Some(0.97) };
        let answer = Answer { no_sample_since: Some(last.time), ..answer(forecast(), Some(last)).unwrap() };
        let sentence = sentence("x", &answer);
        assert!(sentence.ends_with("1.00), 0.97 at 1970-01-01T00:00:00Z, by AR(16)"), "{sentence}");
    }

    #[test]
    fn the_models_that_auto_weighs_are_named() {
        let weighed = |model: &str, weight_ratio| api::Weighed { model: model.to_owned(), weight_ratio };
        let speakers = vec![weighed("AR(2)", 0.616), weighed("MEAN", 0.2), weighed("LAST", 0.184)];
        let answer = answer(api::Forecast { model: "AUTO".into(), speakers, ..forecast() }, None).unwrap();
        assert_eq!(by(&answer), "AUTO (AR(2) 62 %, MEAN 20 %, 1 more)");
    }

    #[test]
    fn a_confidence_of_many_nines_is_shown_whole() {
        let answer = answer(api::Forecast { confidence: 0.9995, ..forecast() }, None).unwrap();
        assert_eq!(sentence("x", &answer), "x in 30s: 0.93 (99.95 %: 0.81 to 1.00), no value now, by AR(16)");
    }

    fn outlook() -> api::Outlook {
        api::Outlook {
            id: "cpu.busy".into(),
            unit: "ratio".into(),
            origin: Timestamp::from_nanos(0),
            step_seconds: 300.0,
            confidence: 0.8,
            median: vec![0.4, 0.5],
            lower: vec![0.2, 0.25],
            upper: vec![0.6, 0.75],
            history_seconds: 604_800.0,
            no_sample_since: None,
            seen_seconds: 300.0,
            season_ratio: None,
            seasons: Vec::new(),
            scale: api::Scale::Linear,
        }
    }

    #[test]
    fn a_far_answer_says_how_far_it_has_seen() {
        let sentence =
            |seen_seconds| sentence("cpu.busy", &far_answer(api::Outlook { seen_seconds, ..outlook() }, None).unwrap());
        assert_eq!(sentence(600.0), "cpu.busy in 10m: 0.50 (80 %: 0.25 to 0.75), no value now, mean over 5m");
        let seasons = vec![api::Season { period_seconds: 21_600.4, explained_ratio: 0.4 }];
        let seasonal = far_answer(api::Outlook { seasons, seen_seconds: 600.0, ..outlook() }, None).unwrap();
        assert!(super::sentence("x", &seasonal).ends_with("mean over 5m; a period of 6h explains 40 %"));
        let scaled =
            far_answer(api::Outlook { scale: api::Scale::Log, seen_seconds: 600.0, ..outlook() }, None).unwrap();
        assert!(super::sentence("x", &scaled).ends_with("mean over 5m; on a log scale"));
        let young =
            far_answer(api::Outlook { history_seconds: 10_800.0, seen_seconds: 600.0, ..outlook() }, None).unwrap();
        assert!(super::sentence("x", &young).ends_with("mean over 5m; known for 3h: no day yet"));
        assert!(sentence(300.0).ends_with("a guess beyond 5m: no longer forecast has been checked yet"));
        assert!(sentence(0.0).ends_with("mean over 5m; the error bar is a guess: no forecast has been checked yet"));
    }

    fn probability() -> api::Probability {
        api::Probability {
            id: "cpu.busy".into(),
            unit: "ratio".into(),
            statement: "cpu.busy > 90%".into(),
            line: 0.9,
            origin: Timestamp::from_nanos(0),
            step_seconds: 60.0,
            within_seconds: 3600.0,
            for_seconds: Some(300.0),
            probability: 0.234,
            after: api::Passage { p10_seconds: Some(1200.0), p50_seconds: None, p90_seconds: None },
            history_seconds: 604_800.0,
            no_sample_since: None,
            seasons: Vec::new(),
            record: api::Record {
                n: 200,
                n_true: 30,
                brier: Some(0.0812),
                base_rate_brier: Some(0.1275),
                bins: Vec::new(),
            },
        }
    }

    #[test]
    fn a_probability_comes_with_what_such_were_worth() {
        assert_eq!(
            statement_sentence(&probability()),
            "cpu.busy > 90% for 5m within 1h: 23 % (10 % by 20m); means over 1m"
        );
        assert_eq!(
            worth(&probability()),
            "At 200 earlier moments of the past 7d it came true 30 times (15 %). Brier score of these answers 0.081; always saying 15 % scores \
             0.128 (lower is better)."
        );
        let record = api::Record { brier: None, base_rate_brier: None, n_true: 0, ..probability().record };
        let young = worth(&api::Probability { record, ..probability() });
        assert!(young.contains("too few to judge"), "{young}");
    }

    #[test]
    fn an_answer_says_which_period_is_not_known_yet() {
        let (day, step) = (DAY_SECONDS, 300.0);
        for (known, step, lead, expected) in [
            (60.0, 5.0, 1800.0, "; known for 1m: no day yet"),
            (day, step, day, "; known for 1d: no day yet"),
            (3.0 * day, step, day, "; known for 3d: no week yet"),
            (3.0 * day, step, 6.0 * 3600.0, ""),
            (14.0 * day, step, 7.0 * day, ""),
            // An old series in steps of a second.
            (40_320.0, 1.0, 300.0, ""),
        ] {
            assert_eq!(young(known, step, lead), expected, "{known} {step} {lead}");
        }
        let young = statement_sentence(&api::Probability { history_seconds: 10_800.0, ..probability() });
        assert!(young.ends_with("; means over 1m; known for 3h: no day yet"), "{young}");
    }

    #[test]
    fn what_is_not_certain_does_not_look_certain() {
        assert_eq!(
            [0.0, 0.0004, 0.005, 0.5, 0.9996, 1.0].map(chance),
            ["0 %", "<0.1 %", "0.5 %", "50 %", ">99.9 %", "100 %"]
        );
    }

    #[test]
    fn a_forecast_without_leads_is_no_answer() {
        assert_eq!(answer(api::Forecast { mean: Vec::new(), ..forecast() }, None), None);
        assert_eq!(answer(api::Forecast { upper: Vec::new(), ..forecast() }, None), None);
    }
}
