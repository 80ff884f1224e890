//! `foretop stream eval-fit`: watches how right forecasts are, and orders a refit.

use std::io::Write;

use clap::Args;
use component::{EvalFit, EvalFitSettings};
use stream::Endpoint;

use super::wiring::Wiring;
use command_line::failure::OrUsage;
use text::help::examples;

/// Request a refit when forecast errors are too large, or do not match the stated uncertainty
///
/// One source has the samples, another their forecasts.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream eval-fit --error-max 0.5 --misestimate-max 2 --refit source:tcp:localhost:5005 source:tcp:localhost:5004 source:tcp:localhost:5006",
]))]
pub struct WatchFit {
    #[command(flatten)]
    wiring: Wiring,

    /// The largest root mean squared error allowed, in the unit of the samples
    #[arg(long, value_name = "X", default_value = "inf")]
    error_max: f64,

    /// The largest factor allowed between that error and the predictor's own estimate of it, either way
    #[arg(long, value_name = "FACTOR", default_value = "2")]
    misestimate_max: f64,

    /// The leads to watch
    #[arg(long, value_name = "LEAD", value_delimiter = ',', default_value = "1")]
    lead: Vec<usize>,

    /// The number of last errors that count
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    window: u32,

    /// The least number of errors for a verdict
    #[arg(long, value_name = "N", default_value = "30")]
    min_samples: usize,

    /// The least number of samples between two refits
    #[arg(long, value_name = "N", default_value = "100")]
    every: usize,

    /// The prediction server's server, as source:, to request the refit from [default: none]
    #[arg(long, value_name = "ENDPOINT")]
    refit: Option<Endpoint>,
}

impl WatchFit {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let settings = EvalFitSettings {
            leads: self.lead,
            error_max: self.error_max,
            misestimate_max: self.misestimate_max,
            window: self.window as usize,
            n_samples_min: self.min_samples,
            every: self.every,
            refit: self.refit,
        };
        let mirror = EvalFit::mirror("eval-fit", settings).or_usage()?;
        self.wiring.run("eval-fit", mirror, None, out).map(drop)
    }
}
