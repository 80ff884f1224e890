//! Cases are a function of template, traces, seed and number, and windows lie within their traces.

use std::collections::BTreeMap;

use crossval::{Campaign, CampaignError, Template, Trace};

pub const TEMPLATE: &str = r#"
models = ["LAST", "AR(1..8)", "ARMA(0..1,0..1)", "REFIT(AR(2),every=50..100,window=100)"]
models_per_window = 2
fit = "50..120"
test = "40..100"
leads = [1, 3, 10]

[transformation]
aggregate = [1, 4]
difference = [0, 1]
"#;

/// Autocorrelated noise, each trace its own.
pub fn trace(name: &str, n: usize) -> Trace {
    let salt = name.bytes().map(usize::from).sum::<usize>();
    let mut level = 0.0;
    let sample = |t: usize| {
        level = 0.8 * level + ((t * 7919 + t * t * 31 + salt * 127) % 1009) as f64 / 1009.0;
        level
    };
    Trace::new(name, (0..n).map(sample).collect()).unwrap()
}

pub fn campaign(template: &str, seed: u64) -> Campaign {
    let traces = vec![trace("long", 3000), trace("middle", 700), trace("short", 95)];
    Campaign::new(Template::read(template).unwrap(), traces, seed).unwrap()
}

#[test]
fn a_case_is_the_same_by_whatever_way_it_is_come_by() {
    let (campaign, again) = (campaign(TEMPLATE, 5), campaign(TEMPLATE, 5));
    let backwards: Vec<_> = (0..200).rev().map(|number| again.case(number)).collect();
    let forwards: Vec<_> = (0..200).map(|number| campaign.case(number)).collect();
    assert!(forwards.iter().eq(backwards.iter().rev()));
    assert!(forwards.iter().enumerate().all(|(number, case)| case.number == number as u64));
}

#[test]
fn a_campaign_is_the_same_after_a_journey() {
    let mut samples = trace("gaps", 500).samples().to_vec();
    samples[77] = f64::NAN;
    let traces = vec![trace("a", 800), Trace::new("gaps", samples).unwrap()];
    let here = Campaign::new(Template::read(TEMPLATE).unwrap(), traces, 9).unwrap();
    let there = Campaign::from_bytes(&here.to_bytes()).unwrap();
    assert!((0..100).all(|number| here.case(number) == there.case(number)));
    assert!(here.traces().iter().zip(there.traces()).all(|(here, there)| here.digest() == there.digest()));
    let torn = &here.to_bytes()[..500];
    assert!(matches!(Campaign::from_bytes(torn), Err(CampaignError::NotACampaign { n_bytes: 500, .. })));
    assert!(matches!(Campaign::from_bytes(b"PAR1"), Err(CampaignError::NotACampaign { .. })));
}

#[test]
fn another_seed_draws_other_cases() {
    let places = |seed| (0..50).map(|number| campaign(TEMPLATE, seed).case(number).window.start).collect::<Vec<_>>();
    assert_ne!(places(1), places(2));
}

#[test]
fn every_window_lies_within_its_trace_and_its_template() {
    let campaign = campaign(TEMPLATE, 1);
    for number in 0..3000 {
        let window = campaign.window(number);
        let n_samples = campaign.traces()[window.trace_idx].samples().len();
        assert!(window.start + window.n_raw() <= n_samples, "{window:?} of {n_samples}");
        assert!((50..=120).contains(&window.n_fit) && (40..=100).contains(&window.n_test), "{window:?}");
        assert_eq!(window.cut(campaign.traces()[window.trace_idx].samples()).len(), window.n_fit + window.n_test);
    }
}

#[test]
fn everything_that_there_may_be_is_drawn_as_often_as_it_should_be() {
    let campaign = campaign(TEMPLATE, 1);
    let (mut traces, mut families, mut orders) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for number in 0..8000 {
        let case = campaign.case(number);
        *traces.entry(case.window.trace_idx).or_insert(0_i32) += 1;
        *families.entry(case.family_idx).or_insert(0_i32) += 1;
        if case.family_idx == 1 {
            *orders.entry(case.model.to_string()).or_insert(0_i32) += 1;
        }
    }
    // Half of 4000 windows on each of three traces, less a third for two of them: standard deviation about 60 cases.
    assert!(traces.len() == 3 && traces.values().all(|n| (n - 8000 / 3).abs() < 300), "{traces:?}");
    assert!(families.len() == 4 && families.values().all(|n| (n - 2000).abs() < 200), "{families:?}");
    assert!(orders.len() == 8 && orders.values().all(|n| (n - 250).abs() < 80), "{orders:?}");
}

#[test]
fn combinations_that_are_no_model_are_drawn_again() {
    let campaign = campaign(&TEMPLATE.replace("\"LAST\", ", "").replace("window = 2", "window = 1"), 1);
    let arma: Vec<_> = (0..300).map(|number| campaign.case(number)).filter(|case| case.family_idx == 1).collect();
    assert!(arma.len() > 50 && arma.iter().all(|case| case.model.n_coefficients() > 0));
}

#[test]
fn the_models_of_a_window_are_different_ones() {
    let campaign = campaign(TEMPLATE, 1);
    for window in 0..500 {
        let (first, second) = (campaign.case(2 * window), campaign.case(2 * window + 1));
        assert_eq!(first.window, second.window);
        assert!(first.family_idx < second.family_idx);
    }
}

#[test]
fn a_trace_shorter_than_any_case_is_named_and_left_out() {
    let template = Template::read(TEMPLATE).unwrap();
    let with_short = Campaign::new(template.clone(), vec![trace("a", 200), trace("b", 89)], 1).unwrap();
    let left_out: Vec<_> =
        with_short.left_out().iter().map(|left_out| (left_out.name.as_str(), left_out.need)).collect();
    assert_eq!(left_out, [("b", 90)]);
    assert!((0..100).all(|number| with_short.window(number).trace_idx == 0));
    let refused = Campaign::new(template, vec![trace("b", 89)], 1).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the shortest case takes 90 samples, and the longest trace, `b`, has 89; shorten `fit` and `test`"
    );
}

#[test]
fn traces_that_cannot_be_told_apart_are_refused() {
    let refused = Campaign::new(Template::read(TEMPLATE).unwrap(), vec![trace("a", 200), trace("a", 300)], 1);
    assert!(matches!(refused, Err(CampaignError::SameName { name }) if name == "a"));
    let none = Campaign::new(Template::read(TEMPLATE).unwrap(), Vec::new(), 1);
    assert!(matches!(none, Err(CampaignError::TraceCount { n: 0 })));
}

#[test]
fn samples_that_are_none_make_no_trace() {
    assert!(Trace::new("a", vec![1.0, f64::INFINITY]).is_err());
    assert!(Trace::new("a", vec![f64::NAN; 5]).is_err());
    assert!(Trace::new("a", Vec::new()).is_err());
    assert!(Trace::new("", vec![1.0]).is_err());
}
