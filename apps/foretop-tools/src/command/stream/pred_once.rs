//! `foretop stream pred-once-server` and `pred-once-client`: forecasts of samples that are sent along.

use std::io::Write;
use std::num::NonZero;

use clap::Args;
use component::OneOff;
use predict::Spec;
use stream::{Answer, Ask, Endpoint, Forecast, Message, Mirror};
use text::figure::six_digits;

use super::question::{Question, unexpected};
use super::wiring::Wiring;
use command_line::argument::SampleFile;
use command_line::terminal::write_json;
use text::help::examples;

/// Fit models to the samples in requests, and answer with forecasts
#[derive(Args)]
#[command(after_help = examples(&["foretop stream pred-once-server server:tcp:5009"]))]
pub struct PredOnceServer {
    #[command(flatten)]
    wiring: Wiring,

    /// The number of fits at the same time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

/// Fit a model on a server to the samples in a file, and print the forecast
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream pred-once-client source:tcp:pyramid:5009 --model 'AR(16)' --horizon 30 trace.csv",
]))]
pub struct PredOnceClient {
    /// The server, as source:
    #[arg(value_name = "ENDPOINT")]
    server: Endpoint,

    #[command(flatten)]
    source: SampleFile,

    /// The model; `foretop models` lists them
    #[arg(long, value_name = "TEXT", default_value = "AR(16)")]
    model: Spec,

    /// The horizon, in steps
    #[arg(long, value_name = "N", default_value = "30")]
    horizon: u32,

    /// Print JSON; see docs/formats/cli.md
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    question: Question,
}

/// The forecast as JSON.
#[derive(serde::Serialize)]
struct Fitted<'a> {
    model: &'a str,
    fitted: &'a str,
    means: &'a [f64],
    standard_errors: &'a [f64],
}

impl PredOnceServer {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let n_cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let server = OneOff::new(self.workers.map_or(n_cores, usize::from))?;
        self.wiring.run("pred-once-server", Mirror::new("pred-once-server", server), None, out).map(drop)
    }
}

impl PredOnceClient {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let series = self.source.read()?;
        let samples = series.samples().iter().map(|sample| (!sample.is_nan()).then_some(*sample)).collect();
        let ask = Ask::Forecast { model: self.model.to_string(), horizon: self.horizon, samples };
        let (answer, messages) = self.question.ask(&self.server, ask)?;
        let (Answer::Fitted { model, fitted }, [Message::Forecast(forecast)]) = (&answer, &messages[..]) else {
            return Err(unexpected(&self.server, &answer));
        };
        let Forecast { means, standard_errors, .. } = forecast;
        if self.json {
            return Ok(write_json(out, &Fitted { model, fitted, means, standard_errors })?);
        }
        writeln!(out, "{model}, fitted to {fitted}")?;
        for (idx, (mean, error)) in means.iter().zip(standard_errors).enumerate() {
            writeln!(out, "{:>6} {:>14} ± {}", idx + 1, six_digits(*mean), six_digits(*error))?;
        }
        Ok(())
    }
}
