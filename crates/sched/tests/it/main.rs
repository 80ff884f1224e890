//! Policies on made availability: what holds for all of them, and what forecasts are good for.

use sched::advice::{Advice, Advisor};
use sched::factors::{vary, weights};
use sched::report::{Case, Setting, SettingError, rows};
use sched::simulate::{Host, bound, run as simulate};
use sched::{Curve, Job, Spec, Trace, Work, Worker};
use series::Series;
use units::Timestamp;

const JOB: &str = r#"
    format = 1
    [work]
    units = 120
    cost = "1s"
    cost-spread = 0.4
    cost-error = 0.1
    [[worker]]
    name = "fast"
    count = 2
    speed = 2.0
    start = "300ms"
    [[worker]]
    name = "slow"
    count = 3
    start = "300ms"
    per-unit = "10ms"
"#;

/// A worker that is left alone and then is not, in turns of so many seconds.
fn turns(name: &str, length: usize, busy: f64) -> Trace {
    let sample = |second: usize| if (second / length).is_multiple_of(2) { 0.95 } else { busy };
    let timed: Vec<(Timestamp, f64)> =
        (0..600).map(|second| (Timestamp::from_nanos(1_000_000_000 * second as i64), sample(second))).collect();
    Trace::new(name, &Series::from_timed(&timed).unwrap()).unwrap()
}

fn setting(policies: &[Spec]) -> Setting {
    Setting {
        job: Job::read(JOB).unwrap(),
        traces: vec![turns("long", 250, 0.2), turns("short", 20, 0.5), turns("idle", 600, 0.0)],
        policies: policies.to_vec(),
        advisors: ["AR(16)", "PERFECT"].map(|text| text.parse::<Advisor>().unwrap()).to_vec(),
        n_draws: 12,
        seed: 7,
    }
}

fn text(cases: &[Case]) -> String {
    cases.iter().map(|case| format!("{case:?}\n")).collect()
}

#[test]
fn every_policy_does_all_work_and_none_beats_the_bound() {
    let cases = setting(&Spec::ALL).cases().unwrap();
    assert_eq!(cases.len(), 12 * (Spec::ALL.len() + 4));
    for case in &cases {
        assert!(case.outcome.makespan >= case.bound * (1.0 - 1e-9), "{case:?}");
        assert!((0.0..1.0).contains(&case.outcome.idle), "{case:?}");
        let n_units: usize = case.outcome.stretches.iter().map(|stretch| stretch.n_units).sum();
        assert!(n_units >= 120 && n_units <= 120 + case.outcome.n_twins, "{case:?}");
    }
}

#[test]
fn cases_are_the_same_at_any_number_of_threads() {
    let [one, four] = [1, 4].map(|n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| text(&setting(&Spec::ALL).cases().unwrap()))
    });
    assert_eq!(one, four);
}

#[test]
fn what_decides_is_the_same_at_any_number_of_threads() {
    let policies = ["EQUAL", "SELF(4)", "PREDICTED(q=0.5)"].map(|text| text.parse().unwrap());
    let setting = Setting { n_draws: 4, advisors: vec![Advisor::Perfect], ..setting(&policies) };
    let [one, three] = [1, 3].map(|n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| vary(&setting).unwrap())
    });
    assert_eq!(format!("{one:?}"), format!("{three:?}"));
    assert_eq!(one.len(), 16);
    let ratio = |factor: &str, at: usize| one.iter().filter(|level| level.factor == factor).nth(at).unwrap().ratio();
    // A chunk that costs much to start, and workers that differ, are what forecasts are for; wrong ones are not.
    assert!(ratio("start of a chunk", 3) < 0.9 * ratio("start of a chunk", 0), "{one:?}");
    assert!(ratio("error of forecasts", 0) < 0.9 * ratio("error of forecasts", 3), "{one:?}");
    assert!(weights(&one).iter().all(|(_, weight)| *weight >= 1.0));
    // Policies of one kind have nobody to win over.
    assert!(vary(&Setting { policies: vec!["EQUAL".parse().unwrap()], ..setting }).unwrap().is_empty());
}

#[test]
fn forecasts_that_come_true_lead_to_what_the_oracle_does() {
    let policies = ["ORACLE", "PREDICTED(q=0.5)", "EQUAL"].map(|text| text.parse().unwrap());
    let rows = rows(&setting(&policies).cases().unwrap());
    let regret = |policy: &str, advisor: Option<&str>| {
        rows.iter().find(|row| row.policy == policy && row.advisor.as_deref() == advisor).unwrap().regret
    };
    let [oracle, perfect] = [regret("ORACLE", None), regret("PREDICTED(q=0.5)", Some("PERFECT"))];
    assert!(oracle < 1.05, "a split can be wrong by half a unit for each worker: {oracle}");
    // Costs are not quite what they are known to be, and curves are straight between powers of two.
    assert!(perfect < 1.2 && perfect < regret("PREDICTED(q=0.5)", Some("AR(16)")), "{perfect}");
    assert!(regret("EQUAL", None) > 1.4);
}

#[test]
fn forecasts_know_what_their_sensor_says() {
    let blind = Series::from_timed(
        &(0..600).map(|second| (Timestamp::from_nanos(1_000_000_000 * second), 1.0)).collect::<Vec<_>>(),
    );
    let mut setting = setting(&["PREDICTED(q=0.5)", "SPEED"].map(|text| text.parse().unwrap()));
    setting.advisors = ["MEAN", "MEAN@blind"].map(|text| text.parse().unwrap()).to_vec();
    let error = setting.cases().unwrap_err();
    assert!(matches!(&error, SettingError::NoReadings { trace, .. } if trace == "long"), "{error}");
    let with = |trace: Trace| trace.with_readings("blind", blind.as_ref().unwrap()).unwrap();
    setting.traces = setting.traces.into_iter().map(with).collect();
    let rows = rows(&setting.cases().unwrap());
    let names: Vec<_> = rows.iter().map(|row| row.advisor.as_deref()).collect();
    assert_eq!(names, [Some("MEAN"), None, Some("MEAN@blind")]);
    // Whoever takes all workers to be idle splits by speed.
    let [seeing, speed, blind] = [0, 1, 2].map(|at| rows[at].makespan);
    assert!(seeing < 0.9 * blind && (blind / speed - 1.0).abs() < 0.05, "{seeing} {speed} {blind}");
}

#[test]
fn a_forecast_counts_the_start_of_each_chunk() {
    // Unit by unit, so that all workers do end at about one time.
    let mut setting = setting(&["SELF(1)".parse().unwrap()]);
    setting.advisors = vec![Advisor::Perfect];
    for group in &mut setting.job.workers {
        group.start = std::time::Duration::from_secs(3);
    }
    for case in setting.cases().unwrap() {
        let off = case.outcome.forecast / case.outcome.makespan;
        assert!((0.85..1.1).contains(&off), "{} is forecast at {off} of what it takes", case.policy);
    }
}

#[test]
fn a_trace_that_is_not_there_is_named() {
    let mut setting = setting(&[Spec::Equal]);
    setting.job.workers[0].trace = Some("nowhere".to_owned());
    let error = setting.cases().unwrap_err();
    assert!(
        matches!(error, SettingError::NoTrace { .. }) && error.to_string().contains("long, short, idle"),
        "{error}"
    );
}

/// A job on two workers that give what they are told to, half-way through by forecast of what came before.
#[track_caller]
fn check_within(known: &[f64], real: &[f64], traces: [Trace; 2], policies: &[(&str, f64)]) -> Vec<f64> {
    let advices = traces.each_ref().map(|trace| Advice::new(trace, &"NWS".parse().unwrap()).unwrap());
    let hosts: Vec<Host<'_>> = (0..2)
        .map(|at| Host {
            worker: Worker {
                name: at.to_string(),
                speed: 1.0,
                start_seconds: 0.1,
                unit_seconds: 0.0,
                curve: Curve::constant(1.0).into(),
            },
            trace: &traces[at],
            advice: &advices[at],
            from: 100.0,
        })
        .collect();
    let [known, real] = [known, real].map(|costs| Work::new(costs.iter().copied()).unwrap());
    let least = bound(&hosts, &real).0;
    let mut regrets = Vec::new();
    for (policy, most) in policies {
        let outcome = simulate(&hosts, &known, &real, policy.parse::<Spec>().unwrap().policy().as_mut());
        let regret = outcome.makespan / least;
        assert!(regret < *most, "{policy} takes {regret} of the bound");
        regrets.push(regret);
    }
    regrets
}

#[test]
fn an_equal_split_takes_twice_as_long_where_one_of_two_gives_a_third() {
    let steady = |name: &str, share: f64| {
        let timed: Vec<_> = (0..600).map(|second| (Timestamp::from_nanos(1_000_000_000 * second), share)).collect();
        Trace::new(name, &Series::from_timed(&timed).unwrap()).unwrap()
    };
    let costs = vec![0.5; 400];
    let traces = [steady("busy", 0.3), steady("idle", 0.9)];
    // (n - 1 + a) / (n a) for one of n workers that gives a of what each of the others gives.
    let policies = [("EQUAL", 2.02), ("PREDICTED(q=0.5)", 1.02), ("CORRECTED(q=0.5)", 1.02)];
    assert!(check_within(&costs, &costs, traces, &policies)[0] > 1.98);
}

#[test]
fn costs_that_are_off_by_ten_times_are_learned() {
    let idle = || [turns("one", 600, 0.0), turns("two", 600, 0.0)];
    let known = vec![1.0; 200];
    for factor in [10.0, 0.1] {
        check_within(&known, &[factor; 200], idle(), &[("CORRECTED(q=0.5)", 1.05), ("SELF(1)", 2.1)]);
    }
    // And those of the second half alone.
    let real: Vec<f64> = (0..200).map(|unit| if unit < 100 { 1.0 } else { 10.0 }).collect();
    check_within(&known, &real, idle(), &[("CORRECTED(q=0.5)", 1.1)]);
}

#[test]
fn a_unit_that_is_larger_than_all_others_decides_how_long_it_takes() {
    let mut costs = vec![1.0; 100];
    costs[70] = 300.0;
    // Nobody can be done earlier than after the large one, which makes 1.5 of the bound; behind others it waits for
    // these.
    let policies = [("CORRECTED(q=0.5)", 2.1), ("PREDICTED(q=0.5)", 2.1), ("SELF(1)", 2.1)];
    check_within(&costs, &costs, [turns("one", 600, 0.0), turns("two", 600, 0.0)], &policies);
}

#[test]
fn a_worker_that_gives_nothing_for_a_minute_is_relieved() {
    let traces = || [turns("dead at times", 60, 0.0), turns("fine", 600, 0.0)];
    let costs = vec![0.5; 400];
    check_within(&costs, &costs, traces(), &[("CORRECTED(q=0.5)", 1.1), ("SELF(1)", 1.15)]);
}
