//! Sensor servers, and what makes samples of measurements.

use std::path::Path;
use std::time::Duration;

use component::{SensorServer, SourceMeter, Synthetic, ToSample};
use feed::transfer::{Responder, ResponderSettings, TransferSettings, TransferSource};
use secret::Token;
use signal::Selection;
use stream::{Answer, Ask, Carries, Message, Mirror};
use watch::Watch;

use crate::world::{Component, Heard, ask, fact};

#[test]
fn a_signal_of_this_host_becomes_a_stream_of_samples() {
    let host = sensor::Host::open(Path::new("/")).unwrap();
    let meter = SourceMeter::new(Box::new(host), Selection::new(&["load.*"], &[]).unwrap());
    let step = Duration::from_millis(10);
    let server = SensorServer::new("load", "here", step, meter);
    let server = Component::start(Mirror::new("load-server", server).every(step), &["connect:tcp:0", "server:tcp:0"]);
    let to_sample = ToSample::new("load.5m".parse().unwrap());
    let to_sample = Component::start(Mirror::new("to-measure", to_sample), &[&server.source(0), "connect:tcp:0"]);
    let heard = Heard::at(&to_sample.source(1));
    let description = heard.description();
    assert_eq!((description.carries, description.step_ns), (Carries::Sample, 10_000_000));
    assert_eq!((description.signals[0].id.as_str(), description.signals[0].unit.as_str()), ("load.5m", "tasks"));
    let samples: Vec<_> = (0..3).map(|_| heard.next()).collect();
    let mut last = None;
    for message in samples {
        let Message::Sample(sample) = message else { panic!("{message:?}") };
        assert!(sample.value >= 0.0 && last.is_none_or(|last| sample.number > last), "{sample:?}");
        last = Some(sample.number);
    }
    assert_eq!(ask(&server.source(1), Ask::SetStep { step_ns: 2_000_000 }).0, Answer::Done {});
    assert_eq!(heard.description().step_ns, 2_000_000);
    assert!(matches!(heard.next(), Message::Sample(sample) if Some(sample.number) > last));
}

#[test]
fn made_values_are_those_of_their_seed_as_fast_as_can_be() {
    let mut made = Synthetic::new(7, 3.0, 0.9).unwrap();
    let server = SensorServer::new("made", "here", Duration::ZERO, made.clone());
    let mirror = Mirror::new("load-server", server).every(Duration::ZERO);
    let server = Component::start(mirror, &["connect:tcp:0"]);
    let heard = Heard::at(&server.source(0));
    // A reader comes when some were made; what it gets is a row without holes.
    let mut next = 0;
    for _ in 0..10_000 {
        let Message::Measurement(measurement) = heard.next() else { continue };
        if next == 0 {
            (0..measurement.number).for_each(|_| _ = made.next_value());
        } else {
            assert_eq!(measurement.number, next);
        }
        next = measurement.number + 1;
        assert_eq!(measurement.values, [made.next_value()]);
    }
    assert!(Synthetic::new(7, 3.0, 1.0).is_err());
}

#[test]
fn flows_to_a_peer_are_measured_by_transfers() {
    let token = Token::new("0123456789abcdef").unwrap();
    let responder =
        Responder::start(ResponderSettings::new(([127, 0, 0, 1], 0).into(), token.clone()), &Watch::default()).unwrap();
    let told =
        TransferSettings { n_bytes: 4096, ..TransferSettings::new("db2", responder.address().to_string(), token) };
    let meter = SourceMeter::new(Box::new(TransferSource::new(told).unwrap()), Selection::default());
    let step = Duration::from_millis(20);
    let mirror = SensorServer::mirror_elsewhere("flow-server", "flow.db2", "here", step, meter).unwrap();
    let server = Component::start(mirror, &["connect:tcp:0", "server:tcp:0"]);
    let heard = Heard::at(&server.source(0));
    let description = heard.description();
    assert!(description.signals.iter().any(|signal| signal.id.starts_with("flow.db2")), "{description:?}");
    let Message::Measurement(measurement) = heard.next() else { panic!("no measurement") };
    assert_eq!(measurement.values.len(), description.signals.len());
    assert!(measurement.values.iter().any(|value| *value > 0.0), "{measurement:?}");
    assert_eq!(fact(&server.source(1), "sensor_errors").as_deref(), Some("0"));
}
