//! `foretop stream pred-pool`: prediction servers that share many streams.

use std::io::Write;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use component::pool::{Config, Server};
use predict::Spec;

use command_line::argument::{Broker, positive_span};
use command_line::interruption;
use text::help::examples;

/// Interval at which the server is checked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Join a pool of prediction servers that share the hosts of a NATS server and replace one that dies
///
/// Each host publishes its measurements on its own subject, as with target:nats:foretop.samples.HOST. All servers of a
/// pool need the same options.
#[derive(Args)]
#[command(after_help = examples(&["foretop stream pred-pool --nats nats://broker --subjects 'foretop.samples.>' --model 'AR(16)'"]))]
pub struct PredPool {
    /// Subjects of the measurements
    #[arg(long, value_name = "SUBJECTS", default_value = "foretop.samples.>")]
    subjects: String,

    /// Prefix of the subjects of forecasts
    #[arg(long, value_name = "SUBJECT", default_value = "foretop.forecasts")]
    forecasts: String,

    /// The model for every signal
    #[arg(long, value_name = "MODEL", default_value = "AR(16)")]
    model: Spec,

    /// The number of samples that a model is fitted to
    #[arg(long, value_name = "N", default_value = "600")]
    window: u64,

    /// The number of samples from one fit to the next
    #[arg(long, value_name = "N", default_value = "300")]
    refit_every: u64,

    /// The horizon, in steps
    #[arg(long, value_name = "N", default_value = "30")]
    horizon: u32,

    /// Time between two samples
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive_span)]
    step: Duration,

    /// The lease: the time that a server may be silent before others take over
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = positive_span)]
    lease: Duration,

    #[command(flatten)]
    broker: Broker,
}

impl PredPool {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { subjects, forecasts, model, window, refit_every, horizon, step, lease, broker } = self;
        let config = Config { subjects, forecasts, window, refit_every, horizon, step, lease, ..Config::new(model) };
        let interruptions = interruption::interruptions()?;
        let server = Server::start(config, &broker.security())?;
        writeln!(out, "the prediction server has joined the pool")?;
        out.flush()?;
        let broken = loop {
            let broken = server.broken_part();
            if broken.is_some() || interruptions.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                break broken;
            }
        };
        let counted = server.counted();
        drop(server);
        writeln!(out, "{} measurements, {} forecasts", counted.n_measurements, counted.n_forecasts)?;
        match broken {
            None => Ok(()),
            Some(part) => bail!("the {part} of the prediction server ended by a fault of this program"),
        }
    }
}
