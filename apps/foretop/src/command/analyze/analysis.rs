//! Analysis of a series. The JSON is specified in docs/formats/cli.md.

use std::time::Duration;

use predict::{Outlook, Periods};
use serde::Serialize;
use series::Series;
use statistics::{Decomposition, Kpss, PoxPoint, StatisticError, Verdict};
use text::figure::six_digits;
use units::span;

use crate::whiteness::{Normality, Whiteness};

/// Everything at once. What cannot be had is `None`, and the reason is among `unavailable`.
#[derive(Debug, Serialize)]
pub struct Analysis {
    pub n_samples: usize,
    pub n_gaps: usize,
    pub step_seconds: Option<f64>,
    pub step: Option<String>,
    pub start: Option<String>,
    pub end: Option<String>,
    pub mean: f64,
    pub variance: f64,
    pub min: f64,
    pub max: f64,
    /// Beyond plus or minus this lie 5 % of the correlations of noise.
    pub significance_bound: f64,
    /// The autocorrelations at lags 1, 2, …
    pub autocorrelations: Vec<f64>,
    pub partial_autocorrelations: Vec<f64>,
    pub whiteness: Option<Whiteness>,
    pub normality: Option<Normality>,
    pub aggregated: Vec<Level>,
    /// `None` without a season that came three times and explains anything.
    pub decomposition: Option<Parts>,
    /// The samples that what follows is of.
    pub stretch: Stretch,
    pub stationarity: Option<Stationarity>,
    pub hurst: Vec<Estimate>,
    pub pox: Vec<Pox>,
    #[serde(skip)]
    pub periodogram: Option<statistics::Periodogram>,
    pub unavailable: Vec<String>,
}

/// The longest row of samples without a gap.
#[derive(Debug, Serialize)]
pub struct Stretch {
    /// Position of its first sample, from 0.
    pub first_idx: usize,
    pub n: usize,
}

/// The series of means of `length` samples each.
#[derive(Debug, Serialize)]
pub struct Level {
    pub length: usize,
    pub n: usize,
    pub variance: f64,
}

/// The parts that the series is put together from.
#[derive(Debug, Serialize)]
pub struct Parts {
    pub level_ratio: f64,
    pub seasons: Vec<Season>,
    pub rest_ratio: f64,
    #[serde(skip)]
    pub values: Decomposition,
}

/// Days, weeks, years, and what was found.
#[derive(Debug, Serialize)]
pub struct Season {
    pub name: String,
    pub period_samples: f64,
    pub explained_ratio: f64,
}

#[derive(Debug, Serialize)]
pub struct Stationarity {
    pub verdict: &'static str,
    #[serde(skip)]
    pub sentence: String,
    pub level: Test,
    pub trend: Test,
}

#[derive(Debug, Serialize)]
pub struct Test {
    pub statistic: f64,
    pub n_lags: usize,
    pub p_value: f64,
}

#[derive(Debug, Serialize)]
pub struct Estimate {
    pub method: &'static str,
    pub exponent: f64,
    pub standard_error: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct Pox {
    pub length: usize,
    pub rescaled_range: f64,
}

impl Analysis {
    /// Analyzes a series of at least two known samples, and fewer lags than those.
    pub fn of(series: &Series, n_lags: usize) -> Self {
        let samples = series.samples();
        let mut unavailable = Vec::new();
        let mut available = Available { reasons: &mut unavailable };
        let summary = statistics::summary(samples).expect("two samples are known");
        let (first_idx, stretch) = statistics::longest_stretch(samples);
        let time_of = |idx| series.grid().and_then(|grid| Some(grid.text_of(grid.time_of(idx)?)));
        Self {
            n_samples: summary.n,
            n_gaps: summary.n_gaps,
            step_seconds: series.grid().map(|grid| grid.step.length().as_secs_f64()),
            step: series.grid().map(|grid| grid.step.to_string()),
            start: time_of(0),
            end: time_of(samples.len() - 1),
            mean: summary.mean,
            variance: summary.variance,
            min: summary.min,
            max: summary.max,
            significance_bound: statistics::significance_bound(summary.n),
            autocorrelations: statistics::autocorrelations(samples, n_lags).split_off(1),
            partial_autocorrelations: statistics::partial_autocorrelations(samples, n_lags),
            whiteness: available.of(statistics::Whiteness::test(samples, n_lags, 0).map(Whiteness::from)),
            normality: available.of(statistics::normality(samples).map(Normality::from)),
            aggregated: aggregated(samples),
            decomposition: parts(samples, series.grid().map(|grid| grid.step.length())),
            stretch: Stretch { first_idx, n: stretch.len() },
            stationarity: available.of(statistics::stationarity(stretch).map(Stationarity::from)),
            hurst: hurst(stretch, &mut available),
            pox: available.of(statistics::pox_plot(stretch)).unwrap_or_default().into_iter().map(Pox::from).collect(),
            periodogram: available.of(statistics::periodogram(stretch)),
            unavailable,
        }
    }

    /// Returns the number of gaps, in words.
    pub fn gaps(&self) -> String {
        match self.n_gaps {
            0 => "no gaps".to_owned(),
            1 => "1 gap".to_owned(),
            n => format!("{n} gaps"),
        }
    }
}

/// Keeps the reasons of what is not to be had.
struct Available<'a> {
    reasons: &'a mut Vec<String>,
}

impl Available<'_> {
    fn of<T>(&mut self, result: Result<T, StatisticError>) -> Option<T> {
        let reason = match result {
            Ok(statistic) => return Some(statistic),
            Err(error) => error.to_string(),
        };
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
        None
    }
}

/// Takes the samples apart by days and weeks or by years, if the step determines their lengths, and by the seasons that
/// an outlook finds.
fn parts(samples: &[f64], step: Option<Duration>) -> Option<Parts> {
    let given = step.map_or(Periods::NONE, Periods::of_calendar);
    let mut outlook = Outlook::new(given, 1);
    samples.iter().for_each(|sample| outlook.step(*sample));
    let periods: Vec<f64> = given.steps().chain(outlook.found().iter().map(|season| season.period)).collect();
    let values = statistics::decomposition(samples, &periods)?;
    let season = |season: &statistics::Season| Season {
        name: name(season.period, step),
        period_samples: season.period,
        explained_ratio: season.component.share,
    };
    Some(Parts {
        level_ratio: values.level.share,
        seasons: values.seasons.iter().map(season).collect(),
        rest_ratio: values.rest.share,
        values,
    })
}

fn name(period: f64, step: Option<Duration>) -> String {
    let Some(step) = step else { return format!("period of {} samples", six_digits(period)) };
    match (period * step.as_secs_f64()).round() {
        86_400.0 => "day".to_owned(),
        604_800.0 => "week".to_owned(),
        31_557_600.0 => "year".to_owned(),
        seconds => format!("period of {}", span::format(Duration::from_secs_f64(seconds))),
    }
}

/// Lengths double as long as there are ten means; fewer have no variance worth printing.
fn aggregated(samples: &[f64]) -> Vec<Level> {
    let lengths =
        std::iter::successors(Some(1), |length| Some(2 * length)).take_while(|length| samples.len() / length >= 10);
    let level = |length: usize| {
        let n_whole = samples.len() / length * length;
        let means = series::bucket_means(&samples[..n_whole], length);
        statistics::summary(&means).map(|summary| Level { length, n: summary.n, variance: summary.variance })
    };
    lengths.filter_map(level).collect()
}

type Method = fn(&[f64]) -> Result<statistics::Hurst, StatisticError>;

const METHODS: [(&str, Method); 4] = [
    ("rescaled range", statistics::rescaled_range),
    ("aggregated variance", statistics::aggregated_variance),
    ("log-periodogram regression", statistics::geweke_porter_hudak),
    ("local Whittle", statistics::whittle),
];

fn hurst(stretch: &[f64], available: &mut Available<'_>) -> Vec<Estimate> {
    let estimate = |(method, estimate): (&'static str, Method)| {
        let hurst = available.of(estimate(stretch))?;
        let standard_error = Some(hurst.standard_error).filter(|error| !error.is_nan());
        Some(Estimate { method, exponent: hurst.exponent, standard_error })
    };
    METHODS.into_iter().filter_map(estimate).collect()
}

impl From<statistics::Stationarity> for Stationarity {
    fn from(tested: statistics::Stationarity) -> Self {
        let verdict = match tested.verdict {
            Verdict::Level => "level",
            Verdict::Trend => "trend",
            Verdict::Wanders => "wanders",
        };
        Self { verdict, sentence: tested.verdict.to_string(), level: tested.level.into(), trend: tested.trend.into() }
    }
}

impl From<Kpss> for Test {
    fn from(test: Kpss) -> Self {
        Self { statistic: test.statistic, n_lags: test.n_lags, p_value: test.p_value }
    }
}

impl From<PoxPoint> for Pox {
    fn from(point: PoxPoint) -> Self {
        Self { length: point.length, rescaled_range: point.rescaled_range }
    }
}
