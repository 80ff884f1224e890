//! Sensor servers, and what makes samples of measurements.

use std::path::Path;
use std::time::Duration;

use component::{Selection, SensorServer, SourceMeter, Synthetic, ToSample};
use stream::{Answer, Ask, Carries, Message, Mirror};

use crate::world::{Component, Heard, ask};

#[test]
fn a_signal_of_this_host_becomes_a_stream_of_samples() {
    let host = sensor::Host::open(Path::new("/")).unwrap();
    let meter = SourceMeter::new(Box::new(host), Selection::new(&["load.*"]).unwrap());
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
