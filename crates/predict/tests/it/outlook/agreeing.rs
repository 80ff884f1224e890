//! One series in steps of two lengths.

use predict::{Outlook, Periods, Resolution, agreeing};

use super::{DAY, Noise, daily, shape};

/// Steps of which one of the coarser resolution takes six.
const RATIO: usize = 6;

/// A series in its own steps, of which only the last `n_fine` are known, and in means over six of them.
fn levels(samples: &[f64], n_fine: usize) -> [Outlook; 2] {
    let n_before = samples.len().saturating_sub(n_fine);
    let fine = Resolution {
        outlook: daily(2 * DAY),
        samples: samples[n_before..].to_vec(),
        n_before: n_before as u64,
        ratio: 1,
    };
    let periods = Periods::new(&[DAY / RATIO, 7 * DAY / RATIO].map(|steps| steps as f64)).unwrap();
    let means = samples.chunks_exact(RATIO).map(|step| step.iter().sum::<f64>() / RATIO as f64).collect();
    let coarse =
        Resolution { outlook: Outlook::new(periods, 2 * DAY / RATIO), samples: means, n_before: 0, ratio: RATIO };
    agreeing(vec![fine, coarse]).try_into().expect("two")
}

/// Medians of leads 1 to `n`.
fn medians(outlook: &Outlook, n: usize) -> Vec<f64> {
    outlook.quantiles(n, 0.5)
}

#[test]
fn forecasts_of_finer_steps_have_the_means_of_longer_ones() {
    let mut noise = Noise(21);
    let mut error = 0.0;
    let mut of = |t: usize| {
        error = 0.9 * error + noise.next();
        shape(t) + error
    };
    let samples: Vec<f64> = (0..DAY * 7 * 4).map(&mut of).collect();
    // The last longer step may be under way.
    for n_known in [0, 1, RATIO - 1] {
        let levels = levels(&samples[..samples.len() - RATIO + n_known], usize::MAX);
        let n_under_way = usize::from(n_known > 0);
        let fine = medians(&levels[0], 2 * DAY);
        let coarse = medians(&levels[1], 2 * DAY / RATIO);
        let fine = fine[n_under_way * RATIO - n_known..].chunks_exact(RATIO);
        let apart = fine
            .zip(&coarse[n_under_way..])
            .map(|(fine, coarse)| (fine.iter().sum::<f64>() / RATIO as f64 - coarse).abs());
        let furthest = apart.fold(0.0, f64::max);
        assert!(furthest < 0.3, "{furthest} apart after {n_known} steps");
    }
}

#[test]
fn longer_steps_hear_where_a_walk_ended() {
    let mut noise = Noise(22);
    let mut position = 0.0;
    let mut walk = |_| {
        position += noise.next();
        position
    };
    let samples: Vec<f64> = (0..DAY * 40).map(&mut walk).collect();
    let (mut alone, mut together, mut n) = (0.0, 0.0, 0.0);
    for end in (DAY * 20..DAY * 39).step_by(5 * RATIO) {
        let levels = levels(&samples[..end], usize::MAX);
        let mut deaf = Outlook::new(Periods::new(&[8.0, 56.0]).unwrap(), 16);
        samples[..end].chunks_exact(RATIO).for_each(|step| deaf.step(step.iter().sum::<f64>() / RATIO as f64));
        let came = samples[end..end + RATIO].iter().sum::<f64>() / RATIO as f64;
        alone += (deaf.quantile(1, 0.5).unwrap() - came).abs();
        together += (levels[1].quantile(1, 0.5).unwrap() - came).abs();
        n += 1.0;
    }
    assert!(together < 0.95 * alone, "{} beside {} alone", together / n, alone / n);
}

#[test]
fn finer_steps_that_know_no_day_follow_longer_ones_that_do() {
    let mut noise = Noise(23);
    let samples: Vec<f64> = (0..DAY * 7 * 6 + DAY / 2).map(|t| shape(t) + 0.3 * noise.next()).collect();
    let levels = levels(&samples, DAY / 2);
    let mut alone = daily(2 * DAY);
    samples[samples.len() - DAY / 2..].iter().for_each(|sample| alone.step(*sample));
    let away = |outlook: &Outlook| {
        let said = medians(outlook, DAY).into_iter().zip(samples.len()..);
        said.map(|(said, t)| (said - shape(t)).abs()).sum::<f64>() / DAY as f64
    };
    let (alone, together) = (away(&alone), away(&levels[0]));
    assert!(together < 0.6 * alone, "{together} beside {alone} alone");
}

#[test]
fn finer_steps_that_ended_long_ago_say_nothing() {
    let samples: Vec<f64> = (0..DAY * 7 * 4).map(shape).collect();
    let mut deaf = Outlook::new(Periods::new(&[8.0, 56.0]).unwrap(), 16);
    let means: Vec<f64> = samples.chunks_exact(RATIO).map(|step| step.iter().sum::<f64>() / RATIO as f64).collect();
    means.iter().for_each(|mean| deaf.step(*mean));
    for fine in [Vec::new(), vec![1.0; 3]] {
        let periods = Periods::new(&[8.0, 56.0]).unwrap();
        let coarse =
            Resolution { outlook: Outlook::new(periods, 16), samples: means.clone(), n_before: 0, ratio: RATIO };
        let fine = Resolution { outlook: daily(2 * DAY), samples: fine, n_before: 0, ratio: 1 };
        let levels = agreeing(vec![fine, coarse]);
        assert_eq!(medians(&levels[1], 16), medians(&deaf, 16));
    }
}
