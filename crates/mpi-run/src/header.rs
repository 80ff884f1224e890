//! Head of every result: without it a figure of one machine is worth nothing on another.

use std::collections::{BTreeMap, BTreeSet};

use clock::Stopwatch;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};
use text::figure::percent;
use units::{Rank, Timestamp};

use crate::measurement::Measurement;
use crate::survey::ClockQuality;
use crate::work::Calibration;

/// Place of one rank, and what it runs with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Position in the world.
    pub rank: Rank,
    /// Name of its host.
    pub host: String,
    /// Cores that it may run on: one where it is bound, all of the host's where it is not.
    pub cpus: Vec<u32>,
    /// Its clock.
    pub clock: ClockQuality,
    /// Speed of its core's work at the start.
    pub calibration: Calibration,
    /// Offset of its clock from rank 0's.
    pub offset: Offset,
}

/// Offset of a clock from another, and the greatest error of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offset {
    /// Nanoseconds ahead.
    pub ahead_ns: f64,
    /// Bound of the error: the offset is within so many nanoseconds of `ahead_ns`. Half the shortest round trip seen.
    pub bound_ns: f64,
}

/// Head of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the program: `ace`, `comb`, `noise`.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// Moment when the run began.
    pub started: Timestamp,
    /// Name that the MPI library gives itself, or `none` where a single host was measured without it.
    pub mpi: String,
    /// Transport that ranks of one host were restricted to, `tcp`; none where the library chose, and in results of
    /// 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Arguments as typed, without the program.
    pub arguments: Vec<String>,
    /// Seed of all draws.
    pub seed: u64,
    /// Placement of each rank.
    pub ranks: Vec<Placement>,
    /// Assumptions behind the figures.
    pub assumptions: Vec<String>,
}

impl Placement {
    /// Returns the placement of a process without MPI: that of the calling thread, whose clock is the only one.
    /// Calibrates work, which takes some 25 ms.
    #[must_use]
    pub fn alone(clock: &Stopwatch) -> Self {
        Self {
            rank: 0,
            host: host_name(),
            cpus: allowed_cpus(),
            clock: ClockQuality::survey(clock),
            calibration: Calibration::measure(),
            offset: Offset::default(),
        }
    }
}

/// Returns the transport that a launcher restricts ranks of one host to, by the variables of their environment: `tcp`,
/// as [`Placing::is_tcp`](crate::Placing::is_tcp) has it, or none where the library may choose.
#[cfg(any(feature = "mpi", test))]
pub(crate) fn transport(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let components = variable("OMPI_MCA_btl").unwrap_or_default();
    let is_open_mpi = !components.is_empty() && components.split(',').all(|name| ["tcp", "self"].contains(&name));
    let is_mpich = variable("MPIR_CVAR_NOLOCAL").is_some_and(|value| value == "1");
    (is_open_mpi || is_mpich).then(|| "tcp".to_owned())
}

impl Header {
    /// Returns the head of a run of `measurement` that begins at this moment. `mpi` is the name that the library gives
    /// itself; `none` for a process without one.
    #[must_use]
    pub fn of(
        measurement: &dyn Measurement,
        mpi: String,
        arguments: Vec<String>,
        seed: u64,
        ranks: Vec<Placement>,
    ) -> Self {
        Self {
            program: measurement.name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: clock::now(),
            mpi,
            transport: None,
            arguments,
            seed,
            ranks,
            assumptions: measurement.assumptions().iter().map(|&assumption| assumption.to_owned()).collect(),
        }
    }

    /// Returns the conditions that make the figures mean less than they seem to, one sentence each; none on a good day.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let oversubscribed = self.oversubscribed_hosts().into_iter().map(|(host, ranks, cpus)| {
            format!("{ranks} ranks share {cpus} cores of {host}: the figures describe time slicing, not the network")
        });
        let unsteady = self.ranks.iter().filter(|place| place.calibration.dispersion_ratio > UNSTEADY).map(|place| {
            let off = percent(place.calibration.dispersion_ratio);
            format!(
                "the core of rank {} was not steady when work was calibrated: trials are {off} off at the median",
                place.rank
            )
        });
        oversubscribed.chain(unsteady).collect()
    }

    /// Whether ranks take turns on cores somewhere.
    #[must_use]
    pub fn is_oversubscribed(&self) -> bool {
        !self.oversubscribed_hosts().is_empty()
    }

    /// Hosts with more ranks than cores that those may run on, with both numbers.
    fn oversubscribed_hosts(&self) -> Vec<(&str, usize, usize)> {
        let mut hosts: BTreeMap<&str, (usize, BTreeSet<u32>)> = BTreeMap::new();
        for place in &self.ranks {
            let host = hosts.entry(&place.host).or_default();
            host.0 += 1;
            host.1.extend(&place.cpus);
        }
        hosts
            .into_iter()
            .map(|(host, (ranks, cpus))| (host, ranks, cpus.len()))
            .filter(|&(_, ranks, cpus)| ranks > cpus)
            .collect()
    }
}

/// Trials of a calibration that are a hundredth off are too many for figures of a hundredth.
const UNSTEADY: f64 = 0.01;

/// Returns the cores that this process may run on; empty if the kernel does not report them.
#[must_use]
pub fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// Returns the memory that this host can still give, in bytes; `None` if the kernel does not report it.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix("kB"))?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// Name of this host.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(rank: Rank, host: &str, cpus: &[u32]) -> Placement {
        Placement {
            rank,
            host: host.to_owned(),
            cpus: cpus.to_vec(),
            clock: ClockQuality { resolution_ns: 20, cost_ns: 25.0 },
            calibration: Calibration { turns_per_ns: 1.0, dispersion_ratio: 0.001, n_trials: 51 },
            offset: Offset::default(),
        }
    }

    fn header(ranks: Vec<Placement>) -> Header {
        Header {
            program: "ace".to_owned(),
            version: "0.1.0".to_owned(),
            started: Timestamp::from_system(std::time::UNIX_EPOCH),
            mpi: "none".to_owned(),
            transport: None,
            arguments: Vec::new(),
            seed: 1,
            ranks,
            assumptions: Vec::new(),
        }
    }

    #[test]
    fn a_transport_is_one_that_ranks_are_restricted_to() {
        for (name, value, is_tcp) in [
            ("OMPI_MCA_btl", "tcp,self", true),
            ("OMPI_MCA_btl", "vader,tcp,self", false),
            ("OMPI_MCA_btl", "^tcp", false),
            ("OMPI_MCA_btl", "", false),
            ("MPIR_CVAR_NOLOCAL", "1", true),
            ("MPIR_CVAR_NOLOCAL", "0", false),
            ("HOME", "tcp", false),
        ] {
            let found = transport(|asked| (asked == name).then(|| value.to_owned()));
            assert_eq!(found.is_some(), is_tcp, "{name}={value}");
        }
    }

    #[test]
    fn a_core_for_each_rank_is_no_warning() {
        assert_eq!(header(vec![place(0, "a", &[0]), place(1, "a", &[1]), place(2, "b", &[0])]).warnings(), [""; 0]);
        assert_eq!(header(vec![place(0, "a", &[0, 1]), place(1, "a", &[0, 1])]).warnings(), [""; 0]);
    }

    #[test]
    fn ranks_that_share_a_core_are_told_of() {
        let warnings = header(vec![place(0, "a", &[0, 1]), place(1, "b", &[3]), place(2, "b", &[3])]).warnings();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("2 ranks share 1 cores of b"), "{}", warnings[0]);
        assert!(header(vec![place(1, "b", &[3]), place(2, "b", &[3])]).is_oversubscribed());
    }

    #[test]
    fn a_core_that_was_not_steady_is_told_of() {
        let mut unsteady = place(0, "a", &[0]);
        unsteady.calibration.dispersion_ratio = 0.034;
        assert!(header(vec![unsteady]).warnings()[0].contains("3.40 %"));
    }
}
