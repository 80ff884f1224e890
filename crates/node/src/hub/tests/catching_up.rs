//! Samples that models have still to take, and states that a restart goes on from.

use super::*;
use crate::hub::Progress;

/// A node whose models catch up when the test says so.
fn held_back(data_dir: Option<&Path>) -> World {
    let mut world = World::start_fitting("LAST", data_dir, true);
    world.catch_up = None;
    world
}

#[test]
fn a_restart_goes_on_from_a_saved_state_and_what_came_since() {
    // Neither has seen its first samples for long, and an AUTO depends on all of them.
    for model in ["AUTO(every=20,window=100)", "AR(2)"] {
        let directory = tempfile::tempdir().unwrap();
        let config = Config { data_dir: Some(directory.path().to_owned()), step: SECOND, ..Config::default() };
        let mut world = World::of(config, model, false);
        let all = |world: &World| {
            (world.forecast(LOAD), world.hub.accuracy(LOAD).unwrap(), world.hub.detail(LOAD).unwrap().fitted)
        };
        world.ticks(2500);
        world.hub.save_states();
        world.ticks(70);
        let before = all(&world);
        let mut world = world.restart();
        assert_eq!(before, all(&world), "{model}");
        world.tick();
        assert_eq!(world.hub.detail(LOAD).unwrap().series.n_samples, 1, "samples of the run before were counted");
    }
}

#[test]
fn states_are_saved_once_an_hour_without_being_asked() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start_with("LAST", Some(directory.path()));
    world.ticks(3700);
    world.hub.store.flush().unwrap();
    let store = rusqlite::Connection::open(directory.path().join("foretop.db")).unwrap();
    let n_saved: i64 = store.query_row("SELECT count(*) FROM state", [], |row| row.get(0)).unwrap();
    assert_eq!(n_saved as usize, world.hub.list().len());
}

#[test]
fn a_state_of_another_model_or_a_damaged_one_is_left_aside() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(Some(directory.path()));
    world.ticks(50);
    let before = world.forecast(LOAD);
    world.hub.save_states();
    world.hub.store.flush().unwrap();
    let store = rusqlite::Connection::open(directory.path().join("foretop.db")).unwrap();
    store.execute("UPDATE state SET data = x'28b52ffd00'", []).unwrap();
    let mut world = world.restart();
    assert_eq!(world.forecast(LOAD), before);
    world.hub.save_states();
    world.config.model = "LAST".parse().unwrap();
    let world = world.restart();
    assert_eq!(world.hub.detail(LOAD).unwrap().series.model, "LAST");
}

#[test]
fn a_push_is_taken_in_pieces_and_its_fits_are_made_beside() {
    let world = held_back(None);
    let new = api::NewSeries {
        id: "mine".to_owned(),
        unit: None,
        sentence: None,
        step: "1s".to_owned(),
        model: Some("REFIT(ARMA(4,4),every=1,window=200)".to_owned()),
    };
    world.hub.create(new).unwrap();
    let samples: Vec<_> = (0..300).map(|idx| (None, Some(f64::from(idx * 7919 % 101)))).collect();
    assert_eq!(world.push(&samples).unwrap(), 300);
    let waiting = || world.hub.health().catching_up.samples;
    assert_eq!(waiting(), 300, "no sample was taken under the lock");
    world.hub.store.flush().unwrap();
    let last =
        world.hub.samples("mine", TimeRange { from: at(1_799_999_000), to: at(1_800_001_000) }, None).unwrap().values;
    assert_eq!(last.iter().flatten().count(), 300, "what waits can be read");
    assert!(
        world.hub.gauges_of(["mine"].into_iter(), &GAUGE_HORIZONS)["mine"].origin.is_none(),
        "a forecast from before is none now"
    );
    let mut before = 300;
    while before > 0 {
        match world.hub.catch_up("mine") {
            Progress::Waits => world.fitter.as_ref().unwrap().settle(),
            Progress::More | Progress::Done => {}
        }
        assert!(before - waiting() <= 32, "a piece of {}", before - waiting());
        before = waiting();
    }
    assert!(world.hub.detail("mine").unwrap().fitted.unwrap().n_refits > 200);
}

#[test]
fn work_that_a_node_cannot_do_before_long_is_refused_with_its_numbers() {
    let world = held_back(None);
    world.create("mine", "1s").unwrap();
    let many: Vec<_> = (0..60_000).map(|_| (None, Some(1.0))).collect();
    assert_eq!(world.push(&many).unwrap(), 60_000);
    let error = world.push(&many).unwrap_err();
    assert!(matches!(error, QueryError::TooFarBehind { n_behind: 60_000, n_more: 60_000, .. }), "{error}");
    let new = |idx: usize, model: &str| api::NewSeries {
        id: format!("large-{idx}"),
        unit: None,
        sentence: None,
        step: "1s".to_owned(),
        model: Some(model.to_owned()),
    };
    let error = (0..1000).find_map(|idx| world.hub.create(new(idx, "NWS(recent=10000)")).err()).unwrap();
    assert!(matches!(error, QueryError::TooMuchMemory { .. }), "{error}");
    let mut dear = (0..100).map(|idx| {
        world.hub.create(new(2000 + idx, "REFIT(ARMA(8,8),every=1,window=2000)"))?;
        let samples: Vec<_> = (0..2000).map(|_| PushedSample { time: None, value: Some(1.0) }).collect();
        world.hub.push(&format!("large-{}", 2000 + idx), &samples)
    });
    let error = dear.find_map(Result::err).unwrap();
    assert!(matches!(error, QueryError::TooMuchMemory { .. } | QueryError::TooMuchWork { .. }), "{error}");
}

#[test]
fn a_replay_leaves_out_the_fits_that_were_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start_fitting("REFIT(AR(2),every=5,window=60)", Some(directory.path()), true);
    for _ in 0..50 {
        world.tick();
        world.fitter.as_ref().unwrap().settle();
    }
    // From now on fits are given back, as where the fitter has too much to do.
    drop(world.fitter.take());
    world.ticks(23);
    let all = |world: &World| (world.forecast(LOAD), world.hub.detail(LOAD).unwrap().fitted);
    let before = all(&world);
    let world = world.restart();
    assert_eq!(before, all(&world));
    let n_samples = world.hub.detail(LOAD).unwrap().fitted.unwrap().n_samples;
    assert!(n_samples <= 50, "a fit to {n_samples} samples was made after all");
}
