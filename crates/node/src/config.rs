//! Settings that a node gets at its start.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use door::{Door, Limits};
use predict::{Calendar, Spec};
use secret::Token;
use sensor::{HybridSettings, WatchList};
use signal::{Glob, Selection};
use stream::ServerTls;
use units::ByteCount;
use watch::Watch;

use crate::error::StartError;
use crate::follow::FollowSettings;
use crate::outlet::OutletSettings;
use crate::remote::{self, RemoteWrite};
use crate::warnings::WarnSettings;

/// 100 Hz: beyond that the reading of `/proc` itself is what is measured.
pub(crate) const STEP_MIN: Duration = Duration::from_millis(10);

/// 0.01 Hz: less often, and no forecast is worth waiting for.
pub(crate) const STEP_MAX: Duration = Duration::from_secs(100);

/// Minute means need the samples of two whole minutes.
pub(crate) const RETENTION_MIN: Duration = Duration::from_secs(120);

/// Smallest limit of a store: with less, a store would hold little but the samples that are not packed yet.
pub(crate) const STORE_MIN: ByteCount = ByteCount::new(1 << 20);

/// More often, and there is seldom a step that has ended since.
pub(crate) const LOOK_EVERY_MIN: Duration = Duration::from_secs(1);

/// Default number of connections: as many as fit into the descriptors that a process usually has.
const CONNECTIONS_DEFAULT: usize = 768;

/// Settings of a node's forecasts for hours and days ahead.
#[derive(Clone, Debug)]
pub struct OutlookSettings {
    /// The calendar whose days and weeks series follow.
    pub calendar: Calendar,
    /// Series that are taken to have no season.
    pub no_season: Vec<Glob>,
}

/// Settings that a node gets at its start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to serve HTTP at; port 0 for any free one.
    pub listen: SocketAddr,
    /// The path of the host's `/proc` and `/sys`: `/`, or a recorded tree.
    pub root: PathBuf,
    /// The directory of the store; `None` keeps history in memory, for an hour at most.
    pub data_dir: Option<PathBuf>,
    /// Time between two samples, 10 ms to 100 s.
    pub step: Duration,
    /// The model that sensors' series are forecast with.
    pub model: Spec,
    /// Settings of the forecasts for hours and days ahead.
    pub outlooks: OutlookSettings,
    /// Time for which samples are kept, 2 minutes or longer; minute means are kept ten times as long, hour means a
    /// hundred times.
    pub retention: Duration,
    /// Limit of the store's size, 1 MiB or more; the oldest history is thinned then, whatever its age.
    pub store_max: ByteCount,
    /// The token that clients have to show; needed to listen beyond loopback.
    pub token: Option<Token>,
    /// The door that admits connections; may be shared with other listeners of the process.
    pub door: Door,
    /// The certificate and key of the address, if connections are encrypted.
    pub tls: Option<ServerTls>,
    /// The signals that are measured.
    pub select: Selection,
    /// Programs, units and containers whose use is measured.
    pub programs: WatchList,
    /// Settings of the probes for CPU availability; `None` for no probes.
    pub hybrid: Option<HybridSettings>,
    /// Servers that samples and forecasts are written to.
    pub remote_writes: Vec<RemoteWrite>,
    /// Streams that the node sends.
    pub outlets: Vec<OutletSettings>,
    /// Streams of other hosts that it follows, each as a feed.
    pub follow: Vec<FollowSettings>,
    /// The rules for warnings and the recipients of warnings.
    pub warnings: WarnSettings,
    /// The folder that holds the folders of jobs of MPI programs.
    pub mpi_jobs: PathBuf,
    /// The path of the socket of the agent that measures the kernel, for those who control the agent through the node.
    pub kernel: Option<PathBuf>,
    /// Watches the threads of the node. What else it watches is told in the node's health as well.
    pub watch: Watch,
}

impl Default for OutlookSettings {
    fn default() -> Self {
        Self { calendar: Calendar::UTC, no_season: Vec::new() }
    }
}

impl OutlookSettings {
    /// The days that a series may follow; `None` where it is to have no season.
    pub(crate) fn calendar_of(&self, id: &str) -> Option<&Calendar> {
        (!self.no_season.iter().any(|glob| glob.matches(id))).then_some(&self.calendar)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7311)),
            root: PathBuf::from("/"),
            data_dir: None,
            step: Duration::from_secs(1),
            model: Spec::auto(),
            outlooks: OutlookSettings::default(),
            retention: Duration::from_secs(7 * 86_400),
            store_max: ByteCount::new(2 << 30),
            token: None,
            door: Door::new(Limits::of(CONNECTIONS_DEFAULT)),
            tls: None,
            select: Selection::default(),
            programs: WatchList::default(),
            hybrid: None,
            remote_writes: Vec::new(),
            outlets: Vec::new(),
            follow: Vec::new(),
            warnings: WarnSettings::default(),
            mpi_jobs: mpi_job::root(),
            kernel: None,
            watch: Watch::default(),
        }
    }
}

impl Config {
    /// Checks that the numbers are in range, and that nobody is admitted by mistake.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        if !(STEP_MIN..=STEP_MAX).contains(&self.step) {
            return Err(StartError::StepOutOfRange { given: self.step });
        }
        if self.retention < RETENTION_MIN {
            return Err(StartError::RetentionTooShort { given: self.retention });
        }
        if self.store_max < STORE_MIN {
            return Err(StartError::StoreTooSmall { given: self.store_max });
        }
        if self.warnings.every < LOOK_EVERY_MIN {
            return Err(StartError::LooksTooOften { given: self.warnings.every });
        }
        if !self.listen.ip().is_loopback() && self.token.is_none() {
            return Err(StartError::Unprotected { address: self.listen });
        }
        remote::check(&self.remote_writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(config: Config, message: &str) {
        assert_eq!(config.check().unwrap_err().to_string(), message);
    }

    #[test]
    fn a_step_has_a_range() {
        let with = |step| Config { step, ..Config::default() };
        check_refused(with(Duration::from_millis(9)), "a step of 9ms is out of range: it must be 10ms to 1m 40s");
        check_refused(with(Duration::from_secs(101)), "a step of 1m 41s is out of range: it must be 10ms to 1m 40s");
        assert!(with(STEP_MIN).check().is_ok() && with(STEP_MAX).check().is_ok());
    }

    #[test]
    fn a_store_has_a_least_size() {
        let with = |mib: u64| Config { store_max: ByteCount::new(mib << 20), ..Config::default() };
        check_refused(with(0), "a store of at most 0B is too small: 1MiB is the least");
        assert!(with(1).check().is_ok());
    }

    #[test]
    fn beyond_loopback_a_token_is_needed() {
        let with = |listen: &str| Config { listen: listen.parse().unwrap(), ..Config::default() };
        check_refused(
            with("0.0.0.0:7311"),
            "0.0.0.0:7311 can be reached from other machines: give --token-file, or listen on 127.0.0.1 or [::1]",
        );
        assert!(with("[::]:0").check().is_err());
        assert!(with("[::1]:0").check().is_ok() && with("127.0.0.2:0").check().is_ok());
    }
}
