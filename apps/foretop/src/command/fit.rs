//! `foretop fit`: fits models to the samples in a file, ranks them, and says how good the best one is.

mod candidate;
mod ranking;
mod report;

use std::io::Write;

use candidate::candidates;
use clap::{Args, ValueEnum};
use ranking::{Criterion, Ranking};
use report::Report;
use serde::Serialize;

use super::predict::default_model;
use crate::speakers::step_in_time;
use command_line::argument::{SampleFile, TextOrJson};
use command_line::failure::OrUsage;
use text::help::examples;

/// Fit models to samples, rank them, and test the best one
///
/// The samples come from a file. Prints coefficients, likelihood, and tests of the one-step errors.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop fit trace.csv",
    "foretop fit trace.csv --model 'ARFIMA(1,d,1)' --method ml",
    "foretop fit trace.csv --column cpu --model 'ARMA(0..4,0..4)' --model 'AR(1..16)' --by bic",
]))]
pub struct Fit {
    #[command(flatten)]
    source: SampleFile,

    /// A model to fit, or several by ranges of orders, such as ARMA(0..4,0..4); may be repeated [default: AUTO, with
    /// seasons of a day and a week or of a year if the samples have times and are long enough]
    #[arg(long, value_name = "TEXT")]
    model: Vec<String>,

    /// The objective of fits, for models whose text does not state it
    #[arg(long, value_enum, requires = "model")]
    method: Option<Method>,

    /// The criterion that ranks several models
    #[arg(long, value_enum, value_name = "CRITERION", default_value = "aicc")]
    by: Criterion,

    /// Test the one-step errors at lags 1 to N [default: 10 times the decimal logarithm of their number, and at least
    /// ten more than there are coefficients]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    lags: Option<u64>,

    /// The format of the output
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,
}

/// Values of `--method`.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Method {
    /// Least sum of squared one-step errors; no distribution is assumed.
    Css,
    /// Exact maximum likelihood of a Gaussian process.
    Ml,
}

impl Fit {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let specs = candidates(&self.model, self.method.map(predict::Method::from)).or_usage()?;
        let series = self.source.read()?;
        let samples = series.samples();
        let (spec, ranking) = match &specs[..] {
            [] => (default_model(&series), None),
            [only] => (only.clone(), None),
            several => {
                let (best, ranking) = Ranking::of(several, samples, self.by)?;
                (best, Some(ranking))
            }
        };
        let model = predict::fit(&spec, samples)?;
        let lags = self.lags.map(|lags| usize::try_from(lags).unwrap_or(usize::MAX));
        let fitted = Report::of(&model, samples, lags);
        match self.format {
            TextOrJson::Text => {
                if let Some(ranking) = &ranking {
                    ranking.write(out)?;
                }
                fitted.write(series.grid().and_then(step_in_time), out)
            }
            TextOrJson::Json => Ok(command_line::terminal::write_json(out, &Output { ranking, fitted })?),
        }
    }
}

/// The output, as docs/formats/cli.md has it.
#[derive(Debug, Serialize)]
struct Output {
    #[serde(flatten)]
    ranking: Option<Ranking>,
    fitted: Report,
}

impl From<Method> for predict::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Css => Self::LeastSquares,
            Method::Ml => Self::MaximumLikelihood,
        }
    }
}
