//! Outlets between a tick that never waits and readers that do as they like.

use stream::Reader;
use testkit::{PATIENCE, wait_until};

use super::*;

const STEP: Duration = Duration::from_secs(1);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

fn outlet(endpoint: &str, only: &[&str]) -> Outlet {
    let settings = OutletSettings {
        name: "measurements".to_owned(),
        endpoints: vec![endpoint.parse().unwrap()],
        carries: Outgoing::Measurements,
        select: Selection::new(only, &[]).unwrap(),
        security: Security::default(),
    };
    Outlet::start(settings, &home()).unwrap()
}

fn home() -> Home {
    Home {
        host: "db1".to_owned(),
        model: "LAST".to_owned(),
        step: STEP,
        engine: Arc::new(Mutex::new(Engine::new("LAST".parse().unwrap(), STEP, 1))),
        clock: Arc::new(clock::Manual::at(at(0))),
    }
}

fn values(values: &[(&str, f64)]) -> Vec<(Arc<str>, f64)> {
    values.iter().map(|(id, value)| ((*id).into(), *value)).collect()
}

fn unit(_: &str) -> String {
    "tasks".to_owned()
}

#[test]
fn a_reader_is_told_what_the_values_are_whenever_that_changes() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("unix:{}", folder.path().join("stream").display());
    let outlet = outlet(&format!("connect:{place}"), &["load.*"]);
    let endpoint = format!("source:{place}").parse().unwrap();
    let mut reader = Reader::open(&endpoint, &Security::default()).unwrap();
    wait_until("the reader is there", PATIENCE, || (outlet.status()[0].counted.n_connected > 0).then_some(()));
    outlet.take(at(10), &values(&[("cpu.busy", 0.5), ("load.1m", 1.0)]), unit);
    // A deadline was missed: its number is left out.
    outlet.take(at(12), &values(&[("load.1m", 2.0), ("load.5m", f64::NAN)]), unit);
    let mut said = Vec::new();
    for _ in 0..4 {
        said.push(match reader.next(PATIENCE).unwrap().expect("a message comes") {
            Message::Description(description) => {
                description.signals.iter().map(|signal| format!("{} in {}", signal.id, signal.unit)).collect()
            }
            Message::Measurement(Measurement { number, values, .. }) => vec![format!("{number}: {values:?}")],
            other => panic!("{other:?}"),
        });
    }
    let said: Vec<String> = said.into_iter().map(|words| words.join(", ")).collect();
    assert_eq!(said, ["load.1m in tasks", "0: [1.0]", "load.1m in tasks, load.5m in tasks", "2: [2.0, NaN]"]);
}

#[test]
fn what_nobody_takes_is_dropped_and_told_and_the_tick_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("nobody").display().to_string();
    let outlet = outlet(&format!("target:unix:{place}?backlog=4KiB"), &[]);
    let mut tick = 0;
    let problems = wait_until("drops are a problem", PATIENCE, || {
        outlet.take(at(tick), &values(&[("load.1m", 1.0)]), unit);
        tick += 1;
        let problems = outlet.problems(at(tick)).join("; ");
        problems.contains("messages were dropped so far").then_some(problems)
    });
    assert!(problems.contains(&format!("target:unix:{place}?backlog=4096 is not connected")), "{problems}");
    let later = outlet.problems(at(tick) + SLOW_FOR + STEP).join("; ");
    assert!(!later.contains("dropped"), "{later}");
}

#[test]
fn a_stream_does_not_go_out_by_what_comes_in() {
    let settings = OutletSettings {
        name: "x".to_owned(),
        endpoints: vec!["accept:tcp:0".parse().unwrap()],
        carries: Outgoing::Forecasts { horizon: STEP },
        select: Selection::default(),
        security: Security::default(),
    };
    assert!(Outlet::start(settings, &home()).err().unwrap().to_string().contains("`connect:` or `target:`"));
}

#[test]
fn a_stream_whose_thread_panics_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("unix:{}", folder.path().join("stream").display());
    let settings = OutletSettings {
        name: "measurements".to_owned(),
        endpoints: vec![format!("connect:{place}").parse().unwrap()],
        carries: Outgoing::Measurements,
        select: Selection::default(),
        security: Security::default(),
    };
    let watch = Watch::default();
    let outlets = Outlets::start(vec![settings], &home(), &watch).unwrap();
    let outlet = &outlets.outlets[0];
    outlet.take(at(10), &values(&[("load.1m", 1.0)]), unit);
    outlet.sending().send(Message::Sample(stream::Sample { number: 0, time: at(10), value: 1.0 }));
    wait_until("the panic is seen", PATIENCE, || (watch.n_panics() > 0).then_some(()));
    assert!(watch.problems()[0].starts_with("the thread `stream measurements` panicked"), "{:?}", watch.problems());
    wait_until("it is open again", PATIENCE, || outlet.problems(at(10)).is_empty().then_some(()));
    let endpoint = format!("source:{place}").parse().unwrap();
    let mut reader = Reader::open(&endpoint, &Security::default()).unwrap();
    wait_until("the reader is there", PATIENCE, || (outlet.status()[0].counted.n_connected > 0).then_some(()));
    outlet.take(at(11), &values(&[("load.1m", 2.0)]), unit);
    assert!(matches!(reader.next(PATIENCE).unwrap(), Some(Message::Description(_))));
    assert!(matches!(reader.next(PATIENCE).unwrap(), Some(Message::Measurement(_))));
}
