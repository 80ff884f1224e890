//! Autoregressive coefficients by Burg's method: each reflection coefficient minimizes the forward and backward errors.

/// A stretch of samples without a gap, with its errors at the order reached.
struct Segment {
    forward: Vec<f64>,
    backward: Vec<f64>,
}

/// `power` is the mean square of the known deviations. With gaps the sums run over the stretches between
/// them (segment Burg, de Waele and Broersen 2000); a stretch no longer than the order reached has nothing left to say.
///
/// The innovation variance is Burg's: the power times (1 - reflection^2) of each order, as in R's `ar.burg`.
/// statsmodels reports the mean square of the last errors instead, which is a few percent away.
pub(super) fn estimate(deviations: &[f64], power: f64, order: usize) -> (Vec<f64>, f64) {
    recurse(deviations, power, order).0
}

/// The estimates, and the errors that are left.
fn recurse(deviations: &[f64], power: f64, order: usize) -> ((Vec<f64>, f64), Vec<Segment>) {
    let stretches = deviations.split(|deviation| deviation.is_nan()).filter(|stretch| !stretch.is_empty());
    let mut segments: Vec<Segment> =
        stretches.map(|stretch| Segment { forward: stretch.to_vec(), backward: stretch.to_vec() }).collect();
    let mut coefficients: Vec<f64> = Vec::with_capacity(order);
    let mut variance = power;
    for k in 0..order {
        let Some(reflection) = reflection(&segments, k, power) else {
            break;
        };
        let reversed: Vec<f64> = coefficients.iter().rev().copied().collect();
        coefficients.iter_mut().zip(reversed).for_each(|(coefficient, mirror)| *coefficient -= reflection * mirror);
        coefficients.push(reflection);
        variance *= 1.0 - reflection * reflection;
        segments.iter_mut().for_each(|segment| segment.advance(k, reflection));
    }
    coefficients.resize(order, 0.0);
    ((coefficients, variance.max(0.0)), segments)
}

/// `None` when no stretch is long enough, or the errors have vanished to rounding.
fn reflection(segments: &[Segment], k: usize, power: f64) -> Option<f64> {
    let (mut products, mut squares, mut n) = (0.0, 0.0, 0_usize);
    for segment in segments {
        for (forward, backward) in segment.pairs(k) {
            products += forward * backward;
            squares += forward * forward + backward * backward;
            n += 1;
        }
    }
    (squares > power * n as f64 * f64::EPSILON).then(|| 2.0 * products / squares)
}

impl Segment {
    /// The forward error at `t` beside the backward error at `t - 1`, wherever both exist at order `k`.
    fn pairs(&self, k: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        let forward = self.forward.iter().skip(k + 1);
        let backward = self.backward.iter().skip(k);
        forward.zip(backward).map(|(forward, backward)| (*forward, *backward))
    }

    fn advance(&mut self, k: usize, reflection: f64) {
        for t in (k + 1..self.forward.len()).rev() {
            let (forward, backward) = (self.forward[t], self.backward[t - 1]);
            self.forward[t] = forward - reflection * backward;
            self.backward[t] = backward - reflection * forward;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `deviations` have no gap. The mean square of what is left is statsmodels' innovation variance.
    #[track_caller]
    fn check_left_over(deviations: &[f64], coefficients: &[f64], mean_square: f64) {
        let power = deviations.iter().map(|deviation| deviation * deviation).sum::<f64>() / deviations.len() as f64;
        let order = coefficients.len();
        let ((ours, _), segments) = recurse(deviations, power, order);
        for (ours, theirs) in ours.iter().zip(coefficients) {
            // They print ten digits.
            assert!((ours - theirs).abs() < 1e-10, "{ours} is not {theirs}");
        }
        let ours = left_over(&segments[0], order);
        assert!((ours - mean_square).abs() < 1e-11, "{ours} is not {mean_square}");
    }

    fn left_over(segment: &Segment, order: usize) -> f64 {
        let errors = segment.forward[order..].iter().chain(&segment.backward[order..]);
        let n = 2 * (segment.forward.len() - order);
        errors.map(|error| error * error).sum::<f64>() / n as f64
    }

    #[test]
    fn a_ramp_gives_the_numbers_of_statsmodels() {
        let ramp: Vec<f64> = (1..=11).map(f64::from).collect();
        check_left_over(&ramp, &[1.966_933_154_7, -0.989_284_667_9], 0.021_430_664_27);
    }

    #[test]
    fn a_recorded_trace_gives_the_numbers_of_statsmodels() {
        let text = include_str!("../../../../../testdata/nab/ec2_cpu_utilization_5f5533.csv");
        let values =
            text.lines().skip(1).take(600).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap());
        let samples: Vec<f64> = values.collect();
        let mean = samples.iter().sum::<f64>() / 600.0;
        let deviations: Vec<f64> = samples.iter().map(|sample| sample - mean).collect();
        let power = deviations.iter().map(|deviation| deviation * deviation).sum::<f64>() / 600.0;
        let ((coefficients, _), segments) = recurse(&deviations, power, 16);
        let expected = [-0.393_464_900_64, -0.054_057_745_337, 0.057_670_575_883, 0.016_884_285_019];
        for (ours, theirs) in coefficients.iter().zip(expected) {
            assert!((ours - theirs).abs() < 1e-10, "{ours} is not {theirs}");
        }
        assert!((left_over(&segments[0], 16) - 3.650_922_044_771_325_3).abs() < 1e-11);
    }

    #[test]
    fn a_gap_leaves_two_stretches_that_agree() {
        let wave = |from: i32| (from..from + 400).map(|t| (f64::from(t) * 0.7).cos());
        let gappy: Vec<f64> = wave(0).chain([f64::NAN]).chain(wave(401)).collect();
        let (coefficients, _) = estimate(&gappy, 0.5, 2);
        // A wave of frequency w follows 2 cos(w) and -1.
        assert!((coefficients[0] - 2.0 * 0.7_f64.cos()).abs() < 0.01, "{:?}", coefficients);
        assert!((coefficients[1] + 1.0).abs() < 0.01);
    }
}
