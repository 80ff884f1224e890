//! `foretop stream eval-fit`: watches how right forecasts are, and orders a refit.

use std::io::Write;

use clap::Args;
use component::{EvalFit, EvalFitSettings};
use stream::Endpoint;

use super::wiring::Wiring;
use crate::failure::OrUsage;
use crate::help::examples;

/// Compare forecasts with what came, and order a refit when they are too wrong, or wronger or better than they say
///
/// One source brings samples, another the forecasts of them.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream eval-fit --error-max 0.5 --misestimate-max 2 --refit source:tcp:localhost:5005 source:tcp:localhost:5004 source:tcp:localhost:5006",
]))]
pub struct WatchFit {
    #[command(flatten)]
    wiring: Wiring,

    /// The greatest root mean squared error that passes, in the unit of the samples
    #[arg(long, value_name = "X", default_value = "inf")]
    error_max: f64,

    /// By which factor that error may be above or below what the predictor takes it to be
    #[arg(long, value_name = "FACTOR", default_value = "2")]
    misestimate_max: f64,

    /// The leads that are watched
    #[arg(long, value_name = "LEAD", value_delimiter = ',', default_value = "1")]
    lead: Vec<usize>,

    /// Over how many of the last errors
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    window: u32,

    /// No verdict before there are so many errors
    #[arg(long, value_name = "N", default_value = "30")]
    min_samples: usize,

    /// No refit before so many samples have come since the last one
    #[arg(long, value_name = "N", default_value = "100")]
    every: usize,

    /// The prediction server's server, which is told to refit, as source: [default: nobody is told]
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
