//! Machines out of what was measured: levels from fitted costs, speeds and bandwidths from forecasts.

use std::collections::BTreeSet;

use netmodel::Cost;
use units::{Bandwidth, ByteCount, SimDuration};

use super::description::{Description, EagerLimit, Level, Segment};
use super::error::{MachineError, wrong};
use super::length::Length;

/// A value to come: what is expected, and a standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Expected {
    /// The mean over all steps of a forecast. Errors of steps go together, so that the mean's is the mean of theirs.
    /// None of no steps.
    #[must_use]
    pub fn over(mean: &[f64], standard_error: &[f64]) -> Option<Self> {
        let middle = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        (!mean.is_empty() && !standard_error.is_empty())
            .then(|| Self { mean: middle(mean), deviation: middle(standard_error) })
    }
}

impl Level {
    /// A level whose messages take, one way, what half round trips of these sizes were fitted to take.
    ///
    /// Times above the eager limit hold a request and its answer, which the simulator adds itself: they are taken
    /// out. Overheads stay in the latency, as round trips do not tell them apart.
    #[must_use]
    pub fn of_cost(cost: &Cost, eager_limit: ByteCount) -> Self {
        let limit_bytes = eager_limit.bytes();
        let above = limit_bytes.saturating_add(1);
        let starts: BTreeSet<u64> = cost.segments.iter().map(|segment| segment.from_bytes).chain([above]).collect();
        let handshake_ns = 2.0 * cost.span_ns(0);
        let segments = starts.into_iter().map(|from_bytes| {
            let segment = cost.segment(from_bytes);
            let taken_out = if from_bytes > limit_bytes { handshake_ns } else { 0.0 };
            Segment {
                from: ByteCount::new(from_bytes),
                latency: Length(SimDuration::from_nanos((segment.alpha_ns - taken_out).max(0.0).ceil() as u64)),
                // Nanoseconds per byte to bits per second; none where bytes cost nothing that can be told.
                bandwidth: Bandwidth::new((8e9 / segment.beta_ns_per_byte).min(1e18) as u64)
                    .filter(|_| segment.beta_ns_per_byte > 0.0),
            }
        });
        Self { segments: segments.collect(), eager_limit: EagerLimit(eager_limit), ..Self::default() }
    }
}

impl Description {
    /// Sets the speed of a site's cores, as a share of what they would be without other load.
    ///
    /// # Errors
    /// [`MachineError::Unknown`] where there is no such site.
    pub fn expect_speed(&mut self, site: &str, share: Expected) -> Result<(), MachineError> {
        let known = || self.site.iter().map(|site| site.name.clone()).collect::<Vec<_>>().join(", ");
        let unknown = MachineError::Unknown { given: site.to_owned(), known: known() };
        let site = self.site.iter_mut().find(|known| known.name == site).ok_or(unknown)?;
        site.speed_deviation = site.speed * share.deviation;
        site.speed *= share.mean;
        Ok(())
    }

    /// Sets the bandwidth of the link between two sites, in bytes per second.
    ///
    /// # Errors
    /// [`MachineError::Link`] where the machine has no link between them, [`MachineError::Value`] where nothing would
    /// get through.
    pub fn expect_bandwidth(&mut self, between: [&str; 2], bytes_per_sec: Expected) -> Result<(), MachineError> {
        let [from, to] = between;
        let unknown = || MachineError::Link { between: between.map(str::to_owned) };
        let link = self.link.iter_mut().find(|link| link.joins(from, to)).ok_or_else(unknown)?;
        let bits = |bytes_per_sec: f64| Bandwidth::new((8.0 * bytes_per_sec) as u64);
        let Some(bandwidth) = bits(bytes_per_sec.mean) else {
            let place = format!("the link between `{from}` and `{to}`");
            return Err(wrong("bandwidth", place, "0 bytes per second", "a forecast above 0"));
        };
        link.bandwidth = Some(bandwidth);
        link.bandwidth_deviation = bits(bytes_per_sec.deviation);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netmodel::Point;
    use units::Confidence;

    use super::*;
    use crate::machine::Machine;

    #[test]
    fn a_message_takes_what_its_half_round_trip_took() {
        let takes = |size_bytes: u64| {
            if size_bytes <= 4_096 { 1_000.0 + size_bytes as f64 } else { 6_000.0 + 0.5 * size_bytes as f64 }
        };
        let points: Vec<Point> = (0..20)
            .map(|power| 1_u64 << power)
            .map(|size_bytes| Point { size_bytes, span_ns: takes(size_bytes) })
            .collect();
        let cost = Cost::fit(&points, Confidence::P95, 1).unwrap();
        let level = Level::of_cost(&cost, ByteCount::new(4_096));
        let text = "format = 1\n[[site]]\nname = \"a\"\nnodes = 1\ncores = 2\n[level.node]\nlatency = \"1us\"\n";
        let mut description = Description::read(text).unwrap();
        description.level.node = Some(level);
        let machine = Machine::new(&Description::read(&description.to_toml()).unwrap(), 2).unwrap();
        for size_bytes in [1, 100, 4_096, 16_384, 500_000] {
            let (is, should) = (machine.unloaded(0, 1, size_bytes).as_nanos() as f64, takes(size_bytes));
            assert!((is - should).abs() < 0.02 * should, "{size_bytes}: {is}, not {should}");
        }
    }

    #[test]
    fn forecasts_become_speeds_and_bandwidths_with_deviations() {
        let text = "format = 1\n[[site]]\nname = \"a\"\nnodes = 1\ncores = 1\nspeed = 2.0\n[[site]]\nname = \"b\"\nnodes = 1\n\
                    cores = 1\n[[link]]\nbetween = [\"a\", \"b\"]\n[level.wan]\nlatency = \"1ms\"\n";
        let mut description = Description::read(text).unwrap();
        let share = Expected::over(&[0.4, 0.6], &[0.1, 0.3]).unwrap();
        description.expect_speed("a", share).unwrap();
        assert_eq!((description.site[0].speed, description.site[0].speed_deviation), (1.0, 0.4));
        description.expect_bandwidth(["b", "a"], Expected { mean: 1e6, deviation: 0.0 }).unwrap();
        assert_eq!(
            (description.link[0].bandwidth, description.link[0].bandwidth_deviation),
            (Bandwidth::new(8_000_000), None)
        );
        assert!(description.expect_speed("c", share).unwrap_err().to_string().contains("a, b"));
        assert!(description.expect_bandwidth(["a", "c"], share).is_err());
        let speeds: Vec<f64> = (0..400).map(|number| description.drawn(1, number).site[0].speed).collect();
        let mean = speeds.iter().sum::<f64>() / 400.0;
        // Five standard errors of a mean of 400 draws.
        assert!((mean - 1.0).abs() < 5.0 * 0.4 / 20.0, "{mean}");
        assert_eq!(description.drawn(1, 3), description.drawn(1, 3));
    }
}
