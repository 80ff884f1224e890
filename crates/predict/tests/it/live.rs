//! A series from its first sample on: who speaks when, what gaps, failures and cancelled fits do, and that nothing
//! depends on where fits are made, where a life was interrupted, or who took it over.

use predict::{Backtest, FitError, Forecast, Live, LiveFleet, Policy, RestoreError, Spec, fit};
use proptest::prelude::*;

use crate::testdata::ar1;

const MODELS: [&str; 4] = [
    "REFIT(AR(4),every=30,window=100)",
    "LIVE(AR(2),window=50,every=40,offset=7)",
    "AUTO(every=20,window=100)",
    "LAST",
];

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

fn lived(text: &str, samples: &[f64]) -> Live {
    let mut live = Live::new(policy(text));
    samples.iter().for_each(|sample| live.step(*sample));
    live
}

/// A series with gaps: none at first, then a few, then one that is longer than most windows.
fn broken(n: usize, seed: u64) -> Vec<f64> {
    let mut samples = ar1(0.8, n, seed);
    for idx in (n / 3..n / 2).filter(|idx| idx % 7 < 2) {
        samples[idx] = f64::NAN;
    }
    samples[n / 2..n / 2 + 120].fill(f64::NAN);
    samples
}

/// Means, standard errors and ends of intervals, to the bit.
fn bits(live: &Live, n_leads: usize) -> Vec<u64> {
    let Some(forecast) = live.forecast(n_leads) else { return Vec::new() };
    let ends = forecast.intervals(units::Confidence::P95).flat_map(|interval| [interval.lower, interval.upper]);
    let numbers = forecast.means().iter().chain(forecast.standard_errors()).copied().chain(ends);
    numbers.map(f64::to_bits).collect()
}

#[test]
fn last_speaks_from_the_second_sample_until_the_model_does() {
    let samples = ar1(0.8, 700, 1);
    let mut live = Live::new(policy("AR(4)"));
    let mut speaking = Vec::new();
    for sample in &samples {
        live.step(*sample);
        speaking.push((live.speaking().is_some(), live.model().is_some()));
    }
    assert_eq!(speaking[0], (false, false));
    assert!(speaking[1..19].iter().all(|said| *said == (true, false)));
    assert!(speaking[19..].iter().all(|said| *said == (true, true)), "five samples to each coefficient");
    // Its error bar is that of the samples so far, not of the first two.
    let errors = |n: usize| lived("AR(4)", &samples[..n]).forecast(1).unwrap().standard_errors()[0];
    assert_eq!(errors(19), fit(&Spec::Last, &samples[..19]).unwrap().predictor().forecast(1).standard_errors()[0]);
}

#[test]
fn the_model_is_that_of_a_fit_to_the_window_before_it() {
    let samples = ar1(0.8, 700, 2);
    for (n, fitted_to) in [(20, 0..20), (25, 0..20), (30, 0..30), (600, 0..600), (699, 0..600)] {
        let live = lived("AR(4)", &samples[..n]);
        let mut expected = fit(&Spec::ar(4), &samples[fitted_to.clone()]).unwrap().predictor();
        samples[fitted_to.end..n].iter().for_each(|sample| expected.step(*sample));
        assert_eq!(live.forecast(10), Some(expected.forecast(10)), "after {n}");
        assert_eq!(live.fitted_at(), Some(fitted_to.end as u64 - 1));
    }
}

#[test]
fn a_signal_that_falls_asleep_is_forecast_by_last_until_it_wakes_up() {
    let text = "REFIT(AR(2),every=10,window=20)";
    let mut live = lived(text, &ar1(0.8, 30, 3));
    assert!(live.model().is_some());
    (0..40).for_each(|_| live.step(0.5));
    assert!(live.model().is_none() && matches!(live.refused(), Some(FitError::Constant { .. })));
    assert_eq!((live.forecast(3).unwrap().means(), live.n_lost()), (&[0.5; 3][..], 1));
    let n_asleep = ar1(0.8, 10, 4)
        .iter()
        .take_while(|sample| {
            live.step(**sample);
            live.model().is_none()
        })
        .count();
    assert!(n_asleep < 4, "{n_asleep}");
}

#[test]
fn a_gap_as_long_as_the_window_begins_the_series_anew() {
    let samples = ar1(0.8, 130, 5);
    let mut live = lived("REFIT(AR(2),every=10,window=40)", &samples[..100]);
    live.skip(39);
    assert!(live.model().is_some());
    live.skip(1);
    assert!(live.speaking().is_none() && live.number() == 140);
    live.skip(1_000_000_000_000);
    samples[100..].iter().for_each(|sample| live.step(*sample));
    let mut fresh = Live::new(policy("REFIT(AR(2),every=10,window=40)")).numbered_from(live.number() - 30);
    samples[100..].iter().for_each(|sample| fresh.step(*sample));
    assert_eq!(bits(&live, 5), bits(&fresh, 5));
}

#[test]
fn gaps_ahead_of_the_first_sample_are_nothing() {
    let samples = ar1(0.8, 90, 6);
    let mut live = Live::new(policy("AR(4)"));
    live.skip(5);
    assert!(live.samples().is_empty() && live.number() == 5);
    samples.iter().for_each(|sample| live.step(*sample));
    assert_eq!(bits(&live, 5), bits(&lived("AR(4)", &samples), 5));
}

#[test]
fn forecasts_are_cut_to_what_can_be() {
    let mut live = Live::new(policy("LAST")).within(0.0, 1.0);
    [0.4, 0.9, 1.5].iter().for_each(|sample| live.step(*sample));
    assert_eq!(live.forecast(2).unwrap().means(), [1.0, 1.0]);
}

#[test]
fn deferred_fits_leave_the_same_state_as_immediate_ones() {
    let samples = broken(900, 7);
    for text in MODELS {
        let mut here = Live::new(policy(text));
        let mut elsewhere = Live::new(policy(text)).with_deferred_fits();
        for sample in &samples {
            here.step(*sample);
            elsewhere.step(*sample);
            let done = elsewhere.take_task().map(predict::Task::run);
            assert!(elsewhere.take_task().is_none() || done.is_none());
            done.into_iter().for_each(|done| elsewhere.install(done));
            assert_eq!(bits(&here, 40), bits(&elsewhere, 40), "{text}");
        }
        assert!(here.fitted_at() > Some(500), "{text}");
    }
}

#[test]
fn a_fit_that_comes_late_leaves_the_state_of_one_in_time() {
    let samples = ar1(0.8, 300, 8);
    let text = "REFIT(AR(4),every=30,window=100)";
    let mut late = Live::new(policy(text)).with_deferred_fits();
    let mut here = Live::new(policy(text));
    for sample in &samples[..150] {
        late.step(*sample);
        here.step(*sample);
        let done = late.take_task().filter(|_| here.number() < 120).map(predict::Task::run);
        done.into_iter().for_each(|done| late.install(done));
    }
    // The task of number 120 was dropped by nobody's fault but ours; while it is out there is no other.
    assert!(late.take_task().is_none());
    late.cancel_task();
    assert_eq!(late.cancelled().collect::<Vec<_>>(), [119, 149]);
    let mut replayed = Live::new(policy(text)).with_cancelled([119, 149]);
    samples[..150].iter().for_each(|sample| replayed.step(*sample));
    assert_eq!(bits(&late, 10), bits(&replayed, 10));
}

#[test]
fn a_cancelled_fit_is_part_of_the_life_and_replayed_as_such() {
    let samples = ar1(0.8, 400, 9);
    for text in MODELS {
        let mut live = Live::new(policy(text)).with_deferred_fits();
        for (idx, sample) in samples.iter().enumerate() {
            live.step(*sample);
            match live.take_task() {
                Some(_) if idx % 3 == 0 => live.cancel_task(),
                Some(task) => live.install(task.run()),
                None => {}
            }
        }
        let cancelled: Vec<u64> = live.cancelled().collect();
        assert!(!cancelled.is_empty() || text == "LAST", "{text}");
        let mut replayed = Live::new(policy(text)).with_cancelled(cancelled);
        samples.iter().for_each(|sample| replayed.step(*sample));
        assert_eq!(bits(&live, 40), bits(&replayed, 40), "{text}");
    }
}

#[test]
fn what_a_task_of_another_life_came_to_is_left_aside() {
    let samples = ar1(0.8, 20, 10);
    let mut live = Live::new(policy("REFIT(AR(4),every=10,window=40)")).with_deferred_fits();
    samples.iter().for_each(|sample| live.step(*sample));
    let done = live.take_task().unwrap().run();
    live.skip(40);
    live.install(done);
    assert!(live.speaking().is_none());
}

#[test]
fn a_restart_in_the_middle_changes_nothing() {
    let samples = broken(700, 11);
    for text in MODELS {
        let mut whole = Live::new(policy(text)).within(-2.0, 2.0).keeping(300);
        for (idx, sample) in samples.iter().enumerate() {
            whole.step(*sample);
            if idx % 50 == 0 {
                let mut restored = Live::restore(&whole.save()).unwrap();
                assert!(restored.save() == whole.save(), "{text} after {idx}");
                samples[idx + 1..].iter().take(60).for_each(|sample| restored.step(*sample));
                let mut unbroken = whole.clone();
                samples[idx + 1..].iter().take(60).for_each(|sample| unbroken.step(*sample));
                // Bytes, because a gap is not equal to itself.
                assert!(restored.save() == unbroken.save(), "{text} after {idx}");
            }
        }
    }
}

#[test]
fn the_format_is_that_of_its_page() {
    let hex = |line: &str| -> Vec<u8> {
        let words = line[..line.len().min(48)].split_whitespace();
        words.map_while(|word| u8::from_str_radix(word, 16).ok().filter(|_| word.len() == 2)).collect()
    };
    let page = include_str!("../../../../docs/formats/live-state.md");
    let example = page.split("## Example").nth(1).unwrap();
    let expected: Vec<u8> = example.lines().flat_map(hex).collect();
    assert_eq!(Live::new(policy("AR(16)")).save(), expected);
}

#[test]
fn a_fit_under_way_is_due_again_after_a_restart() {
    let mut live = Live::new(policy("AR(4)")).with_deferred_fits();
    ar1(0.8, 20, 12).iter().for_each(|sample| live.step(*sample));
    assert!(live.take_task().is_some());
    assert!(Live::restore(&live.save()).unwrap().take_task().is_some());
}

#[test]
fn bytes_of_something_else_are_refused() {
    let mut saved = lived("AR(4)", &ar1(0.8, 100, 13)).save();
    assert!(matches!(Live::restore(b"FTPS\x03"), Err(RestoreError::NotASeries { n_bytes: 5 })));
    saved[4] = 9;
    let message = Live::restore(&saved).unwrap_err().to_string();
    assert_eq!(message, "saved series of format version 9; this program reads version 8");
}

#[test]
fn a_replay_in_one_go_ends_where_steps_do() {
    let samples = broken(900, 14);
    for text in MODELS {
        for n in [0, 1, 2, 17, 60, 120, 449, 450, 460, 500, 571, 620, 900] {
            let mut replayed = Live::new(policy(text));
            replayed.replay(&samples[..n]);
            let stepped = lived(text, &samples[..n]);
            assert_eq!(bits(&replayed, 40), bits(&stepped, 40), "{text} after {n}");
            assert_eq!((replayed.number(), replayed.fitted_at()), (stepped.number(), stepped.fitted_at()));
        }
    }
}

#[test]
fn whoever_takes_over_goes_on_alike() {
    let samples = broken(1200, 15);
    for text in ["REFIT(AR(4),every=30,window=100)", "LIVE(AR(2),window=50,every=40,offset=7)"] {
        for n in (0..1200).step_by(37) {
            let first = n - policy(text).n_replayed().min(n);
            let mut heir = Live::new(policy(text)).numbered_from(first as u64);
            heir.replay(&samples[first..n]);
            assert_eq!(bits(&heir, 5), bits(&lived(text, &samples[..n]), 5), "{text} after {n}");
        }
    }
}

#[test]
fn a_fleet_says_what_single_series_do() {
    let columns: Vec<Vec<f64>> = (0..5).map(|seed| ar1(0.7, 500, 20 + seed)).collect();
    let mut rows: Vec<Vec<f64>> = (0..500).map(|t| columns.iter().map(|column| column[t]).collect()).collect();
    // One sleeps for a while, one has gaps, and all are silent for longer than a window.
    (150..260).for_each(|t| rows[t][1] = 3.0);
    (40..90).filter(|t| t % 3 == 0).for_each(|t| rows[t][2] = f64::NAN);
    rows[300..360].iter_mut().for_each(|row| row.fill(f64::NAN));
    for text in ["LIVE(AR(2),window=50,every=40,offset=7)", "LIVE(AUTO(every=20,window=100),window=50,every=100)"] {
        let mut fleet = LiveFleet::new(policy(text), 5, 0);
        let mut singles = vec![Live::new(policy(text)); 5];
        for (t, row) in rows.iter().enumerate() {
            fleet.step(row);
            singles.iter_mut().zip(row).for_each(|(single, sample)| single.step(*sample));
            let mut means = vec![0.0; 5 * 7];
            let mut errors = means.clone();
            fleet.forecast_into(7, &mut means, &mut errors);
            for (idx, single) in singles.iter().enumerate() {
                let of = |numbers: &[f64]| numbers[idx * 7..][..7].iter().map(|n| n.to_bits()).collect::<Vec<_>>();
                let expected =
                    single.forecast(7).unwrap_or_else(|| Forecast::new(vec![f64::NAN; 7], vec![f64::NAN; 7]));
                let expected: [Vec<u64>; 2] =
                    [expected.means(), expected.standard_errors()].map(|n| n.iter().map(|n| n.to_bits()).collect());
                assert_eq!([of(&means), of(&errors)], expected, "{text}: series {idx} after {t}");
                assert_eq!(fleet.speaks(idx), single.speaking().is_some());
            }
        }
    }
}

#[test]
fn a_fleet_that_is_taken_over_goes_on_alike() {
    let columns: Vec<Vec<f64>> = (0..3).map(|seed| broken(600, 30 + seed)).collect();
    let rows: Vec<Vec<f64>> = (0..600).map(|t| columns.iter().map(|column| column[t]).collect()).collect();
    let policy = policy("LIVE(AR(2),window=50,every=40,offset=7)");
    let forecasts = |fleet: &mut LiveFleet| {
        let (mut means, mut errors) = (vec![0.0; 15], vec![0.0; 15]);
        fleet.forecast_into(5, &mut means, &mut errors);
        [means, errors].concat().into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let mut first = LiveFleet::new(policy.clone(), 3, 0);
    for (n, row) in rows.iter().enumerate() {
        if n % 7 == 0 {
            let begin = n - policy.n_replayed().min(n);
            let mut heir = LiveFleet::new(policy.clone(), 3, begin as u64);
            rows[begin..n].iter().for_each(|row| heir.replay(row));
            let mut alone = first.clone();
            [&mut heir, &mut alone].into_iter().for_each(|fleet| fleet.step(row));
            assert_eq!(forecasts(&mut heir), forecasts(&mut alone), "after {n}");
        }
        first.step(row);
    }
}

#[test]
fn an_evaluation_scores_what_a_predictor_that_refits_itself_would_say() {
    let samples = ar1(0.8, 900, 16);
    let (before, after) = samples.split_at(430);
    for text in ["AR(4)", "REFIT(AR(4),every=30,window=100)", "REFIT(ARMA(1,1),every=200,window=600)", "AUTO"] {
        let spec: Spec = text.parse().unwrap();
        let mut live = Live::fitted(Policy::fitted_at(&spec, before.len()), before).unwrap();
        let mut predictor = fit(&spec, before).unwrap().predictor();
        let mut backtest = Backtest::new(&[1, 5]);
        let Ok(scores) = backtest.try_run(&mut live, after, before);
        assert_eq!(scores, backtest.run(&mut predictor, after, before), "{text}");
    }
}

#[test]
fn a_fit_that_costs_more_than_it_may_is_refused_with_both_numbers() {
    let mut live = Live::new(policy("LIVE(ARMA(2,2),limit=100000)"));
    ar1(0.8, 100, 17).iter().for_each(|sample| live.step(*sample));
    let refused = live.refused().expect("it is too dear");
    let cost = policy("ARMA(2,2)").model.fit_cost(100);
    assert!(matches!(refused, FitError::TooDear { limit: 100_000, .. }), "{refused}");
    assert!(refused.to_string().contains(&format!("about {cost} operations, but the limit is 100000")), "{refused}");
    assert!(live.speaking().is_some(), "LAST goes on");
}

proptest! {
    #[test]
    fn no_bytes_make_a_series_that_panics(change in (0_usize..2000, any::<u8>()), n in 2_usize..130) {
        let mut saved = lived("REFIT(AR(2),every=7,window=30)", &ar1(0.8, n, 18)).save();
        let place = 5 + change.0 % (saved.len() - 5);
        saved[place] = change.1;
        if let Ok(mut live) = Live::restore(&saved) {
            for sample in ar1(0.8, 50, 19) {
                live.step(sample);
            }
            live.skip(100);
            live.replay(&ar1(0.8, 50, 20));
            let _ = live.forecast(10);
        }
    }
}
