//! `foretop analyze`: what can be said of the samples in a file before any model, in figures and in pictures.

mod analysis;
mod paper;
mod plot;

use std::io::Write;

use analysis::Analysis;
use anyhow::bail;
use clap::Args;

use command_line::argument::drawing::{Drawing, drawing};
use command_line::argument::{SampleFile, TextOrJson};
use command_line::failure::OrUsage;
use text::help::examples;

/// Describe samples: memory, noise, stationarity, Hurst
///
/// The samples come from a file. Prints figures, and draws them with --plot.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop analyze trace.csv --column cpu",
    "foretop analyze trace.csv --rows 600 --plot trace.svg --plot trace.png",
]))]
pub struct Analyze {
    #[command(flatten)]
    source: SampleFile,

    /// Correlations at lags 1 to N [default: 10 times the decimal logarithm of the number of samples]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    lags: Option<u64>,

    /// Draw the figures into this file, as SVG or PNG depending on its name; may be repeated
    #[arg(long, value_name = "PATH", value_parser = drawing)]
    plot: Vec<Drawing>,

    /// The format of the figures
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,
}

impl Analyze {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let series = self.source.read()?;
        let n_known = series.samples().len() - series.n_gaps();
        if n_known < 2 {
            bail!("at least 2 samples that are not gaps are needed, but there are {n_known}");
        }
        let n_lags = self.n_lags(n_known).or_usage()?;
        let analysis = Analysis::of(&series, n_lags);
        for drawing in &self.plot {
            drawing.draw(&plot::picture(&analysis, &series, &self.source.stem()))?;
        }
        match self.format {
            TextOrJson::Text => paper::write(out, &analysis),
            TextOrJson::Json => Ok(command_line::terminal::write_json(out, &analysis)?),
        }
    }

    fn n_lags(&self, n_known: usize) -> anyhow::Result<usize> {
        match self.lags.map(|lags| usize::try_from(lags).unwrap_or(usize::MAX)) {
            None => Ok(statistics::usual_lags(n_known).clamp(1, n_known - 1)),
            Some(n_lags) if n_lags < n_known => Ok(n_lags),
            Some(n_lags) => {
                bail!("--lags {n_lags} is too many for {n_known} samples; it must be from 1 to {}", n_known - 1)
            }
        }
    }
}
