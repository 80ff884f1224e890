//! `foretop stream pred-server`: a forecast for each sample.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use component::{PredictionServer, PredictionSettings};
use predict::Spec;
use stream::Endpoint;
use units::span;

use super::wiring::Wiring;
use crate::command::internal::pred_core;
use command_line::failure::OrUsage;
use text::help::examples;

/// Make a forecast from each sample, in a separate process that is restarted if it crashes or hangs
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream pred-server --model 'AR(16)' --history source:tcp:localhost:5003 source:tcp:localhost:5004 server:tcp:5005 connect:tcp:5006",
]))]
pub struct PredServer {
    #[command(flatten)]
    wiring: Wiring,

    /// The model; `foretop models` lists them
    #[arg(long, value_name = "TEXT", default_value = "AR(16)")]
    model: Spec,

    /// The number of last samples to fit to
    #[arg(long, value_name = "N", default_value = "600")]
    window: u32,

    /// The horizon, in steps
    #[arg(long, value_name = "N", default_value = "30")]
    horizon: u32,

    /// The server of the measure buffer that has the earlier samples, as source:
    #[arg(long, value_name = "ENDPOINT")]
    history: Option<Endpoint>,

    /// The time limit of the core's answer, including a fit, after which it counts as hung
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = span::parse)]
    core_limit: Duration,
}

impl PredServer {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let settings = PredictionSettings {
            model: self.model,
            window: self.window,
            horizon: self.horizon,
            history: self.history,
            stream: self.wiring.name.clone(),
            core: pred_core::core()?,
            core_limit: self.core_limit,
        };
        let mirror = PredictionServer::mirror("pred-server", settings).or_usage()?;
        self.wiring.run("pred-server", mirror, None, out).map(drop)
    }
}
