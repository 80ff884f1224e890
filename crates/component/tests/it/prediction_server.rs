//! The prediction server, with a real core in a process of its own.

use std::time::Duration;

use component::{Buffer, CoreProgram, PredictionSettings, Relay};
use predict::{Predictor, Spec};
use rustix::process::{Pid, Signal, kill_process};
use stream::{Answer, Ask, CallError, Caller, Carries, Configuration, Forecast, Message, Mirror, Security};
use testkit::{PATIENCE, wait_until};

use crate::world::{
    Component, Feed, Heard, ask, core, description, endpoint, fact, prediction_server, settings, value, values,
};

const N_HISTORY: u64 = 600;

/// A feed, a measure buffer that has 600 samples of it, and a prediction server that begins after them.
struct System {
    feed: Feed,
    _buffer: Component<Buffer>,
    server: String,
    forecasts: Heard,
    _running: Component<component::PredictionServer>,
}

impl System {
    fn start(core_limit: Duration) -> Self {
        let feed = Feed::start("connect:tcp:0", description(Carries::Sample));
        let buffer = Mirror::new("measure-buffer", Buffer::new(20_000).unwrap());
        let buffer = Component::start(buffer, &[&feed.component.source(0), "server:tcp:0", "connect:tcp:0"]);
        wait_for_readers(&feed.component, 1);
        (0..N_HISTORY).for_each(|number| feed.send(number, value(number)));
        wait_until("the buffer has them", PATIENCE, || {
            (fact(&buffer.source(1), "newest")? == (N_HISTORY - 1).to_string()).then_some(())
        });
        let settings = PredictionSettings { core_limit, ..settings("AR(16)", Some(&buffer.source(1))) };
        let running = prediction_server(settings, &[&buffer.source(2), "server:tcp:0", "connect:tcp:0"]);
        let server = running.source(1);
        wait_until("the model is fitted", PATIENCE, || {
            fact(&server, "fit")?.starts_with("AR(16): 1 of 1").then_some(())
        });
        wait_for_readers(&buffer, 1);
        let forecasts = Heard::at(&running.source(2));
        wait_for_readers(&running, 1);
        Self { feed, _buffer: buffer, server, forecasts, _running: running }
    }

    fn send(&self, numbers: std::ops::Range<u64>) {
        numbers.for_each(|number| self.feed.send(number, value(number)));
    }

    fn core_pid(&self) -> Pid {
        let pid = wait_until("there is a core", PATIENCE, || fact(&self.server, "core_pid"));
        Pid::from_raw(pid.parse().unwrap()).unwrap()
    }
}

fn wait_for_readers<H: stream::Handler>(component: &Component<H>, n: u64) {
    wait_until("readers are there", PATIENCE, || {
        let is_read =
            |status: &stream::EndpointStatus| status.endpoint.starts_with("connect") && status.counted.n_connected >= n;
        component.running.status().iter().any(is_read).then_some(())
    });
}

/// What the library says when it is called directly: a fit to these samples.
fn predictor(numbers: std::ops::Range<u64>) -> Predictor {
    predict::fit(&Spec::ar(16), &values(numbers)).unwrap().predictor()
}

#[track_caller]
fn check_forecast(forecast: &Forecast, predictor: &Predictor, number: u64) {
    let expected = predictor.forecast(30);
    assert_eq!((forecast.number, &forecast.means[..]), (number, expected.means()));
    assert_eq!(forecast.standard_errors, expected.standard_errors());
}

#[test]
fn forecasts_are_those_of_the_library_from_the_first_on() {
    let system = System::start(PATIENCE);
    let mut predictor = predictor(0..N_HISTORY);
    system.send(N_HISTORY..N_HISTORY + 100);
    for number in N_HISTORY..N_HISTORY + 100 {
        predictor.step(value(number));
        check_forecast(&system.forecasts.forecast(), &predictor, number);
    }
    // A gap of three steps, and then the next.
    system.send(N_HISTORY + 103..N_HISTORY + 104);
    (0..3).for_each(|_| predictor.step(f64::NAN));
    predictor.step(value(N_HISTORY + 103));
    check_forecast(&system.forecasts.forecast(), &predictor, N_HISTORY + 103);
}

#[test]
fn a_hundred_kills_of_the_core_lose_no_sample() {
    let system = System::start(PATIENCE);
    let mut number = N_HISTORY;
    for kill in 0..100 {
        let pid = system.core_pid();
        let n_before = 1 + kill % 7;
        system.send(number..number + n_before);
        // It may be gone already, where the one before it was slow to be noticed.
        let _ = kill_process(pid, Signal::KILL);
        system.send(number + n_before..number + 10);
        let answered: Vec<_> = (0..10).map(|_| system.forecasts.forecast().number).collect();
        assert_eq!(answered, (number..number + 10).collect::<Vec<_>>(), "kill {kill}");
        number += 10;
    }
    let n_restarts = wait_until("all is answered", PATIENCE, || {
        (fact(&system.server, "samples_unanswered")? == "0").then(|| fact(&system.server, "restarts"))
    });
    assert_eq!(n_restarts.as_deref(), Some("100"));
    assert_eq!(fact(&system.server, "samples_lost").as_deref(), Some("0"));
    // What came last is a fit to the window before it.
    let pid = system.core_pid();
    kill_process(pid, Signal::KILL).unwrap();
    wait_until("it is started again", PATIENCE, || (system.core_pid() != pid).then_some(()));
    system.send(number..number + 1);
    let mut predictor = predictor(number - N_HISTORY..number);
    predictor.step(value(number));
    check_forecast(&system.forecasts.forecast(), &predictor, number);
}

#[test]
fn a_core_that_hangs_is_replaced_and_its_samples_are_answered() {
    let system = System::start(Duration::from_millis(500));
    let pid = system.core_pid();
    kill_process(pid, Signal::STOP).unwrap();
    system.send(N_HISTORY..N_HISTORY + 5);
    let answered: Vec<_> = (0..5).map(|_| system.forecasts.forecast().number).collect();
    assert_eq!(answered, (N_HISTORY..N_HISTORY + 5).collect::<Vec<_>>());
    assert_ne!(system.core_pid(), pid);
    let reason = fact(&system.server, "last_restart").unwrap();
    assert!(reason.starts_with("it gave no answer for 500ms"), "{reason}");
}

/// A feed, and a prediction server whose cores fail like this before one serves; twenty samples are answered.
fn served_after(lives: &[&str]) -> (Component<component::PredictionServer>, Vec<Forecast>) {
    let feed = Feed::start("connect:tcp:0", description(Carries::Sample));
    let counted = tempfile::tempdir().unwrap();
    let arguments = [counted.path().as_os_str().to_owned()].into_iter().chain(lives.iter().map(Into::into)).collect();
    let core = CoreProgram { arguments, ..core() };
    let told = PredictionSettings { core, core_limit: Duration::from_millis(250), ..settings("AR(4)", None) };
    let running = prediction_server(told, &[&feed.component.source(0), "connect:tcp:0", "server:tcp:0"]);
    let heard = Heard::at(&running.source(1));
    wait_for_readers(&feed.component, 1);
    wait_for_readers(&running, 1);
    (0..20).for_each(|number| feed.send(number, value(number)));
    let forecasts: Vec<_> = (0..20).map(|_| heard.forecast()).collect();
    assert_eq!(forecasts.iter().map(|it| it.number).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    let n_restarts = fact(&running.source(2), "restarts").unwrap().parse::<usize>().unwrap();
    let n_failed = lives.iter().filter(|life| **life != "late").count();
    // On a busy machine one that was not told to fail may be slow once.
    assert!((n_failed..n_failed + 5).contains(&n_restarts), "{n_restarts} restarts");
    assert_eq!(fact(&running.source(2), "samples_lost").as_deref(), Some("0"));
    (running, forecasts)
}

#[test]
fn cores_that_hang_and_exit_in_turn_delay_forecasts_and_lose_none() {
    served_after(&["hang", "exit", "hang", "late"]);
}

#[test]
fn when_every_core_hangs_last_is_fitted_until_a_model_is_asked_for() {
    let (running, forecasts) = served_after(&["hang"; 6]);
    assert!(forecasts[1..].iter().all(|forecast| forecast.means.iter().all(|mean| *mean == value(forecast.number))));
    let fit = || fact(&running.source(2), "fit").unwrap();
    assert!(fit().starts_with("LAST"), "{}", fit());
    ask(&running.source(2), Ask::Refit {});
    assert!(fit().starts_with("AR(4)"), "{}", fit());
}

#[test]
fn what_an_interrupted_stream_missed_is_got_from_the_buffer() {
    let feed = Feed::start("connect:tcp:0", description(Carries::Sample));
    let buffer = Mirror::new("measure-buffer", Buffer::new(1000).unwrap());
    let buffer = Component::start(buffer, &[&feed.component.source(0), "server:tcp:0", "connect:tcp:0"]);
    let relay = |output: &str| Component::start(Mirror::new("relay", Relay), &[&buffer.source(2), output]);
    let folder = tempfile::tempdir().unwrap();
    let between = relay(&format!("connect:unix:{}", folder.path().join("relay").display()));
    let place = between.source(1);
    let told = settings("AR(2)", Some(&buffer.source(1)));
    let running = prediction_server(told, &[&place, "connect:tcp:0", "server:tcp:0"]);
    let heard = Heard::at(&running.source(1));
    wait_for_readers(&between, 1);
    wait_for_readers(&feed.component, 1);
    wait_for_readers(&buffer, 1);
    wait_for_readers(&running, 1);
    (0..20).for_each(|number| feed.send(number, value(number)));
    assert_eq!((0..20).map(|_| heard.forecast().number).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    between.running.stop();
    (20..25).for_each(|number| feed.send(number, value(number)));
    wait_until("the buffer has them", PATIENCE, || (fact(&buffer.source(1), "newest")? == "24").then_some(()));
    let between = relay(&place.replace("source", "connect"));
    wait_for_readers(&between, 1);
    wait_for_readers(&buffer, 1);
    feed.send(25, value(25));
    assert_eq!((0..6).map(|_| heard.forecast().number).collect::<Vec<_>>(), (20..26).collect::<Vec<_>>());
    assert_eq!(fact(&running.source(2), "samples_lost").as_deref(), Some("0"));
}

#[test]
fn a_core_that_never_runs_is_tried_again_and_holds_nothing_up() {
    let feed = Feed::start("connect:tcp:0", description(Carries::Sample));
    for (program, reason) in [("/bin/false", "it ended (exit status: 1)"), ("/nonexistent", "it cannot be started")] {
        let core = CoreProgram { program: program.into(), arguments: Vec::new() };
        let told = PredictionSettings { core, ..settings("AR(2)", None) };
        let running = prediction_server(told, &[&feed.component.source(0), "server:tcp:0"]);
        let server = running.source(1);
        wait_until("it was tried again", PATIENCE, || {
            (fact(&server, "restarts")?.parse::<u32>().ok()? >= 3).then_some(())
        });
        let said = fact(&server, "last_restart").unwrap();
        assert!(said.starts_with(reason), "{said}");
    }
}

#[test]
fn a_young_series_is_forecast_by_last_until_its_model_can_be_fitted() {
    let feed = Feed::start("connect:tcp:0", description(Carries::Sample));
    let running =
        prediction_server(settings("AR(4)", None), &[&feed.component.source(0), "connect:tcp:0", "server:tcp:0"]);
    let heard = Heard::at(&running.source(1));
    wait_for_readers(&feed.component, 1);
    wait_for_readers(&running, 1);
    (0..40).for_each(|number| feed.send(number, value(number)));
    let forecasts: Vec<_> = (0..40).map(|_| heard.forecast()).collect();
    assert!(forecasts[0].means.iter().all(|mean| mean.is_nan()), "one sample tells of no error");
    for forecast in &forecasts[1..19] {
        assert!(
            forecast.means.iter().all(|mean| *mean == value(forecast.number)),
            "LAST speaks at {}",
            forecast.number
        );
    }
    for (number, n_fitted) in [(19, 20), (29, 30), (35, 30)] {
        let mut predictor = predict::fit(&Spec::ar(4), &values(0..n_fitted)).unwrap().predictor();
        (n_fitted..=number).for_each(|number| predictor.step(value(number)));
        check_forecast(&forecasts[number as usize], &predictor, number);
    }
    assert_eq!(fact(&running.source(2), "fit").as_deref(), Some("AR(4): 1 of 1 signals"), "it says so by itself");
}

#[test]
fn model_window_and_horizon_change_while_it_runs() {
    let system = System::start(PATIENCE);
    let reconfigure =
        |model: Option<&str>, window, horizon| Ask::Reconfigure { model: model.map(str::to_owned), window, horizon };
    let (answer, _) = ask(&system.server, reconfigure(Some("AR(4)"), Some(200), Some(5)));
    let expected = Configuration { model: "AR(4)".to_owned(), window: 200, horizon: 5 };
    assert_eq!(answer, Answer::Configuration(expected.clone()));
    assert_eq!(ask(&system.server, Ask::Refit {}).0, Answer::Configuration(expected));
    system.send(N_HISTORY..N_HISTORY + 1);
    let forecast = system.forecasts.forecast();
    let model = predict::fit(&Spec::ar(4), &values(N_HISTORY - 200..N_HISTORY)).unwrap();
    let mut predictor = model.predictor();
    predictor.step(value(N_HISTORY));
    assert_eq!(forecast.means, predictor.forecast(5).means());
    let refused = |question| {
        let mut caller = Caller::open(&endpoint(&system.server), &Security::default()).unwrap();
        match caller.call(question, PATIENCE).unwrap_err() {
            CallError::Refused { reason, .. } => reason,
            other => panic!("{other}"),
        }
    };
    assert!(refused(reconfigure(Some("AR(0)"), None, None)).contains("AR"));
    assert!(refused(reconfigure(None, Some(1), None)).contains("2 to 1000000 samples"));
    assert!(refused(reconfigure(None, None, Some(65_001))).contains("1 to 65000 steps"));
    assert!(refused(reconfigure(Some("AR(150)"), None, None)).contains("needs at least 301"));
    assert_eq!(fact(&system.server, "model").as_deref(), Some("AR(4)"), "what cannot be fitted changes nothing");
}

#[test]
fn every_signal_of_a_measurement_has_a_forecast() {
    let mut description = description(Carries::Measurement);
    description.signals.push(stream::SignalName { id: "load.5m".to_owned(), unit: "tasks".to_owned() });
    let feed = Feed::start("connect:tcp:0", description);
    let running = prediction_server(settings("AR(2)", None), &[&feed.component.source(0), "connect:tcp:0"]);
    let heard = Heard::at(&running.source(1));
    wait_for_readers(&feed.component, 1);
    wait_for_readers(&running, 1);
    for number in 0..20 {
        let values = vec![value(number), -value(number)];
        feed.message(Message::Measurement(stream::Measurement { number, time: crate::world::time(number), values }));
    }
    for number in 0..20 {
        let both = [heard.forecast(), heard.forecast()];
        assert_eq!(both.each_ref().map(|forecast| (forecast.number, forecast.signal)), [(number, 0), (number, 1)]);
        assert!(number < 2 || (both[0].means[0] + both[1].means[0]).abs() < 1e-9, "one is the other mirrored");
    }
}
