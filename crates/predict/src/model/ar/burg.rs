//! Autoregressive coefficients by Burg's method: each reflection coefficient minimizes the forward and backward errors.

use super::Estimates;

/// A stretch of samples without a gap, with its errors at the order reached.
struct Segment {
    forward: Vec<f64>,
    backward: Vec<f64>,
}

/// `power` is the mean square of the known deviations. With gaps the sums run over the stretches between
/// them (segment Burg, de Waele and Broersen 2000); a stretch no longer than the order reached has nothing left to say.
pub(super) fn estimate(deviations: &[f64], power: f64, order: usize) -> Estimates {
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
    Estimates { coefficients, innovation_variance: variance.max(0.0) }
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
