//! `foretop mpi monitor`: one host's part of watching a job that runs on several.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use event_space::{Live, Server, Setting};
use stream::Mirror;

use crate::command::stream::wiring::Wiring;
use command_line::failure::OrUsage;
use text::help::examples;

/// Name of the component.
pub const COMPONENT: &str = "mpi-monitor";
/// Prefix of the job's name.
pub const STREAM_PREFIX: &str = "mpi.";

/// Serve this host's part of a job to `foretop mpi watch`
///
/// The watcher finds this monitor, and requests that it read, reduce and count the records of this host's ranks. It
/// ends with the job.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi monitor node1-2f0 server:tcp:127.0.0.1:0",
    "foretop mpi monitor node1-2f0 --token-file token --tls-certificate cert.pem --tls-key key.pem server:tcp:5020",
]))]
pub struct Monitor {
    /// The job: its name, or its folder
    #[arg(value_name = "JOB")]
    job: PathBuf,

    #[command(flatten)]
    niceness: Niceness,

    #[command(flatten)]
    wiring: Wiring,
}

/// The priority of a process that watches a job. If ranks use all cores, a monitor of equal priority stops one of them,
/// and with it all that wait for that rank, until the scheduler's next turn.
#[derive(Args)]
pub struct Niceness {
    /// The niceness to add, as for `nice`: 0 for the priority of the job's ranks
    #[arg(long, value_name = "N", default_value_t = 19, value_parser = clap::value_parser!(u8).range(0..=19))]
    nice: u8,
}

impl Niceness {
    /// Lowers the priority of this thread and of all that it starts.
    pub fn apply(&self) -> anyhow::Result<()> {
        rustix::process::nice(self.nice.into()).context("cannot lower the priority").map(drop)
    }
}

/// Returns the name under which the monitors of a job are found among streams.
pub fn stream_name(job: &Path) -> String {
    format!("{STREAM_PREFIX}{}", job.file_name().unwrap_or_default().to_string_lossy())
}

impl Monitor {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.niceness.apply()?;
        let setting = Setting { security: self.wiring.protection.security().or_usage()?, ..Setting::default() };
        let live = Live::open(&self.job, 0, setting.clock.clone()).or_usage()?;
        let name = self.wiring.name.clone().unwrap_or_else(|| stream_name(live.folder().path()));
        let (server, ended) = Server::new(live, setting, name, self.wiring.host());
        let mirror = Mirror::new(COMPONENT, server).every(Server::PERIOD);
        self.wiring.run(COMPONENT, mirror, Some(ended), out).map(drop)
    }
}
