//! Measured samples and remembered forecasts, from memory and store.

use super::*;

#[test]
fn samples_come_from_memory_and_store_without_a_seam() {
    let mut world = World::start(None);
    world.ticks(1300);
    let values = world.samples(1_800_000_000, 1_800_001_300, None);
    assert_eq!(values.iter().flatten().count(), 1300);
    assert_eq!(values[17], Some(f64::from(17 * 7919 % 101) / 100.0));
    let means = world.samples(1_800_000_000, 1_800_001_320, Some(60 * SECOND));
    let expected: Vec<f64> =
        values.chunks(60).map(|chunk| chunk.iter().flatten().sum::<f64>() / chunk.len() as f64).collect();
    assert_eq!(means.len(), expected.len());
    for (mean, expected) in means.iter().zip(expected) {
        // Sums in another order differ in the last digits.
        assert!((mean.unwrap() - expected).abs() < 1e-12);
    }
}

#[test]
fn a_range_that_begins_before_the_first_sample_has_all_samples() {
    let mut world = World::start(None);
    // The first minute is a part of one, and its mean is made before its samples are thinned.
    world.clock.pass(Duration::from_secs(25));
    world.ticks(130);
    let begin = 1_800_000_000;
    for step in [None, Some(SECOND)] {
        let answer = world.answer(begin - 600, begin + 600, step);
        assert_eq!((answer.step_seconds, answer.values.iter().flatten().count()), (1.0, 130), "{step:?}");
        assert_eq!(answer.start, at(begin + 25), "nothing is before the first sample");
    }
    let far = world.answer(begin - 400 * 86_400, begin + 600, None);
    assert_eq!(far.values.iter().flatten().count(), 130, "a year of nothing is not counted as values");
}

#[test]
fn a_series_that_began_later_than_others_begins_with_its_own_first_sample() {
    let mut world = World::start(None);
    world.ticks(130);
    world.create("mine", "1s").unwrap();
    let begin = 1_800_000_000;
    world.push(&[(Some(begin + 128), Some(1.0)), (Some(begin + 130), Some(2.0))]).unwrap();
    world.hub.store.flush().unwrap();
    let answer = world.hub.samples("mine", TimeRange { from: at(begin), to: at(begin + 131) }, None).unwrap();
    assert_eq!((answer.start, answer.values), (at(begin + 128), vec![Some(1.0), None, Some(2.0)]));
}

#[test]
fn any_step_is_answered_in_whole_steps_of_the_series() {
    let mut world = World::start(None);
    world.ticks(120);
    let begin = 1_800_000_000;
    let step = |step: Duration| world.answer(begin, begin + 120, Some(step));
    assert_eq!(
        (step(Duration::from_millis(10)).step_seconds, step(Duration::from_millis(10)).values.len()),
        (1.0, 120)
    );
    assert_eq!(
        (step(Duration::from_millis(2500)).step_seconds, step(Duration::from_millis(2500)).values.len()),
        (3.0, 40)
    );
    assert_eq!((step(7 * SECOND).step_seconds, step(90 * SECOND).step_seconds), (7.0, 90.0));
}

#[test]
fn samples_that_are_thinned_in_part_are_answered_in_one_step() {
    let mut world = World::keeping(Duration::from_secs(300));
    let begin = 1_800_000_000;
    testkit::wait_until("old samples are thinned", testkit::PATIENCE, || {
        // A few at a time, so that ageing gets its turn as in ordinary life.
        world.ticks(60);
        world.hub.store.flush().unwrap();
        let oldest = world.hub.store.read(store::read::extent).unwrap().0;
        (world.n_ticks >= 1500 && oldest >= Some(at(begin + 300))).then_some(())
    });
    let n = i64::from(world.n_ticks);
    let count = |answer: &api::Samples| answer.values.iter().flatten().count() as i64;
    let whole = world.answer(begin, begin + n, None);
    assert_eq!((whole.step_seconds, count(&whole)), (60.0, n / 60), "the range begins where minutes are left");
    let fine = world.answer(begin, begin + n, Some(SECOND));
    let kept = count(&fine);
    assert!(fine.step_seconds == 1.0 && (1000..n).contains(&kept), "those that are left: {kept}");
    let recent = world.answer(begin + n - kept, begin + n, None);
    assert_eq!((recent.step_seconds, count(&recent)), (1.0, kept));
    for (asked, answered) in [(SECOND, 60.0), (90 * SECOND, 120.0), (120 * SECOND, 120.0)] {
        let old = world.answer(begin, begin + 240, Some(asked));
        assert_eq!((old.step_seconds, count(&old) as f64), (answered, 240.0 / answered), "nothing finer is kept");
    }
}

#[test]
fn what_was_said_is_remembered_once_in_ten_seconds() {
    let mut world = World::start(None);
    world.ticks(60);
    world.hub.store.flush().unwrap();
    let range = TimeRange { from: at(1_800_000_000), to: at(1_800_001_000) };
    let said = world.hub.remembered(LOAD, 10 * SECOND, range).unwrap();
    assert!((5..=6).contains(&said.time.len()), "{said:?}");
    assert!(said.time.windows(2).all(|pair| pair[1].saturating_since(pair[0]) == 10 * SECOND));
    let error = world.hub.remembered(LOAD, 11 * SECOND, range).unwrap_err();
    assert!(error.to_string().contains("10s, 1m, 5m"), "{error}");
}
