//! The schedule on clocks that are late, set, slept through, and behind the stored labels.

use clock::Clock;
use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanos((seconds * 1e9) as i64)
}

fn millis(span: u64) -> Duration {
    Duration::from_millis(span)
}

struct World {
    clock: clock::Manual,
    schedule: Schedule,
}

impl World {
    fn start(wall: f64, last: Option<f64>) -> Self {
        let clock = clock::Manual::at(at(wall));
        let schedule = Schedule::start(SECOND, clock.monotonic(), clock.wall(), last.map(at));
        Self { clock, schedule }
    }

    fn poll(&mut self) -> Wake {
        self.schedule.poll(self.clock.monotonic(), self.clock.wall())
    }

    /// Waits as told, oversleeps by `late`, and takes the sample; takes one that is due already at once.
    #[track_caller]
    fn sample_late(&mut self, late: Duration) -> Due {
        let span = match self.poll() {
            Wake::Sample(due) => return due,
            Wake::Wait(span) => span,
        };
        self.clock.pass(span + late);
        match self.poll() {
            Wake::Sample(due) => due,
            Wake::Wait(span) => panic!("told to wait {span:?} more at the deadline"),
        }
    }

    #[track_caller]
    fn check_sample(&mut self, label: f64, n_missed: u64, n_jumped: u64, behind: Duration) {
        assert_eq!(self.sample_late(Duration::ZERO), Due { label: at(label), n_missed, n_jumped, behind });
    }
}

#[test]
fn the_first_deadline_is_a_whole_multiple_of_the_step() {
    let mut world = World::start(100.3, None);
    assert_eq!(world.poll(), Wake::Wait(millis(700)));
    world.check_sample(101.0, 0, 0, Duration::ZERO);
    world.check_sample(102.0, 0, 0, Duration::ZERO);
}

#[test]
fn a_start_on_the_grid_samples_at_once() {
    World::start(100.0, None).check_sample(100.0, 0, 0, Duration::ZERO);
}

#[test]
fn a_late_wake_up_shifts_neither_label_nor_next_deadline() {
    let mut world = World::start(100.0, None);
    world.check_sample(100.0, 0, 0, Duration::ZERO);
    assert_eq!(world.sample_late(millis(999)).label, at(101.0));
    assert_eq!(world.poll(), Wake::Wait(millis(1)));
    world.check_sample(102.0, 0, 0, Duration::ZERO);
}

#[test]
fn a_deadline_slept_through_is_missed_and_counted() {
    let mut world = World::start(100.0, None);
    world.check_sample(100.0, 0, 0, Duration::ZERO);
    let due = world.sample_late(millis(3500));
    assert_eq!((due.label, due.n_missed, due.n_jumped), (at(104.0), 3, 0));
    world.check_sample(105.0, 0, 0, Duration::ZERO);
}

#[test]
fn waking_right_on_the_next_deadline_misses_one() {
    let mut world = World::start(100.0, None);
    let due = world.sample_late(Duration::ZERO);
    assert_eq!(due.n_missed, 0);
    let due = world.sample_late(SECOND);
    assert_eq!((due.label, due.n_missed), (at(102.0), 1));
}

#[test]
fn a_clock_set_forward_moves_the_labels_to_its_grid() {
    let mut world = World::start(100.0, None);
    world.check_sample(100.0, 0, 0, Duration::ZERO);
    world.clock.set_wall(at(4000.25));
    // The deadline comes at 4001.25 on the wall.
    world.check_sample(4001.0, 0, 3900, Duration::ZERO);
    assert_eq!(world.poll(), Wake::Wait(millis(750)));
    world.check_sample(4002.0, 0, 0, Duration::ZERO);
}

#[test]
fn a_clock_less_than_a_step_ahead_changes_nothing() {
    let mut world = World::start(100.0, None);
    world.check_sample(100.0, 0, 0, Duration::ZERO);
    world.clock.set_wall(at(101.0));
    world.check_sample(101.0, 0, 0, Duration::ZERO);
}

#[test]
fn a_suspended_machine_leaves_a_gap() {
    let mut world = World::start(100.0, None);
    world.check_sample(100.0, 0, 0, Duration::ZERO);
    // Half a second passes, then an hour for the wall clock alone.
    world.clock.pass(millis(500));
    world.clock.set_wall(at(3700.5));
    world.check_sample(3701.0, 0, 3600, Duration::ZERO);
}

#[test]
fn a_clock_set_back_is_reported_and_labels_go_on() {
    let mut world = World::start(1000.0, None);
    world.check_sample(1000.0, 0, 0, Duration::ZERO);
    world.clock.set_wall(at(400.0));
    world.check_sample(1001.0, 0, 0, Duration::from_secs(600));
    world.check_sample(1002.0, 0, 0, Duration::from_secs(600));
    // Set right again: nothing is lost or doubled.
    world.clock.set_wall(world.clock.wall() + Duration::from_secs(600));
    world.check_sample(1003.0, 0, 0, Duration::ZERO);
}

#[test]
fn a_deadline_missed_while_behind_is_missed_only_once() {
    let mut world = World::start(1000.0, None);
    world.check_sample(1000.0, 0, 0, Duration::ZERO);
    world.clock.set_wall(at(400.0));
    let due = world.sample_late(millis(2500));
    assert_eq!((due.label, due.n_missed, due.n_jumped, due.behind), (at(1003.0), 2, 0, Duration::from_secs(600)));
}

#[test]
fn a_restart_goes_on_after_the_label_stored_last() {
    let mut world = World::start(400.5, Some(1000.0));
    assert_eq!(world.poll(), Wake::Wait(millis(500)));
    world.check_sample(1001.0, 0, 0, Duration::from_secs(600));
}

#[test]
fn a_restart_within_the_same_second_does_not_double_it() {
    let mut world = World::start(1000.0, Some(1000.0));
    world.check_sample(1001.0, 0, 0, SECOND);
    world.check_sample(1002.0, 0, 0, SECOND);
}

#[test]
fn a_label_stored_with_another_step_is_left_behind() {
    let mut world = World::start(1000.2, Some(1000.5));
    world.check_sample(1001.0, 0, 0, Duration::ZERO);
}

proptest! {
    #[test]
    fn labels_strictly_increase_on_the_grid_and_every_step_is_accounted_for(
        start in 0_i64..3_000_000_000,
        last in proptest::option::of(0_i64..6_000_000_000),
        events in prop::collection::vec((0_u64..4000, prop::option::weighted(0.2, -20_000_i64..20_000)), 1..80),
    ) {
        let wall = Timestamp::from_nanos(1_000_000_000_000 + start);
        let clock = clock::Manual::at(wall);
        let last = last.map(|last| Timestamp::from_nanos(1_000_000_000_000 + last));
        let mut schedule = Schedule::start(SECOND, clock.monotonic(), clock.wall(), last);
        let mut previous = last;
        let mut is_first = true;
        for (pass, set_by) in events {
            clock.pass(Duration::from_millis(pass));
            if let Some(set_by) = set_by {
                clock.set_wall(Timestamp::from_nanos(clock.wall().as_nanos() + set_by * 1_000_000));
            }
            let Wake::Sample(due) = schedule.poll(clock.monotonic(), clock.wall()) else { continue };
            prop_assert_eq!(due.label, due.label.floor_to(SECOND));
            if let Some(previous) = previous {
                prop_assert!(due.label > previous);
                let steps = whole_steps(due.label.saturating_since(previous), SECOND);
                prop_assert!(is_first || steps == 1 + due.n_missed + due.n_jumped);
            }
            (previous, is_first) = (Some(due.label), false);
            // Never behind the wall by more than a step and what the deadline is late.
            prop_assert!(clock.wall() < due.label + 2 * SECOND + SECOND);
            prop_assert!(matches!(schedule.poll(clock.monotonic(), clock.wall()), Wake::Wait(_)));
        }
    }
}
