//! Series that programs feed.

use super::*;

#[test]
fn a_pushed_series_has_its_own_grid_and_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::start(Some(directory.path()));
    world.create("mine", "5s").unwrap();
    assert_eq!(world.push(&[(Some(1002), Some(1.0)), (None, Some(3.0)), (Some(1021), None)]).unwrap(), 3);
    let before = world.forecast("mine");
    // 1002 is nearest to 1000, then comes 1005; 1010 and 1015 are skipped, and 1020 is a gap.
    assert_eq!(before.origin, at(1020));
    let world = world.restart();
    let samples = world.hub.samples("mine", TimeRange { from: at(1000), to: at(1030) }, None).unwrap();
    assert_eq!(samples.values[..2], [Some(1.0), Some(3.0)]);
    // Trailing gaps leave no trace in the store.
    assert_eq!(world.forecast("mine").origin, at(1005));
}

#[test]
fn samples_of_one_push_are_taken_all_or_none() {
    let world = World::start(None);
    world.create("mine", "1s").unwrap();
    world.push(&[(Some(100), Some(1.0))]).unwrap();
    let error = world.push(&[(Some(101), Some(1.0)), (Some(101), Some(2.0))]).unwrap_err();
    assert!(matches!(error, QueryError::OutOfOrder { .. }), "{error}");
    let error = world.push(&[(Some(101), Some(1.0)), (None, Some(1e200))]).unwrap_err();
    assert!(matches!(error, QueryError::BadParameter { field: "samples", .. }), "{error}");
    assert_eq!(world.hub.detail("mine").unwrap().series.n_samples, 1);
}

#[test]
fn names_are_taken_once_and_sensors_are_not_fed() {
    let mut world = World::start(None);
    world.tick();
    world.create("mine", "1s").unwrap();
    for taken in ["mine", LOAD, "cpu.availability.load"] {
        assert!(matches!(world.create(taken, "1s"), Err(QueryError::Exists { .. })), "{taken}");
    }
    assert!(matches!(world.hub.remove(LOAD), Err(QueryError::NotPushed { .. })));
    assert!(matches!(world.hub.push(LOAD, &[]), Err(QueryError::NotPushed { .. })));
    world.hub.remove("mine").unwrap();
    assert!(matches!(world.hub.detail("mine"), Err(QueryError::UnknownSeries { .. })));
    world.create("mine", "2s").unwrap();
}

#[test]
fn what_makes_no_series_is_refused_by_field() {
    let world = World::start(None);
    for (id, step, field) in [("", "1s", "id"), ("a\u{7}", "1s", "id"), ("a", "5", "step"), ("a", "1ms", "step")] {
        let error = world.create(id, step).unwrap_err();
        assert!(matches!(error, QueryError::BadParameter { field: given, .. } if given == field), "{error}");
    }
}

#[test]
fn an_amount_that_was_never_negative_is_not_forecast_to_be() {
    let mut world = World::start(None);
    world.tick();
    let lowest = |id: &str, unit: &str, least: f64| {
        let (id, unit, step) = (id.to_owned(), Some(unit.to_owned()), "1s".to_owned());
        world.hub.create(api::NewSeries { id: id.clone(), unit, sentence: None, step, model: None }).unwrap();
        let now: Timestamp = world.hub.now().floor_to(SECOND);
        let value = |i: u32| if i.is_multiple_of(3) { 4.0 } else { least };
        let sample = |i: u32| PushedSample { time: Some(now - SECOND * (99 - i)), value: Some(value(i)) };
        world.hub.push(&id, &(0..100).map(sample).collect::<Vec<_>>()).unwrap();
        let forecast = world.forecast(&id);
        forecast.lower.into_iter().fold(f64::INFINITY, f64::min)
    };
    assert_eq!(lowest("queue", "requests", 0.0), 0.0);
    assert!(lowest("change", "requests", -1.0) < 0.0 && lowest("heat", "celsius", 0.0) < 0.0);
}
