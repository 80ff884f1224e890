//! `foretop tunnel near` and `far`: an end that runs until it is told to end.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use program::{Failure, written};
use text::help::examples;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use tunnel::{Config, Far, Near, StartError};

use crate::publish::{Publishing, publish};

/// Let local programs connect here, and carry their data to the far end
#[derive(Args)]
#[command(after_help = examples(&["foretop tunnel near --config near.toml"]))]
pub struct NearEnd {
    /// The configuration: listeners, address of the far end, store (docs/howto/tunnel.md)
    #[arg(long, value_name = "FILE.toml")]
    config: PathBuf,

    #[command(flatten)]
    publishing: Publishing,
}

/// Connect requests of near ends to their targets
#[derive(Args)]
#[command(after_help = examples(&["foretop tunnel far --config far.toml"]))]
pub struct FarEnd {
    /// The configuration: address for near ends, targets that they may reach, store (docs/howto/tunnel.md)
    #[arg(long, value_name = "FILE.toml")]
    config: PathBuf,

    #[command(flatten)]
    publishing: Publishing,
}

impl NearEnd {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = Config::read(&self.config).map_err(failure)?;
        let publisher = self.publishing.start()?;
        runtime()?.block_on(async {
            let near = Near::start(&config).await.map_err(failure)?;
            for address in near.addresses() {
                written(writeln!(out, "listening at {address}"))?;
            }
            written(out.flush())?;
            let (watcher, enough) = (near.watcher(), told_to_end()?);
            tokio::select! {
                () = near.run(enough) => {}
                () = publish(publisher, watcher) => {}
            }
            Ok(())
        })
    }
}

impl FarEnd {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = Config::read(&self.config).map_err(failure)?;
        let publisher = self.publishing.start()?;
        runtime()?.block_on(async {
            let far = Far::start(&config).await.map_err(failure)?;
            written(writeln!(out, "listening at {}", far.address()))?;
            written(out.flush())?;
            let (watcher, enough) = (far.watcher(), told_to_end()?);
            tokio::select! {
                () = far.run(enough) => {}
                () = publish(publisher, watcher) => {}
            }
            Ok(())
        })
    }
}

/// Returns the failure for a fault at the start.
pub fn failure(error: StartError) -> Failure {
    if error.is_usage() { Failure::usage_of(error) } else { Failure::of(error) }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let filter = EnvFilter::try_from_env("FORETOP_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::work(format!("cannot start threads: {error}")))
}

/// Returns at SIGINT or SIGTERM.
fn told_to_end() -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| signal(kind).map_err(|error| Failure::work(format!("cannot wait for signals: {error}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
