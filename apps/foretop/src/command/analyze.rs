//! `foretop analyze`: what can be said of the samples in a file before any model, in figures and in pictures.

mod analysis;
mod paper;
mod plot;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use super::predict::Source;
use crate::cli::{TextOrJson, examples};
use crate::failure::OrUsage;
use analysis::Analysis;

/// Describe the samples in a file: memory, noise, stationarity, Hurst exponent
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop analyze trace.csv --column cpu",
    "foretop analyze trace.csv --rows 600 --plot trace.svg --plot trace.png",
]))]
pub struct Analyze {
    #[command(flatten)]
    source: Source,

    /// Correlations at lags 1 to N [default: 10 times the decimal logarithm of the number of samples]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    lags: Option<u64>,

    /// Draw them into this file, as SVG or PNG by its name; may be repeated
    #[arg(long, value_name = "PATH", value_parser = drawing)]
    plot: Vec<Drawing>,

    /// How to print the figures
    #[arg(long, value_enum, default_value = "text")]
    format: TextOrJson,
}

/// A file to draw into.
#[derive(Clone, Debug)]
struct Drawing {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Svg,
    Png,
}

impl Analyze {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let series = self.source.read()?;
        let n_known = series.samples().len() - series.n_gaps();
        if n_known < 2 {
            bail!("at least 2 samples that are not gaps are needed to say anything, and there are {n_known}");
        }
        let n_lags = self.n_lags(n_known).or_usage()?;
        let analysis = Analysis::of(&series, n_lags);
        for drawing in &self.plot {
            drawing.draw(&plot::picture(&analysis, &self.source.stem()))?;
        }
        match self.format {
            TextOrJson::Text => paper::write(out, &analysis),
            TextOrJson::Json => Ok(crate::text::write_json(out, &analysis)?),
        }
    }

    fn n_lags(&self, n_known: usize) -> anyhow::Result<usize> {
        // R's default for its correlogram.
        let usual = (10.0 * (n_known as f64).log10()) as usize;
        match self.lags.map(|lags| usize::try_from(lags).unwrap_or(usize::MAX)) {
            None => Ok(usual.clamp(1, n_known - 1)),
            Some(n_lags) if n_lags < n_known => Ok(n_lags),
            Some(n_lags) => {
                bail!("--lags {n_lags} is too many for {n_known} samples; it has to be from 1 to {}", n_known - 1)
            }
        }
    }
}

impl Drawing {
    fn draw(&self, picture: &picture::Picture) -> anyhow::Result<()> {
        /// Sharp on screens of twice the usual resolution.
        const DENSITY: f64 = 2.0;
        let bytes = match self.kind {
            Kind::Svg => picture.to_svg().into_bytes(),
            Kind::Png => picture.to_png(DENSITY)?,
        };
        std::fs::write(&self.path, bytes).with_context(|| format!("cannot write `{}`", self.path.display()))
    }
}

fn drawing(text: &str) -> Result<Drawing, String> {
    let path = PathBuf::from(text);
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let kind = match extension.as_deref() {
        Some("svg") => Kind::Svg,
        Some("png") => Kind::Png,
        _ => return Err(format!("cannot tell from `{text}` what to draw; its name has to end in .svg or .png")),
    };
    Ok(Drawing { path, kind })
}
