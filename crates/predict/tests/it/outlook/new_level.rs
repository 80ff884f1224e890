//! Series that go where they have never been.

use predict::{Outlook, Periods, Scale};

use super::{DAY, Noise, daily, shape};

#[test]
fn a_new_level_is_believed_until_one_was_left_again() {
    // Two weeks, a level 30 higher for three days, the old one for five, and the higher one again.
    let at = [14, 17, 22].map(|day| day * DAY);
    let level = |t| if (at[0]..at[1]).contains(&t) || t >= at[2] { 30.0 } else { 0.0 };
    let (mut outlook, mut noise) = (daily(DAY), Noise(21));
    let mut away = Vec::new();
    for t in 0..at[2] + DAY / 3 {
        outlook.step(shape(t) + level(t) + noise.next());
        if at.iter().any(|at| t + 1 == at + DAY / 3) {
            // What was there a day before that was on the level before.
            let lead = DAY / 2;
            away.push(outlook.quantile(lead, 0.5).unwrap() - shape(t + lead) - level(t));
        }
    }
    assert!(away[..2].iter().all(|away| away.abs() < 5.0) && away[2] < -20.0, "{away:?}");
}

#[test]
fn where_a_series_has_never_been_it_may_stay() {
    let (mut outlook, mut noise) = (daily(DAY), Noise(22));
    (0..14 * DAY).for_each(|_| outlook.step(noise.next()));
    let reaches = |outlook: &Outlook| outlook.quantile(DAY / 2, 0.95).unwrap();
    assert!(reaches(&outlook) < 3.0);
    (0..6).for_each(|_| outlook.step(40.0 + noise.next()));
    assert!((38.0..80.0).contains(&reaches(&outlook)), "{}", reaches(&outlook));
    let paths = outlook.paths(1000, DAY, 1);
    let n = (0..1000).filter(|path| (1..=DAY).any(|lead| lead > 4 && paths.at(lead)[*path] > 30.0)).count();
    assert!((500..980).contains(&n), "{n}");
    assert!(outlook.quantile(DAY / 2, 0.05).unwrap() > -5.0, "nothing leads down");
}

#[test]
fn a_level_that_was_half_left_says_nothing_against_the_next() {
    // Two weeks, 30 higher for half a day, of that 13 left for three days, and 25 more than that.
    let at = [28 * DAY / 2, 29 * DAY / 2, 35 * DAY / 2];
    let level = |t: usize| [0.0, 30.0, 13.0, 38.0][at.partition_point(|at| *at <= t)];
    let (mut outlook, mut noise) = (daily(DAY), Noise(21));
    for t in 0..at[2] + DAY / 3 {
        outlook.step(shape(t) + level(t) + noise.next());
    }
    let came = shape(at[2] + DAY / 3 - 1 + DAY / 2) + 38.0;
    let away = outlook.quantile(DAY / 2, 0.5).unwrap() - came;
    assert!(away.abs() < 5.0, "{away}");
}

#[test]
fn a_young_series_with_a_burst_does_not_reach_to_millions_of_it() {
    let (mut outlook, mut noise) = (Outlook::new(Periods::NONE, 900).within(0.0, f64::INFINITY), Noise(23));
    let mut value = 1e4;
    for t in 0..121 {
        value *= (0.05 * noise.next()).exp();
        outlook.step(if (100..110).contains(&t) { 100.0 * value } else { value });
    }
    assert_eq!(outlook.scale(), Scale::Log);
    let [near, far] = [60, 300].map(|lead| outlook.quantile(lead, 0.975).unwrap() / value);
    assert!((2.0..1e3).contains(&near) && (2.0..1e5).contains(&far), "{near} {far}");
    let most = outlook.paths(1000, 60, 1).at(60).iter().copied().fold(0.0, f64::max) / value;
    assert!(most < 1e4, "{most}");
}

/// The mean of the last day follows a new level, by 0.4 a step here, which is more than such a disk ever moves by itself.
#[test]
fn a_disk_that_stands_still_between_nightly_jobs_is_at_a_new_level_within_three_hours() {
    const JOB: std::ops::Range<usize> = 60..84;
    let free = |t: usize, shift: usize| {
        500.0 - if t >= shift { 120.0 } else { 0.0 } - if JOB.contains(&(t % 288)) { 300.0 } else { 0.0 }
    };
    for shift in [14 * 288 - 20, 14 * 288 + 100] {
        let (mut outlook, mut noise) = (Outlook::new(Periods::new(&[288.0, 2016.0]).unwrap(), 72), Noise(1));
        let now = shift + 36;
        (0..now).for_each(|t| outlook.step(free(t, shift) + 0.02 * noise.next()));
        for lead in [1, 12, 36, 72] {
            let (median, right) = (outlook.quantile(lead, 0.5).unwrap(), free(now - 1 + lead, shift));
            assert!((median - right).abs() < 2.0, "{shift}, lead {lead}: {median} for {right}");
        }
    }
}
