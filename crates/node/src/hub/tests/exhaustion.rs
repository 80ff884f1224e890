//! Memory that runs out, as files say.

use super::*;

const GB: f64 = 1e9;
const STEP: Duration = Duration::from_secs(100);

/// Writes how much memory is available of 10 GB.
fn write_available(root: &Path, bytes: f64) {
    let kib = |bytes: f64| bytes / 1024.0;
    let of_memory = format!("MemTotal: {:.0} kB\nMemAvailable: {:.0} kB\n", kib(10.0 * GB), kib(bytes));
    let text = of_memory + "SwapTotal: 0 kB\nSwapFree: 0 kB\n";
    fs::write(root.join("proc/meminfo"), text).unwrap();
}

fn world() -> World {
    let world = World::of(Config { step: STEP, ..Config::default() }, "LAST", false);
    write_available(world.root.path(), 8.0 * GB);
    // The sensor is there if its file is at the start.
    world.restart()
}

/// Makes this many ticks, at each of which as much is available as `available` returns; returns the list after them.
fn run(world: &mut World, n: u32, available: impl Fn(f64) -> f64) -> api::ExhaustionList {
    for idx in 0..n {
        write_available(world.root.path(), available(f64::from(idx)));
        world.tick();
    }
    world.hub.store.flush().unwrap();
    world.hub.exhaustion().unwrap()
}

fn counts(list: &api::ExhaustionList) -> [usize; 4] {
    [list.resources.len(), list.n_lasting, list.n_too_young, list.n_silent]
}

#[test]
fn memory_that_leaks_is_listed_with_the_hours_that_are_left() {
    let mut world = world();
    assert_eq!(counts(&run(&mut world, 3, |_| 8.0 * GB)), [0, 0, 1, 0]);
    // Half a gigabyte in each hour of 36 ticks, and a little noise.
    let list = run(&mut world, 300, |idx| 8.0 * GB - 0.5 * GB * idx / 36.0 + idx * 7919.0 % 101.0 * 1e5);
    assert_eq!(counts(&list), [1, 0, 0, 0]);
    let found = &list.resources[0];
    assert_eq!((&*found.id, found.host.clone(), found.rises), ("memory.available", world.hub.info().host, false));
    assert!((found.line - 0.5 * GB).abs() < 1e4 && !found.is_exhausted && found.probability > 0.5, "{found:?}");
    let hours = found.after.p50_seconds.unwrap() / 3600.0;
    assert!((4.0..=10.0).contains(&hours), "in about 7 hours, and not in {hours}");
    assert_eq!(world.hub.exhaustion().unwrap(), list, "the same is known until a step is over");
    let over = run(&mut world, 6, |_| 0.3 * GB);
    assert!(over.resources[0].is_exhausted, "{over:?}");
    world.clock.pass(STEP * 10);
    assert_eq!(counts(&world.hub.exhaustion().unwrap()), [0, 0, 0, 1]);
}

#[test]
fn memory_that_stays_as_it_is_will_last() {
    let mut world = world();
    let list = run(&mut world, 500, |idx| 8.0 * GB + idx * 7919.0 % 101.0 * 1e6);
    assert_eq!(counts(&list), [0, 1, 0, 0], "{list:?}");
}
