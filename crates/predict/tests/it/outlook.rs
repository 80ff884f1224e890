//! Hours and days ahead, from first principles: what is known of a made series, its forecast must find.

use std::time::Duration;

use predict::{Joint, Outlook, Paths, Periods, PeriodsError, Scale};
use units::Confidence;

use crate::testdata::{NAB, samples};

mod agreeing;
mod calendar;
mod leak;
mod new_level;
mod spike;

/// Normal by the sum of twelve uniform numbers, which is good to three standard deviations.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

const DAY: usize = 48;

fn daily(n_leads: usize) -> Outlook {
    Outlook::new(Periods::new(&[DAY as f64, 7.0 * DAY as f64]).unwrap(), n_leads)
}

/// A day's shape, which weekends have not.
fn shape(t: usize) -> f64 {
    let is_weekend = t / DAY % 7 >= 5;
    if is_weekend { 10.0 } else { 10.0 + 8.0 * (std::f64::consts::TAU * t as f64 / DAY as f64).sin() }
}

#[test]
fn a_day_s_and_a_week_s_shape_are_found() {
    let (mut outlook, mut noise) = (daily(2 * DAY), Noise(1));
    let (mut ours, mut naive, mut n) = (0.0, 0.0, 0.0);
    let samples: Vec<f64> = (0..DAY * 7 * 8).map(|t| shape(t) + noise.next()).collect();
    for (t, sample) in samples.iter().enumerate() {
        outlook.step(*sample);
        if t > DAY * 7 * 5 && t % 17 == 0 && t + DAY < samples.len() {
            let lead = DAY - 5;
            ours += (outlook.quantile(lead, 0.5).unwrap() - shape(t + lead)).abs();
            naive += (samples[t + lead - DAY] - shape(t + lead)).abs();
            n += 1.0;
        }
    }
    // The last day's value has the noise of one sample and is wrong about the first and last day of each week; a
    // profile of five weeks knows both.
    assert!(ours / n < 0.75, "{}", ours / n);
    assert!(ours < 0.5 * naive, "{} is not half of {}", ours / n, naive / n);
    assert!(outlook.season_weight().is_some_and(|season| season > 0.7), "{:?}", outlook.season_weight());
    assert_eq!(outlook.n_leads_seen(), 2 * DAY);
}

#[test]
fn where_a_series_begins_does_not_matter() {
    // A job of an hour at the same time each day; what is known of the noise a day ahead is nothing.
    let job = |t: usize| if t % DAY < 2 { 60.0 } else { 0.0 };
    let away_from = |begin: usize| {
        let (mut outlook, mut noise) = (daily(DAY), Noise(5));
        let mut away = Vec::new();
        for t in 0..28 * DAY {
            let sample = job(t) + noise.next();
            if t >= begin {
                outlook.step(sample);
            }
            if t >= 14 * DAY {
                away.push((outlook.quantile(DAY, 0.5).unwrap() - job(t)).abs());
            }
        }
        away.iter().sum::<f64>() / away.len() as f64
    };
    let (in_job, before) = (away_from(0), away_from(DAY / 2));
    assert!(in_job < 1.5 * before, "{in_job} {before}");
}

#[test]
fn a_random_walk_stays_where_it_is() {
    let (mut outlook, mut noise) = (daily(DAY), Noise(2));
    let mut at = 100.0;
    let mut away = 0.0;
    for t in 0..DAY * 20 {
        at += noise.next();
        outlook.step(at);
        if t >= DAY * 15 {
            away += (outlook.quantile(8, 0.5).unwrap() - at).abs() / (DAY * 5) as f64;
        }
    }
    // What comes within 8 steps is sqrt(8) away from the best forecast, the last value, in the root mean square.
    assert!(away < 0.3 * 8.0_f64.sqrt(), "{away}");
}

/// An outlook of `n` samples with noise, of which a day is given.
fn after(n: usize, seed: u64, sample: impl Fn(usize) -> f64) -> Outlook {
    let (mut outlook, mut noise) = (daily(DAY), Noise(seed));
    (0..n).for_each(|t| outlook.step(sample(t) + noise.next()));
    outlook
}

#[track_caller]
fn check_found(outlook: &Outlook, periods: &[f64]) {
    let found: Vec<f64> = outlook.found().iter().map(|season| season.period).collect();
    assert_eq!(found.len(), periods.len(), "{:?}", outlook.found());
    // A bin of the periodogram of some thousand samples, of periods up to a day.
    assert!(found.iter().zip(periods).all(|(found, period)| (found - period).abs() < 0.1), "{:?}", outlook.found());
}

#[test]
fn seasons_that_nobody_named_are_found_the_clearer_first() {
    let wave = |t: usize, period: f64| (std::f64::consts::TAU * t as f64 / period).sin();
    let both = after(4000, 11, |t| 10.0 + 4.0 * wave(t, 19.3) + 2.0 * wave(t, 12.0));
    check_found(&both, &[19.3, 12.0]);
    // Of 8 + 2 + 1.
    let shares: Vec<f64> = both.found().iter().map(|season| season.share).collect();
    assert!((shares[0] - 0.73).abs() < 0.05 && (shares[1] - 0.18).abs() < 0.05, "{shares:?}");
    check_found(&after(4000, 12, |t| if t % 31 == 3 { 12.0 } else { 0.0 }), &[31.0]);
    let mut none_given = Outlook::new(Periods::NONE, DAY);
    let mut noise = Noise(13);
    (0..2048).for_each(|t| none_given.step(10.0 + 3.0 * wave(t, 48.0) + noise.next()));
    check_found(&none_given, &[48.0]);
    let ahead = none_given.quantile(36, 0.5).unwrap();
    let came = 10.0 + 3.0 * wave(2048 + 35, 48.0);
    assert!((ahead - came).abs() < 1.0, "{ahead} is not {came}");
}

#[test]
fn a_season_that_is_gone_is_forgotten() {
    let outlook = |n| after(n, 14, |t| if t < 1024 { 6.0 * f64::from(u8::from(t % 11 < 4)) } else { 0.0 });
    check_found(&outlook(1024), &[11.0]);
    check_found(&outlook(8192), &[]);
}

#[test]
fn what_has_no_season_is_forecast_as_without_looking_for_one() {
    let walk = |phi: f64, seed: u64| {
        let (mut noise, mut at) = (Noise(seed), 0.0);
        let next = move || {
            at = phi * at + noise.next();
            at
        };
        std::iter::repeat_with(next).take(4200).collect::<Vec<f64>>()
    };
    let shaped: Vec<f64> = walk(0.8, 5).iter().zip(0..).map(|(noise, t)| 3.0 * shape(t) + noise).collect();
    for samples in [walk(0.0, 1), walk(0.95, 2), walk(1.0, 3), shaped] {
        let (mut looking, mut given) = (daily(DAY), daily(DAY).only_given());
        for sample in samples {
            looking.step(sample);
            given.step(sample);
        }
        check_found(&looking, &[]);
        assert_eq!(looking.quantiles(DAY, 0.9), given.quantiles(DAY, 0.9));
    }
}

#[test]
fn a_bounded_quantity_is_on_the_scale_on_which_it_varies_evenly() {
    let walk = |seed: u64| {
        let (mut noise, mut at) = (Noise(seed), 0.0);
        std::iter::repeat_with(move || {
            at = 0.9 * at + 0.3 * noise.next();
            at
        })
    };
    let outlook = |range: (f64, f64), seed: u64, value: fn(f64, usize) -> f64| {
        let mut outlook = daily(DAY).within(range.0, range.1);
        walk(seed).zip(0..2000).for_each(|(walk, t)| outlook.step(value(walk, t)));
        outlook
    };
    let requests = |walk: f64, t: usize| if t % 9 == 4 { f64::NAN } else { (0.2 * shape(t) + walk).exp() };
    let share = |walk: f64, t: usize| 1.0 / (1.0 + (6.0 - 0.4 * shape(t) - walk).exp());
    let scale = |outlook: Outlook| outlook.scale();
    assert_eq!(scale(outlook((0.0, f64::INFINITY), 31, requests)), Scale::Log);
    assert_eq!(scale(outlook((0.0, 1.0), 32, share)), Scale::Logit);
    assert_eq!(scale(outlook((0.0, 100.0), 33, |walk, t| 30.0 + shape(t) + walk)), Scale::Linear);
    assert_eq!(scale(outlook((f64::NEG_INFINITY, f64::INFINITY), 31, requests)), Scale::Linear, "without a bound");
    // The spread above the median and below it, as on the logarithm's scale.
    let outlook = outlook((0.0, f64::INFINITY), 31, requests);
    let [low, median, high] = [0.1, 0.5, 0.9].map(|share| outlook.quantile(12, share).unwrap());
    assert!(((high / median).ln() + (low / median).ln()).abs() < 0.3, "{low} {median} {high}");
    assert!(high - median > 1.5 * (median - low), "{low} {median} {high}");
}

#[test]
fn a_queue_that_is_mostly_empty_does_not_reach_to_millions() {
    let (mut outlook, mut noise) = (daily(DAY).within(0.0, f64::INFINITY), Noise(34));
    let (mut is_busy, mut longest) = (false, 0.0_f64);
    for _ in 0..DAY * 28 {
        // Of a hundred steps it begins to fill in four, and empties in ten.
        is_busy = if is_busy { noise.next() < 1.28 } else { noise.next() > 1.75 };
        let length = if is_busy { 20.0 * noise.next().exp() } else { 0.0 };
        longest = longest.max(length);
        outlook.step(length);
        let high = outlook.quantiles(DAY, 0.975).into_iter().fold(0.0, f64::max);
        assert!(high < 4.0 * longest.max(20.0), "{high} after at most {longest}");
    }
}

#[test]
fn intervals_hold_as_many_samples_as_they_say() {
    let (mut outlook, mut noise) = (Outlook::new(Periods::NONE, 64), Noise(3));
    let mut state = 0.0;
    let leads = [1, 5, 24, 64];
    let mut held = [[0.0; 2]; 4];
    let mut said: Vec<Vec<(f64, f64, f64, f64)>> = Vec::new();
    let n = 30_000;
    for t in 0..n {
        state = 0.9 * state + noise.next();
        // Skewed, as loads are.
        let sample = (0.3 * state).exp();
        for (idx, lead) in leads.into_iter().enumerate() {
            if t >= n / 3 {
                let (l80, u80, l95, u95) = said[t - lead][idx];
                held[idx][0] += f64::from(u8::from((l80..=u80).contains(&sample)));
                held[idx][1] += f64::from(u8::from((l95..=u95).contains(&sample)));
            }
        }
        outlook.step(sample);
        let ends = |lead: usize| {
            let of = |at| outlook.quantile(lead, at).unwrap_or(0.0);
            (of(0.1), of(0.9), of(0.025), of(0.975))
        };
        said.push(leads.map(ends).to_vec());
    }
    for (lead, held) in leads.into_iter().zip(held) {
        let [of_80, of_95] = held.map(|n_held| n_held / (n - n / 3) as f64);
        assert!((of_80 - 0.8).abs() < 0.03, "lead {lead}: {of_80}");
        assert!((of_95 - 0.95).abs() < 0.02, "lead {lead}: {of_95}");
    }
}

#[test]
fn paths_of_counts_are_whole_numbers_as_often_as_samples_were() {
    let mut noise = Noise(5);
    // One in ten or so has one.
    let samples: Vec<f64> = (0..3000).map(|_| f64::from(noise.next() > 1.3)).collect();
    let mut outlook = daily(4).within(0.0, f64::INFINITY);
    samples.iter().for_each(|sample| outlook.step(*sample));
    let paths = outlook.paths(2000, 4, 1);
    let share = samples.iter().sum::<f64>() / samples.len() as f64;
    for lead in 1..=4 {
        let of_some = paths.at(lead).iter().filter(|value| **value > 0.0).count() as f64 / 2000.0;
        assert!((of_some - share).abs() < 0.03, "{of_some} at lead {lead}, and {share} of the samples");
        assert!(paths.at(lead).iter().all(|value| value.fract() == 0.0));
    }
}

#[test]
fn paths_reach_what_a_random_walk_reaches() {
    let (mut outlook, mut noise) = (Outlook::new(Periods::NONE, 64), Noise(4));
    let mut at = 0.0;
    for _ in 0..8000 {
        at += noise.next();
        outlook.step(at);
    }
    let (n_paths, n_leads) = (4000, 64);
    let paths = outlook.paths(n_paths, n_leads, 7);
    let line = outlook.quantile(n_leads, 0.84).unwrap();
    let ever = (0..n_paths).filter(|path| (1..=n_leads).any(|lead| paths.at(lead)[*path] > line)).count();
    let at_end = paths.at(n_leads).iter().filter(|value| **value > line).count();
    let [ever, at_end] = [ever, at_end].map(|n| n as f64 / n_paths as f64);
    // By the reflection principle twice as probable as being beyond it at the end, less what a drift and whole steps
    // take away. Errors that had nothing to do with each other would make it nearly certain.
    assert!((at_end - 0.16).abs() < 0.02, "{at_end}");
    assert!((1.35..2.0).contains(&(ever / at_end)), "{ever} is not twice {at_end}");
    assert_eq!(paths, outlook.paths(n_paths, n_leads, 7));
    assert_ne!(paths, outlook.paths(n_paths, n_leads, 8));
}

#[test]
fn noise_of_each_sample_reaches_further_than_a_lasting_error() {
    let (mut outlook, mut noise) = (Outlook::new(Periods::NONE, 64), Noise(9));
    (0..4000).for_each(|_| outlook.step(noise.next()));
    let paths = outlook.paths(4000, 64, 7);
    let line = outlook.quantile(48, 0.95).unwrap();
    let ever = (0..4000).filter(|path| (33..=64).any(|lead| paths.at(lead)[*path] > line)).count() as f64 / 4000.0;
    // 1 - 0.95^32 is 0.81; with errors that last it would be little more than 0.05.
    assert!((ever - 0.81).abs() < 0.15, "{ever}");
}

#[test]
fn paths_are_distributed_as_the_quantiles_say() {
    let (mut outlook, mut noise) = (daily(DAY), Noise(5));
    (0..DAY * 21).for_each(|t| outlook.step(shape(t) + noise.next().powi(2)));
    let paths = outlook.paths(4000, DAY, 1);
    for lead in [1, 3, 10, 47] {
        for probability in [0.05, 0.25, 0.5, 0.9] {
            let end = outlook.quantile(lead, probability).unwrap();
            let below = paths.at(lead).iter().filter(|value| **value <= end).count() as f64 / 4000.0;
            // Three standard deviations of a share of 4,000.
            assert!((below - probability).abs() < 0.024, "lead {lead}: {below} is not {probability}");
        }
    }
}

#[test]
fn nothing_leaves_the_range() {
    let mut noise = Noise(6);
    let mut outlook = Outlook::new(Periods::NONE, 32).within(0.0, 1.0);
    (0..500).for_each(|_| outlook.step((0.02 + 0.05 * noise.next()).clamp(0.0, 1.0)));
    assert!(outlook.paths(500, 40, 1).at(40).iter().all(|value| (0.0..=1.0).contains(value)));
    let forecast = outlook.forecast(40, Confidence::P95);
    assert!(forecast.iter().all(|(median, ends)| 0.0 <= ends.lower && ends.lower <= *median && *median <= ends.upper));
}

#[test]
fn what_was_never_seen_is_less_certain_than_what_was() {
    for samples in [&[2.6, 2.1, 1.0, 0.5][..], &[0.5, 0.3, 0.2, 0.13, 0.08, 0.10], &[3.0, 3.0, 3.0, 3.0, 0.1, 0.1, 0.2]]
    {
        let mut outlook = daily(288);
        samples.iter().for_each(|sample| outlook.step(*sample));
        let widths = [0.1, 0.9].map(|probability| outlook.quantiles(288, probability));
        let width = |lead: usize| widths[1][lead - 1] - widths[0][lead - 1];
        assert!(width(1) > 0.0 && width(12) > width(1) && width(288) > 2.0 * width(12), "{samples:?}");
        let mut last = outlook.paths(1000, 288, 1).at(288).to_vec();
        last.sort_unstable_by(f64::total_cmp);
        assert!(last[900] - last[100] > 0.5 * width(288), "{samples:?}: paths spread as quantiles do");
    }
}

#[test]
fn a_constant_stays_and_says_so() {
    let mut outlook = daily(DAY);
    (0..DAY * 3).for_each(|_| outlook.step(5.0));
    assert!(
        outlook
            .forecast(DAY, Confidence::P95)
            .iter()
            .all(|(median, ends)| { (*median, ends.lower, ends.upper) == (5.0, 5.0, 5.0) })
    );
}

#[test]
fn gaps_and_infinities_are_left_out() {
    let (mut outlook, mut noise) = (daily(DAY), Noise(8));
    assert_eq!(outlook.quantile(1, 0.5), None);
    assert!(outlook.forecast(3, Confidence::P95).is_empty());
    for t in 0..DAY * 21 {
        let sample = shape(t) + 0.1 * noise.next();
        outlook.step(if t % 5 == 0 {
            f64::NAN
        } else if t % 97 == 0 {
            f64::INFINITY
        } else {
            sample
        });
    }
    (0..DAY * 2).for_each(|_| outlook.step(f64::NAN));
    let at = DAY * 23 + 12 - 1;
    let said = outlook.quantile(12, 0.5).unwrap();
    assert!((said - shape(at)).abs() < 2.5, "{said} is not {}", shape(at));
}

#[test]
fn the_largest_samples_have_forecasts_that_are_numbers() {
    let largest = |t: usize| f64::MAX * if (t / 3).is_multiple_of(2) { 1.0 } else { -1.0 };
    let grown = |t: usize| f64::MAX * t as f64 / (DAY * 16) as f64;
    for of in [&largest as &dyn Fn(usize) -> f64, &grown] {
        let mut outlook = daily(DAY);
        (0..DAY * 16).for_each(|t| outlook.step(of(t)));
        let quantiles = outlook.quantiles(DAY, 0.9);
        assert!(quantiles.iter().all(|value| value.is_finite()), "{quantiles:?}");
    }
}

#[test]
fn of_a_season_that_does_not_come_half_again_nothing_is_known() {
    let periods = Periods::new(&[48.0, 336.0]).unwrap();
    let known = [504, 503, 72, 71].map(|n| periods.known_in(n).steps().collect::<Vec<_>>());
    assert_eq!(known, [vec![48.0, 336.0], vec![48.0], vec![48.0], vec![]]);
}

#[test]
fn periods_are_refused_with_what_would_be_right() {
    let message = |steps: &[f64]| Periods::new(steps).unwrap_err().to_string();
    assert!(message(&[3.0]).contains("from 4 to 1,000,000"));
    assert!(message(&[f64::NAN]).contains("NaN"));
    assert!(message(&[24.0, 30.0]).contains("at least twice"));
    assert_eq!(Periods::new(&[4.0, 8.0, 16.0]), Err(PeriodsError::TooMany { given: 3 }));
    assert_eq!(Periods::day_and_week(Duration::from_secs(300)), Periods::new(&[288.0, 2016.0]).unwrap());
    assert_eq!(Periods::day_and_week(Duration::from_secs(86_400)), Periods::new(&[7.0]).unwrap());
}

#[test]
fn paths_of_recorded_traces_are_numbers() {
    for trace in NAB {
        let mut outlook = Outlook::new(Periods::new(&[288.0, 2016.0]).unwrap(), 36);
        for (t, sample) in samples(&format!("nab/{trace}.csv"))[..2400].iter().enumerate() {
            outlook.step(*sample);
            if t > 100 && t % 100 == 0 {
                let paths = outlook.paths(50, 36, 1);
                let all_are = |lead: usize| paths.at(lead).iter().all(|value| value.is_finite());
                assert!((1..=36).all(all_are), "{trace}, step {t}");
            }
        }
    }
}

/// The 5th and 95th percentile of what is computed of joint futures `lead` steps ahead.
fn spread(joint: &Joint, lead: usize, value: impl Fn(&[f64]) -> f64) -> f64 {
    let mut values = Paths::combined(&joint.paths(2000, lead, 3), value).at(lead).to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values[1900] - values[100]
}

#[test]
fn series_that_move_together_are_drawn_together() {
    let mut noise = Noise(31);
    let mut joint = Joint::new(vec![Outlook::new(Periods::NONE, 32); 3]);
    let (mut shared, mut own, mut apart) = (0.0, 0.0, 0.0);
    for _ in 0..6000 {
        shared = 0.9 * shared + noise.next();
        own = 0.9 * own + 0.3 * noise.next();
        apart = 0.9 * apart + noise.next();
        joint.step(&[shared + own, shared - own, apart]);
    }
    for lead in [1, 8, 32] {
        let alone = spread(&joint, lead, |of| of[0]);
        let difference = spread(&joint, lead, |of| of[0] - of[1]);
        let sum = spread(&joint, lead, |of| of[0] + of[1]);
        let with_another = spread(&joint, lead, |of| of[0] + of[2]);
        // Variances of 1.09 each: 4 of the sum, 0.36 of the difference, 2.09 with a series that has nothing to do with
        // it.
        assert!((difference / alone - (0.36 / 1.09_f64).sqrt()).abs() < 0.12, "lead {lead}: {difference} of {alone}");
        assert!((sum / alone - (4.0 / 1.09_f64).sqrt()).abs() < 0.15, "lead {lead}: {sum} of {alone}");
        assert!(
            (with_another / alone - (2.09 / 1.09_f64).sqrt()).abs() < 0.2,
            "lead {lead}: {with_another} of {alone}"
        );
    }
    assert_eq!(joint.paths(50, 4, 1), joint.paths(50, 4, 1));
}

#[test]
fn a_series_alone_is_drawn_as_without_others() {
    let (mut joint, mut outlook, mut noise) = (Joint::new(vec![daily(8)]), daily(8), Noise(32));
    for _ in 0..500 {
        let sample = noise.next();
        joint.step(&[sample]);
        outlook.step(sample);
    }
    assert_eq!(joint.paths(100, 8, 1), [outlook.paths(100, 8, 1)]);
}
