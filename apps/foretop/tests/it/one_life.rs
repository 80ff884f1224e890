//! One trace, one model and six users of `predict::Live`: all forecast the same, to the last bit.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use availability_study::live as study_life;
use component::pool::{Config, Engine, Tense};
use component::{Meter, Monolith, run_core};
use crossval::{Campaign, Template, Trace, Worker};
use predict::{Backtest, Forecast, Live, Policy};
use serde_json::{Value, json};
use stream::{Ask, Carries, Decoder, Description, Measurement, Message, Payload, Request, SignalName};
use testkit::{PATIENCE, wait_until};
use units::{Confidence, Timestamp};

use crate::node::Running;

const MODEL: &str = "REFIT(AR(4),every=20,window=100)";
const N: usize = 137;
const N_LEADS: usize = 10;

/// LAST alone, the model when it is young, at a full window, and after that.
const LENGTHS: [usize; 5] = [2, 19, 25, 100, N];

fn trace() -> Vec<f64> {
    let value = |t: usize| 0.5 + 0.2 * (t as f64 * 0.3).sin() + (t * 7919 % 13) as f64 / 100.0;
    (0..N).map(|t| if (40..43).contains(&t) { f64::NAN } else { value(t) }).collect()
}

/// What the library says after so many samples; in the middle it was saved and restored.
fn lived(length: usize) -> Live {
    let mut live = Live::new(MODEL.parse::<Policy>().unwrap());
    let trace = trace();
    let (first, rest) = trace[..length].split_at(length / 2);
    first.iter().for_each(|sample| live.step(*sample));
    let mut live = Live::restore(&live.save()).unwrap();
    rest.iter().for_each(|sample| live.step(*sample));
    live
}

fn expected(length: usize) -> Forecast {
    lived(length).forecast(N_LEADS).unwrap()
}

#[track_caller]
fn check(who: &str, length: usize, means: &[f64], standard_errors: &[f64]) {
    let expected = expected(length);
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(means), bits(expected.means()), "{who} after {length}");
    assert_eq!(bits(standard_errors), bits(expected.standard_errors()), "{who} after {length}");
}

fn measurement(t: usize) -> Measurement {
    let time = Timestamp::from_nanos(1_000_000_000 * t as i64);
    Measurement { number: t as u64, time, values: vec![trace()[t]] }
}

fn description() -> Description {
    Description {
        stream: "trace".to_owned(),
        host: "pyramid".to_owned(),
        carries: Carries::Measurement,
        step_ns: 1_000_000_000,
        signals: vec![SignalName { id: "load.1m".to_owned(), unit: "tasks".to_owned() }],
        model: None,
        horizon: None,
    }
}

fn encoded(payload: &impl Payload) -> bytes::BytesMut {
    let mut bytes = bytes::BytesMut::new();
    payload.encode(&mut bytes).unwrap();
    bytes
}

fn decoded(bytes: &[u8]) -> Vec<Message> {
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(bytes);
    std::iter::from_fn(|| decoder.next_frame().unwrap()).map(|frame| Message::decode(&frame).unwrap()).collect()
}

#[track_caller]
fn check_frames(who: &str, frames: &[Message]) {
    let mut n_checked = 0;
    for frame in frames {
        if let Message::Forecast(forecast) = frame
            && LENGTHS.contains(&(forecast.number as usize + 1))
        {
            check(who, forecast.number as usize + 1, &forecast.means, &forecast.standard_errors);
            n_checked += 1;
        }
    }
    assert_eq!(n_checked, LENGTHS.len(), "{who}");
}

/// Gives the trace.
struct Recorded(usize, Vec<SignalName>);

impl Meter for Recorded {
    fn read(&mut self, _: Duration, values: &mut Vec<f64>) {
        *values = vec![trace()[self.0]];
        self.0 += 1;
    }

    fn signals(&self) -> &[SignalName] {
        &self.1
    }

    fn misses_deadlines(&self) -> bool {
        false
    }
}

#[test]
fn the_monolith_forecasts_as_the_library_does() {
    let meter = Recorded(0, description().signals);
    let mut monolith = Monolith::new("trace", "pyramid", meter, MODEL.parse().unwrap(), 600, N_LEADS);
    for length in 1..=N {
        let forecast = monolith.step().unwrap();
        if LENGTHS.contains(&length) {
            check("the monolith", length, &forecast.means, &forecast.standard_errors);
        }
    }
}

#[test]
fn the_core_of_a_prediction_server_forecasts_as_the_library_does() {
    let (mut ours, its) = UnixStream::pair().unwrap();
    let core = std::thread::spawn(move || run_core(its));
    let ask = Ask::Reconfigure { model: Some(MODEL.to_owned()), window: Some(0), horizon: Some(N_LEADS as u32) };
    ours.write_all(&encoded(&description())).unwrap();
    ours.write_all(&encoded(&Request { id: 0, ask })).unwrap();
    (0..N).for_each(|t| ours.write_all(&encoded(&measurement(t))).unwrap());
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = Vec::new();
    ours.read_to_end(&mut answers).unwrap();
    core.join().unwrap().unwrap();
    check_frames("the core", &decoded(&answers));
}

#[test]
fn the_pool_forecasts_as_the_library_does_and_so_does_who_takes_over() {
    let config = Config { horizon: N_LEADS as u32, ..Config::new(MODEL.parse().unwrap()) };
    // One that fits when the library does, rather than some samples earlier.
    let subjects = (0..).map(|host| format!("foretop.samples.host-{host}"));
    let subject = subjects.into_iter().find(|subject| config.policy(subject).offset == 0).unwrap();
    let message = |t: usize| [encoded(&description()), encoded(&measurement(t))].concat().into();
    let (mut first, mut heir) = (Engine::default(), Engine::default());
    let mut frames = Vec::new();
    for t in 0..90 {
        let answer = first.message(&subject, &message(t), Tense::Present, &config);
        frames.extend(answer.map(|answer| decoded(&answer)).into_iter().flatten());
        assert!(heir.message(&subject, &message(t), Tense::Past, &config).is_none());
    }
    for t in 90..N {
        frames.extend(decoded(&heir.message(&subject, &message(t), Tense::Present, &config).unwrap()));
    }
    check_frames("the pool", &frames);
}

#[test]
fn the_study_and_ace_forecast_as_the_library_does() {
    let spec = MODEL.parse().unwrap();
    let mut study = study_life(&spec, "cpu.availability");
    let mut ace = ace::CycleForecast::new(&spec, 1.0);
    for (t, sample) in trace().into_iter().enumerate() {
        study.step(sample);
        ace.learn(&[sample]);
        if LENGTHS.contains(&(t + 1)) {
            let forecast = study.forecast(N_LEADS).unwrap();
            check("the study", t + 1, forecast.means(), forecast.standard_errors());
            assert_eq!(ace.total_ns(N_LEADS), expected(t + 1).means().iter().sum::<f64>(), "ACE after {}", t + 1);
        }
    }
}

#[test]
fn an_evaluation_scores_what_the_library_forecasts() {
    let template = format!("models = [{MODEL:?}]\nfit = 100\ntest = {}\nleads = [1, 5]", N - 100);
    let traces = vec![Trace::new("trace", trace()).unwrap()];
    let campaign = Campaign::new(Template::read(&template).unwrap(), traces, 1).unwrap();
    let (result, _) = Worker::new(&campaign).evaluate(0, 0..1).remove(0);
    let trace = trace();
    let (before, after) = trace.split_at(100);
    let Ok(expected) = Backtest::new(&[1, 5]).try_run(&mut lived(100), after, before);
    assert_eq!(result.outcome.unwrap().leads, expected);
}

#[test]
fn a_node_forecasts_as_the_library_does() {
    let node = Running::in_memory();
    let post = |path: &str, body: Value| {
        ureq::post(format!("{}{path}", node.url)).send_json(body).unwrap();
    };
    post("/api/v1/series", json!({"id": "trace", "step": "1s", "model": MODEL}));
    // Samples are numbered by the time since the epoch, and fits of a full window are due every 20.
    let start = clock::now().floor_to(Duration::from_secs(20));
    let start = start - Duration::from_secs(200);
    let mut n_pushed = 0;
    for length in LENGTHS {
        let samples: Vec<Value> = (n_pushed..length)
            .map(|t| json!({"time": start + Duration::from_secs(t as u64), "value": trace()[t]}))
            .collect();
        post("/api/v1/series/trace/samples", json!({ "samples": samples }));
        n_pushed = length;
        // A fit that is due at the last sample is made meanwhile.
        let said = wait_until("the fit is made", PATIENCE, || {
            let fitted = node.get("/api/v1/series/trace")["fitted"]["n_refits"].as_u64();
            let said = node.get(&format!("/api/v1/series/trace/forecast?horizon={N_LEADS}s"));
            (fitted == Some(lived(length).n_refits())).then_some(said)
        });
        let numbers = |name: &str| -> Vec<f64> {
            said[name].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        check("the node", length, &numbers("mean"), &numbers("standard_error"));
        let (lower, upper): (Vec<f64>, Vec<f64>) =
            expected(length).intervals(Confidence::P95).map(|at| (at.lower, at.upper)).unzip();
        assert_eq!((numbers("lower"), numbers("upper")), (lower, upper), "after {length}");
    }
}
