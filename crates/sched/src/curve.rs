//! Forecast of a worker: quantiles of the time that so much processor time takes there.

/// The probabilities at which a curve is known: those of a node's `GET /api/v1/runtime`.
pub const LEVELS: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// Quantiles of the time that processor time takes, for one core from a moment on.
///
/// Between what is given it goes along straight lines, from nothing in no time; beyond the greatest demand on as in the
/// last stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Seconds of processor time, ascending.
    demands: Vec<f64>,
    /// Quantiles of the time in seconds that each demand takes, at the probabilities of [`LEVELS`]; both ways
    /// ascending.
    times: Vec<[f64; LEVELS.len()]>,
}

impl Curve {
    /// Builds a curve from demands in seconds and the quantiles of their times, also in seconds.
    ///
    /// What contradicts itself is mended upwards: more work or more certainty never takes less time, nor any work less
    /// than itself.
    ///
    /// # Panics
    /// Without demands, or when they do not ascend from above 0.
    #[must_use]
    pub fn new(points: impl IntoIterator<Item = (f64, [f64; LEVELS.len()])>) -> Self {
        let (mut demands, mut times): (Vec<f64>, Vec<[f64; LEVELS.len()]>) = (Vec::new(), Vec::new());
        for (demand, quantiles) in points {
            let (last, before) = (demands.last().copied().unwrap_or(0.0), times.last().copied().unwrap_or_default());
            assert!(demand > last, "demands ascend, and {demand} s follows {last} s");
            let mut least = demand;
            times.push(std::array::from_fn(|level| {
                least = quantiles[level].max(least).max(before[level] + (demand - last));
                least
            }));
            demands.push(demand);
        }
        assert!(!demands.is_empty(), "a curve has at least one point");
        Self { demands, times }
    }

    /// Its points, as [`Curve::new`] takes them.
    pub fn points(&self) -> impl Iterator<Item = (f64, [f64; LEVELS.len()])> {
        self.demands.iter().copied().zip(self.times.iter().copied())
    }

    /// Builds the curve of a worker that always gives so much of a core.
    #[must_use]
    pub fn constant(availability: f64) -> Self {
        Self::new([(1.0, [1.0 / availability.clamp(1e-3, 1.0); LEVELS.len()])])
    }

    /// The time in seconds that so much processor time takes no longer than with probability `p`.
    #[must_use]
    pub fn time_for(&self, cpu_seconds: f64, p: f64) -> f64 {
        let at = self.demands.partition_point(|demand| *demand < cpu_seconds).min(self.demands.len() - 1);
        let (demand, time) = self.point(at, p);
        let (before, since) = self.before(at, p);
        since + (cpu_seconds - before) * (time - since) / (demand - before)
    }

    /// The processor time in seconds that is had with probability `p` within so much time.
    #[must_use]
    pub fn cpu_by(&self, seconds: f64, p: f64) -> f64 {
        let (level, share) = between(p);
        let time = |at: usize| mixed(&self.times[at], level, share);
        let (mut low, mut high) = (0, self.demands.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            if time(middle) < seconds { low = middle + 1 } else { high = middle }
        }
        let (demand, time) = (self.demands[low], time(low));
        let (before, since) = self.before(low, p);
        (before + (seconds - since) * (demand - before) / (time - since)).max(0.0)
    }

    /// The probability that so much processor time takes no longer than that.
    #[must_use]
    pub fn probability_within(&self, cpu_seconds: f64, seconds: f64) -> f64 {
        let times = LEVELS.map(|level| self.time_for(cpu_seconds, level));
        let at = times.partition_point(|time| *time < seconds);
        match at {
            0 => 0.0,
            _ if at == LEVELS.len() => 1.0,
            _ => {
                let share = (seconds - times[at - 1]) / (times[at] - times[at - 1]);
                LEVELS[at - 1] + share * (LEVELS[at] - LEVELS[at - 1])
            }
        }
    }

    fn point(&self, at: usize, p: f64) -> (f64, f64) {
        let (level, share) = between(p);
        (self.demands[at], mixed(&self.times[at], level, share))
    }

    fn before(&self, at: usize, p: f64) -> (f64, f64) {
        if at == 0 { (0.0, 0.0) } else { self.point(at - 1, p) }
    }
}

/// The level below a probability, and how far it is on the way to the next; beyond the outermost levels those count.
fn between(p: f64) -> (usize, f64) {
    let at = LEVELS.partition_point(|level| *level <= p).clamp(1, LEVELS.len() - 1) - 1;
    (at, ((p - LEVELS[at]) / (LEVELS[at + 1] - LEVELS[at])).clamp(0.0, 1.0))
}

fn mixed(times: &[f64; LEVELS.len()], level: usize, share: f64) -> f64 {
    times[level] + share * (times[level + 1] - times[level])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_points() -> Curve {
        // Faster in the beginning; the more certain, the longer.
        let quantiles = |median: f64| LEVELS.map(|level| median * (0.5 + level));
        Curve::new([(10.0, quantiles(20.0)), (20.0, quantiles(80.0))])
    }

    #[test]
    fn time_and_work_are_inverse() {
        let curve = two_points();
        for p in [0.01, 0.3, 0.5, 0.77, 0.99] {
            for cpu in [0.5, 10.0, 15.0, 20.0, 300.0] {
                let back = curve.cpu_by(curve.time_for(cpu, p), p);
                assert!((back - cpu).abs() < 1e-9 * cpu, "{cpu} s became {back} s at {p}");
            }
        }
        assert_eq!(curve.time_for(10.0, 0.5), 20.0);
        assert_eq!(curve.time_for(20.0, 0.5), 80.0);
        assert_eq!(curve.cpu_by(0.0, 0.5), 0.0);
    }

    #[test]
    fn the_probability_is_that_of_the_quantile() {
        let curve = two_points();
        for p in [0.1, 0.25, 0.6, 0.95] {
            assert!((curve.probability_within(15.0, curve.time_for(15.0, p)) - p).abs() < 1e-9);
        }
        assert_eq!((curve.probability_within(15.0, 1.0), curve.probability_within(15.0, 1e6)), (0.0, 1.0));
    }

    #[test]
    fn a_curve_never_promises_more_than_a_core() {
        let curve = Curve::new([(1.0, [0.1; LEVELS.len()]), (2.0, [0.1; LEVELS.len()])]);
        assert_eq!((curve.time_for(1.0, 0.5), curve.time_for(2.0, 0.5)), (1.0, 2.0));
    }
}
