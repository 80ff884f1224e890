//! What can be known of a made series, its answers must find.

use predict::{Cancel, Outlook, Periods};
use warn::{Alarm, Comparison, Expression, Foresight, History, Question, Subject, ask, trial};

/// Normal by the sum of twelve uniform numbers.
fn noise(n: usize) -> Vec<f64> {
    let mut state = 5_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..n).map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0).collect()
}

fn history(samples: &[f64], periods: &[f64], n_leads: usize) -> History<'static> {
    history_of("x", vec![samples.to_vec()], periods, n_leads)
}

fn history_of(expression: &str, samples: Vec<Vec<f64>>, periods: &[f64], n_leads: usize) -> History<'static> {
    let expression: Expression = expression.parse().unwrap();
    let outlook = Outlook::new(Periods::new(periods).unwrap(), n_leads);
    let outlooks = vec![outlook; expression.signals().len()];
    History { samples: samples.leak(), foresight: Foresight::new(expression, outlooks) }
}

fn above(line: f64, n_leads: usize) -> Question {
    Question { subject: Subject::Any, comparison: Comparison::Above, line, n_leads, n_sustained: 1 }
}

#[test]
fn the_hour_of_the_peak_is_told() {
    const DAY: usize = 96;
    let noise = noise(DAY * 30 + 40);
    let shape = |t: usize| 10.0 + 8.0 * (std::f64::consts::TAU * t as f64 / DAY as f64).sin();
    let samples: Vec<f64> = noise.iter().enumerate().map(|(t, noise)| shape(t) + 0.3 * noise).collect();
    // At phase 40 the sine falls; it passes 16 again at phase 13 of the next day, 69 steps later.
    let answer = ask(history(&samples, &[DAY as f64], DAY), &above(16.0, DAY), 1).unwrap();
    assert!(answer.chance.probability > 0.99, "{}", answer.chance.probability);
    let median = answer.chance.leads[1].unwrap();
    assert!((66..=71).contains(&median), "{median}");
    let soon = ask(history(&samples, &[DAY as f64], 40), &above(16.0, 40), 1).unwrap();
    assert!(soon.chance.probability < 0.02, "{}", soon.chance.probability);
}

#[test]
fn probabilities_of_a_walk_are_what_they_are_and_come_true_as_often() {
    let mut at = 0.0;
    let samples: Vec<f64> = noise(12_000)
        .into_iter()
        .map(|step| {
            // Drawn back a little, so that the question stays one.
            at += step - 0.01 * at;
            at
        })
        .collect();
    let answer = ask(history(&samples, &[], 32), &above(10.0, 32), 1).unwrap();
    let record = &answer.record;
    assert!(record.tells(), "{} of {}", record.n_true(), record.n());
    assert!(record.brier() < 0.75 * record.brier_of_base_rate(), "{} {}", record.brier(), record.brier_of_base_rate());
    let n: usize = record.bins().iter().map(|bin| bin.n).sum();
    let stated: f64 = record.bins().iter().map(|bin| bin.stated * bin.n as f64).sum::<f64>() / n as f64;
    // Two standard deviations of a share of 200 of which neighbours overlap.
    assert!((stated - record.n_true() as f64 / n as f64).abs() < 0.1, "{stated} {}", record.n_true());
    assert_eq!(Some(answer), ask(history(&samples, &[], 32), &above(10.0, 32), 1));
}

#[test]
fn too_few_samples_have_no_answer() {
    assert_eq!(ask(history(&[1.0, 2.0], &[], 4), &above(1.0, 4), 1), None);
    assert_eq!(ask(history(&[f64::NAN; 50], &[], 4), &above(1.0, 4), 1), None);
    assert_eq!(trial(history(&[1.0, 2.0], &[], 4), &above(1.0, 4), Alarm::new(0.8, 0.5), 0, 1, &Cancel::new()), None);
}

#[test]
fn a_daily_peak_is_warned_of_each_day_and_in_time() {
    const DAY: usize = 96;
    let noise = noise(DAY * 30);
    let shape = |t: usize| 10.0 + 8.0 * (std::f64::consts::TAU * t as f64 / DAY as f64).sin();
    let samples: Vec<f64> = noise.iter().enumerate().map(|(t, noise)| shape(t) + 0.2 * noise).collect();
    // Eight steps ahead: from a level of 12 that has passed before, nobody could tell without the day.
    let told =
        trial(history(&samples, &[DAY as f64], 8), &above(16.5, 8), Alarm::new(0.8, 0.2), DAY * 20, 1, &Cancel::new());
    let told = told.unwrap();
    assert_eq!(told.n_steps, DAY * 10);
    assert!(told.n_events >= 10, "{told:?}");
    // From 0.8 on a fifth of them may come a step too late.
    assert!((9..=12).contains(&told.n_warned) && 10 * told.n_right >= 7 * told.n_warned, "{told:?}");
    let in_time = told.leads.iter().filter(|lead| (4..=9).contains(*lead)).count();
    assert!(in_time >= 8, "{told:?}");
}

#[test]
fn signals_that_wander_together_keep_their_difference() {
    let noise = noise(12_000);
    let (mut shared, mut own) = (0.0, 0.0);
    let (mut used, mut size) = (Vec::new(), Vec::new());
    for pair in noise.chunks(2) {
        shared += pair[0] - 0.01 * shared;
        own += 0.2 * pair[1] - 0.05 * own;
        used.push(shared + own);
        size.push(shared);
    }
    let ask = |expression: &str, line: f64| {
        let answer = ask(history_of(expression, vec![used.clone(), size.clone()], &[], 32), &above(line, 32), 1);
        answer.unwrap()
    };
    // Apart, both wander by about 5 within 32 steps; their difference is 0.6 on average, and the answers know it.
    let difference = ask("used - size", 1.2);
    let rate = difference.record.n_true() as f64 / difference.record.n() as f64;
    let record = &difference.record;
    let n: usize = record.bins().iter().map(|bin| bin.n).sum();
    let stated: f64 = record.bins().iter().map(|bin| bin.stated * bin.n as f64).sum::<f64>() / n as f64;
    // Correlations are held to none until they are known, which makes it a little too probable; drawn apart, it would
    // be nearly certain.
    assert!((0.02..0.4).contains(&rate) && (stated - rate).abs() < 0.12, "{stated} {rate}");
}
