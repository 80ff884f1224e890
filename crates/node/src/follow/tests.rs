//! A followed stream between a mirror that sends and a feed that is read.

use std::sync::mpsc;

use stream::{Inlet, Measurement, SignalName};
use testkit::{PATIENCE, wait_until};
use units::Timestamp;

use super::*;

const STEP: Duration = Duration::from_secs(1);

/// Sends on whatever it is given.
struct PassOn;

impl Handler for PassOn {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        outputs.forward(&message);
    }
}

struct Peer {
    running: Running<PassOn>,
    inlet: Inlet,
    address: String,
}

impl Peer {
    fn start(at: &str) -> Self {
        let mut mirror = Mirror::new("peer", PassOn);
        let (_, inlet) = mirror.inlet(100);
        let output = mirror.add(format!("connect:{at}").parse().unwrap());
        let running = mirror.start().unwrap();
        let address = running.address(output).unwrap().to_owned();
        Self { running, inlet, address }
    }

    fn describe(&self, carries: Carries, ids: &[&str]) {
        let signals = ids.iter().map(|id| SignalName { id: (*id).to_owned(), unit: String::new() });
        let description = Description {
            stream: "measurements".to_owned(),
            host: "db1".to_owned(),
            carries,
            step_ns: STEP.as_nanos() as u64,
            signals: signals.collect(),
            model: None,
            horizon: None,
        };
        self.inlet.send(Message::Description(description)).unwrap();
    }

    fn measure(&self, number: u64, values: &[f64]) {
        let measurement = Measurement { number, time: Timestamp::from_nanos(0), values: values.to_vec() };
        self.inlet.send(Message::Measurement(measurement)).unwrap();
    }
}

fn follow(address: &str) -> (Feed, Watched) {
    let settings = FollowSettings {
        endpoint: format!("source:{address}").parse().unwrap(),
        host: None,
        step: STEP,
        select: Selection::default(),
        n_signals_max: 10,
        security: Security::default(),
    };
    settings.start().unwrap()
}

/// Reads until something was measured.
fn next(feed: &mut Feed) -> Vec<(String, f64)> {
    let mut readings = Readings::default();
    wait_until("a measurement comes", PATIENCE, || {
        feed.source.read(Duration::ZERO, &mut readings);
        let read: Vec<_> = readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect();
        (!read.is_empty()).then_some(read)
    })
}

/// Reads until it complains of this.
fn wait_for_problem(feed: &mut Feed, problem: &str) {
    let mut readings = Readings::default();
    wait_until(&format!("`{problem}` is told"), PATIENCE, || {
        feed.source.read(Duration::ZERO, &mut readings);
        feed.source.last_error().filter(|error| error.contains(problem))
    });
}

#[test]
fn signals_come_and_go_with_the_description() {
    let peer = Peer::start("tcp:0");
    let (mut feed, _) = follow(&peer.address);
    peer.describe(Carries::Measurement, &["a", "b"]);
    wait_until("the reader is there", PATIENCE, || (peer.running.status()[1].counted.n_connected > 0).then_some(()));
    peer.measure(0, &[1.0, f64::NAN]);
    assert_eq!(next(&mut feed), [("db1/a".to_owned(), 1.0)]);
    peer.describe(Carries::Measurement, &["b"]);
    peer.measure(1, &[2.0]);
    assert_eq!(next(&mut feed), [("db1/b".to_owned(), 2.0)]);
}

#[test]
fn values_that_nobody_described_are_told_and_not_taken() {
    let peer = Peer::start("tcp:0");
    let (mut feed, _) = follow(&peer.address);
    wait_until("the reader is there", PATIENCE, || (peer.running.status()[1].counted.n_connected > 0).then_some(()));
    peer.describe(Carries::Measurement, &["a", "b"]);
    peer.measure(0, &[1.0]);
    wait_for_problem(&mut feed, "a message of 1 values came, and 2 are described");
    peer.describe(Carries::Forecast, &["a"]);
    wait_for_problem(&mut feed, "carries forecasts");
}

#[test]
fn a_peer_that_dies_is_missed_by_its_endpoint_and_followed_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("unix:{}", folder.path().join("stream").display());
    let (mut feed, watched) = follow(&place);
    wait_for_problem(&mut feed, &format!("source:{place} is not connected"));
    for n_connects in 1..=2 {
        let peer = Peer::start(&place);
        peer.describe(Carries::Measurement, &["a"]);
        wait_until("the reader is there", PATIENCE, || {
            (watched.status()[0].counted.n_connects >= n_connects).then_some(())
        });
        peer.measure(0, &[7.0]);
        assert_eq!(next(&mut feed), [("db1/a".to_owned(), 7.0)]);
        let (ended, was_ended) = mpsc::channel();
        std::thread::spawn(move || ended.send(peer.running.stop()).is_ok());
        wait_for_problem(&mut feed, "is not connected");
        assert!(was_ended.recv_timeout(PATIENCE).is_ok());
    }
}

#[test]
fn only_a_source_is_followed() {
    let settings = FollowSettings {
        endpoint: "connect:tcp:0".parse().unwrap(),
        host: None,
        step: STEP,
        select: Selection::default(),
        n_signals_max: 1,
        security: Security::default(),
    };
    assert!(settings.start().err().unwrap().to_string().contains("`source:`"));
}
