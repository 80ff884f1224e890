//! A node that ends and starts again, and clocks that are set.

use super::*;

#[test]
fn a_restart_stands_where_it_stood() {
    check_restart("REFIT(AR(2),every=20,window=60)");
    check_restart("AUTO(every=20,window=100)");
}

#[track_caller]
fn check_restart(model: &str) {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start_with(model, Some(directory.path()));
    world.ticks(100);
    world.clock.pass(5 * SECOND);
    world.ticks(237);
    let before = (world.forecast(LOAD), world.hub.accuracy(LOAD).unwrap(), world.hub.detail(LOAD).unwrap().fitted);
    let mut world = world.restart();
    let after = (world.forecast(LOAD), world.hub.accuracy(LOAD).unwrap(), world.hub.detail(LOAD).unwrap().fitted);
    assert_eq!(before, after);
    assert!(before.1.leads[0].n > 100, "nothing was scored");
    world.tick();
    assert_eq!(world.hub.detail(LOAD).unwrap().series.n_samples, 1);
}

#[test]
fn a_node_that_was_down_goes_on_as_one_that_missed_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (mut down, mut slept) = (World::start(Some(directory.path())), World::start(None));
    for world in [&mut down, &mut slept] {
        world.ticks(90);
        world.clock.pass(20 * SECOND);
    }
    let mut down = down.restart();
    for world in [&mut down, &mut slept] {
        world.ticks(30);
    }
    assert_eq!(down.forecast(LOAD), slept.forecast(LOAD));
}

#[test]
fn a_clock_set_back_loses_and_doubles_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(Some(directory.path()));
    world.ticks(10);
    world.clock.set_wall(at(1_799_000_000));
    world.ticks(10);
    let health = world.hub.health();
    assert_eq!((health.status, health.clock_behind_seconds.round()), (api::Status::Degraded, 1_000_009.0));
    let mut world = world.restart();
    world.ticks(10);
    let values = world.samples(1_800_000_000, 1_800_000_030, None);
    assert_eq!(values.iter().flatten().count(), 30);
}

#[test]
fn a_clock_set_forward_leaves_a_gap() {
    let mut world = World::start(None);
    world.ticks(10);
    world.clock.set_wall(world.clock.wall() + 100 * SECOND);
    world.ticks(5);
    let values = world.samples(1_800_000_000, 1_800_000_120, None);
    let known: Vec<usize> = (0..values.len()).filter(|idx| values[*idx].is_some()).collect();
    assert_eq!(known.len(), 15);
    assert!(known.windows(2).all(|pair| pair[1] - pair[0] == 1 || pair[1] - pair[0] == 101), "{known:?}");
    assert_eq!(world.hub.health().clock_behind_seconds, 0.0);
}

#[test]
fn a_gap_longer_than_memory_begins_anew() {
    let mut world = World::start(None);
    world.ticks(30);
    world.clock.set_wall(world.clock.wall() + Duration::from_secs(7200));
    world.ticks(2);
    let detail = world.hub.detail(LOAD).unwrap();
    assert_eq!((detail.series.model.as_str(), detail.waiting.unwrap().have), ("LAST", Some(2)));
}
