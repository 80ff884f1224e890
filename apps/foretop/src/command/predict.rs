//! `foretop predict`: fits a model to samples from a file and prints what it says is to come.

mod fitted;
mod horizon;
mod output;
mod plot;

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use horizon::Horizon;
use output::Prediction;
use plot::{ForecastView, PlotTarget};
use predict::{Forecast, Periods, Spec};
use series::Series;
use series::csv::CsvError;
use units::{Confidence, span};

use command_line::argument::{SampleFile, positive_span};
use command_line::failure::OrUsage;
use text::help::examples;

/// Fit a model to samples in a file, and forecast the next
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop predict trace.csv --model 'AR(16)' --horizon 30",
    "foretop predict trace.csv --column cpu --horizon 2h --format csv",
    "foretop predict uneven.csv --time-column at --step 5min --intervals empirical",
    "foretop predict local.csv --zone Europe/Berlin --horizon 2d",
    "foretop predict trace.csv --plot - --plot forecast.svg",
    "vmstat 1 100 | awk 'NR>2 {print $15}' | foretop predict - --model 'BM(32)'",
]))]
pub struct Predict {
    #[command(flatten)]
    source: SampleFile,

    /// Resample to this step: the mean of the samples in each step, a gap if there are none
    #[arg(long, value_name = "TIME", value_parser = positive_span)]
    step: Option<Duration>,

    /// The model to fit; `foretop models` lists them [default: AUTO, with seasons of a day and a week or of a year if
    /// the samples have times and are long enough]
    #[arg(long, value_name = "TEXT")]
    model: Option<Spec>,

    /// The horizon: a number of steps, or a length of time if the samples have times
    #[arg(long, value_name = "STEPS|TIME", default_value = "30")]
    horizon: Horizon,

    /// The probability that the prediction interval holds the value, between 0 and 1
    #[arg(long, value_name = "SHARE", default_value = "0.95")]
    confidence: Confidence,

    /// The kind of prediction intervals [default: adaptive for AUTO, normal for all others]
    #[arg(long, value_enum, value_name = "KIND")]
    intervals: Option<Intervals>,

    /// Widen the standard errors by the uncertainty of the coefficients
    #[arg(long)]
    widen: bool,

    /// Draw the forecast, and the last samples, into this file, as SVG or PNG depending on its name, or into the
    /// terminal if it is `-`; may be repeated
    #[arg(long, value_name = "PATH", value_parser = plot::plot)]
    plot: Vec<PlotTarget>,

    /// The format of the forecast
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    /// Table for people, six digits.
    Table,
    /// CSV for spreadsheets, full precision.
    Csv,
    /// JSON for programs, full precision; see docs/formats/cli.md.
    Json,
}

/// Values of `--intervals`.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Intervals {
    /// Quantiles of normal errors with the model's standard errors.
    #[value(alias = "gaussian")]
    Normal,
    /// Quantiles of the errors of forecasts of the newer half of the samples.
    Empirical,
    /// Quantiles that are updated with each such error.
    Adaptive,
}

impl Predict {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let series = self.read()?;
        let n_leads = self.horizon.steps(&series).or_usage()?;
        let spec = self.model.clone().unwrap_or_else(|| default_model(&series));
        let fitted = fitted::Fitted::new(&spec, series.samples(), self.intervals.map(predict::Intervals::from))?;
        let mut forecast = fitted.predictor.forecast(n_leads);
        if self.widen {
            fitted.widen(series.samples(), &mut forecast).or_usage()?;
        }
        self.draw(&series, &fitted, &forecast, out)?;
        let prediction = Prediction::new(&series, &fitted, &forecast, self.confidence);
        match self.format {
            Format::Table => prediction.write_table(out),
            Format::Csv => prediction.write_csv(out),
            Format::Json => Ok(command_line::terminal::write_json(out, &prediction)?),
        }
    }

    fn draw(
        &self,
        series: &Series,
        fitted: &fitted::Fitted,
        forecast: &Forecast,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let (name, model) = (self.source.stem(), fitted.spec.to_string());
        let view = ForecastView { series, forecast, confidences: plot::bands(self.confidence), name, model };
        for plot in &self.plot {
            match plot {
                PlotTarget::File(drawing) => drawing.draw(&view.picture())?,
                PlotTarget::Terminal if self.format == Format::Table => writeln!(out, "{}", view.text())?,
                PlotTarget::Terminal => {
                    return Err(anyhow!("a plot in the terminal goes with --format table only")).or_usage();
                }
            }
        }
        Ok(())
    }

    /// The samples; where their times are too uneven, the error says which step would do.
    fn read(&self) -> anyhow::Result<Series> {
        let read = self.source.read_at(self.step);
        let step = read.as_ref().err().and_then(|error| error.downcast_ref::<CsvError>()?.step_to_try());
        match step {
            None => read,
            Some(step) => read.with_context(|| {
                format!("the times suggest no step; bring the samples to one, as with --step '{}'", span::format(step))
            }),
        }
    }
}

/// Returns AUTO with the seasons that the step suggests, as far as the samples are long enough for them.
pub(super) fn default_model(series: &Series) -> Spec {
    let suggested = series.grid().map_or(Periods::NONE, |grid| Periods::of_calendar(grid.step.length()));
    Spec::auto_with(suggested.known_in(series.samples().len()))
}

impl From<Intervals> for predict::Intervals {
    fn from(intervals: Intervals) -> Self {
        match intervals {
            Intervals::Normal => Self::Gaussian,
            Intervals::Empirical => Self::Empirical,
            Intervals::Adaptive => Self::Adaptive,
        }
    }
}
