//! The monolith: the same forecasts in the process, by a Unix socket and by TCP.

use std::time::Duration;

use component::{Monolith, Synthetic};
use predict::Spec;
use stream::Mirror;

use crate::world::{Component, Heard};

fn monolith() -> Monolith<Synthetic> {
    Monolith::new("made", "here", Synthetic::new(3, 5.0, 0.8).unwrap(), Spec::ar(4), 100, 10)
}

#[test]
fn forecasts_in_the_process_are_those_of_the_library() {
    let mut made = Synthetic::new(3, 5.0, 0.8).unwrap();
    let samples: Vec<f64> = (0..150).map(|_| made.next_value()).collect();
    let mut monolith = monolith();
    let forecasts: Vec<_> = samples.iter().map(|_| monolith.step().unwrap().clone()).collect();
    let mut predictor = predict::fit(&Spec::ar(4), &samples[..100]).unwrap().predictor();
    for (number, sample) in samples.iter().enumerate().skip(100) {
        predictor.step(*sample);
        let expected = predictor.forecast(10);
        assert_eq!((forecasts[number].number, &forecasts[number].means[..]), (number as u64, expected.means()));
        assert_eq!(forecasts[number].standard_errors, expected.standard_errors());
    }
}

#[track_caller]
fn check_reader(output: &str) {
    let mirror = Mirror::new("monolith", monolith()).every(Duration::ZERO);
    let component = Component::start(mirror, &[output]);
    let heard = Heard::at(&component.source(0));
    assert_eq!(heard.description().model.as_deref(), Some("AR(4)"));
    let read = [heard.forecast(), heard.forecast()];
    let mut monolith = monolith();
    let made = std::iter::from_fn(|| monolith.step().cloned()).skip_while(|forecast| forecast.number < read[0].number);
    for (read, made) in read.iter().zip(made) {
        assert_eq!((read.number, read.signal, read.means.len()), (made.number, 0, 10));
        // Equal bits, also where there is no forecast yet.
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&read.means), bits(&made.means));
        assert_eq!(bits(&read.standard_errors), bits(&made.standard_errors));
    }
}

#[test]
fn readers_by_tcp_and_unix_get_the_same() {
    check_reader("connect:tcp:0");
    let folder = tempfile::tempdir().unwrap();
    check_reader(&format!("connect:unix:{}", folder.path().join("socket").display()));
}
