//! Forecasts of recorded availability, as a node would have made them at moments of the past.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use predict::{Demand, Live, MeasurementError, Policy, RunTime, WindowErrors};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::curve::{Curve, LEVELS};
use crate::trace::Trace;

/// Steps from one moment with a forecast to the next: a scheduler asks again every so often.
pub const EVERY: usize = 10;
/// Windows whose errors are learned, in steps: those of a node. What is recorded is taken for what workers got, so
/// there is no lag.
const WINDOWS: [usize; 8] = [1, 2, 5, 10, 20, 60, 120, 300];
/// Steps before the first one.
const N_BEFORE: usize = 50;
/// Doublings of the demand, in steps: from one to some thousand.
const N_DOUBLINGS: i32 = 13;
/// Number of steps that forecasts look ahead. Beyond, time goes on as in the last stretch.
pub const N_LEADS_MAX: usize = 2_000;

/// Forecasts that are further off than by that standard deviation of the logarithm say nothing.
const OFF_MAX: f64 = 3.0;

/// Forecaster of the workers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Advisor {
    /// A model of `predict`, its errors learned as it went.
    Model(Box<predict::Spec>),
    /// The same, knowing only what a sensor said of the worker: its errors are those beside the sensor, not beside what
    /// workers got.
    Sensor(Box<predict::Spec>, String),
    /// Forecasts that come true.
    Perfect,
    /// The same times a factor that is drawn for each moment, log-normal with a median of 1 and this standard deviation
    /// of its logarithm; their quantiles say so.
    Off(f64),
}

/// Forecasts of a trace at each of its moments.
#[derive(Clone, Debug)]
pub struct Advice {
    curves: Vec<Arc<Curve>>,
}

impl FromStr for Advisor {
    type Err = predict::SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.eq_ignore_ascii_case("PERFECT") {
            return Ok(Self::Perfect);
        }
        // A number that is none is told of as a model that is none.
        let off = text.strip_prefix("PERFECT(").and_then(|rest| rest.strip_suffix(')')?.parse().ok());
        if let Some(off) = off.filter(|off| (0.0..=OFF_MAX).contains(off)) {
            return Ok(Self::Off(off));
        }
        match text.split_once('@') {
            Some((model, sensor)) => Ok(Self::Sensor(Box::new(model.parse()?), sensor.to_owned())),
            None => Ok(Self::Model(Box::new(text.parse()?))),
        }
    }
}

impl std::fmt::Display for Advisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model(spec) => spec.fmt(f),
            Self::Sensor(spec, sensor) => write!(f, "{spec}@{sensor}"),
            Self::Perfect => f.write_str("PERFECT"),
            Self::Off(off) => write!(f, "PERFECT({off})"),
        }
    }
}

/// The moments of a trace at which a run may begin and forecasts are made, in steps.
pub fn moments(trace: &Trace) -> impl Iterator<Item = usize> {
    (N_BEFORE..trace.samples().len()).step_by(EVERY)
}

impl Advice {
    /// Goes through the trace once, sample by sample. None for a sensor of which the trace has no readings.
    #[must_use]
    pub fn new(trace: &Trace, advisor: &Advisor) -> Option<Self> {
        match advisor {
            Advisor::Perfect => {
                Some(Self { curves: moments(trace).map(|moment| perfect(trace, moment).into()).collect() })
            }
            Advisor::Off(off) => Some(Self { curves: off_by(trace, *off) }),
            Advisor::Model(spec) => Some(Self::by(trace, trace.samples(), spec)),
            Advisor::Sensor(spec, sensor) => Some(Self::by(trace, trace.readings(sensor)?, spec)),
        }
    }

    fn by(trace: &Trace, readings: &[f64], spec: &predict::Spec) -> Self {
        let step = Duration::from_secs_f64(trace.step_seconds());
        let (mut live, mut errors) = (Live::new(Policy::of(spec)).within(0.0, 1.0), no_errors());
        let mut curves = Vec::new();
        let mut due = moments(trace).peekable();
        for (idx, sample) in readings.iter().enumerate() {
            live.step(*sample);
            let is_due = due.next_if_eq(&(idx + 1)).is_some();
            let forecast = live.forecast(if is_due { N_LEADS_MAX } else { errors.n_leads() });
            errors.step(*sample, forecast.as_ref());
            if is_due {
                let known = forecast.map(|forecast| curve(&forecast, &errors, step, MeasurementError::NONE));
                curves.push(known.unwrap_or_else(|| Curve::constant(*sample)).into());
            }
        }
        Self { curves }
    }

    /// The latest forecast that there was at a time after the beginning of the trace, in seconds.
    #[must_use]
    pub fn at(&self, trace: &Trace, seconds: f64) -> &Arc<Curve> {
        let step = (seconds / trace.step_seconds()) as usize % trace.samples().len();
        &self.curves[(step.saturating_sub(N_BEFORE) / EVERY).min(self.curves.len() - 1)]
    }
}

fn demands(step_seconds: f64) -> impl Iterator<Item = f64> {
    (0..N_DOUBLINGS).map(move |nth| step_seconds * 2_f64.powi(nth))
}

/// Returns forecasts that are perfect but for a factor at each moment. The same for traces of one name.
fn off_by(trace: &Trace, off: f64) -> Vec<Arc<Curve>> {
    let mut seed = [0; 32];
    seed.iter_mut().zip(trace.name().bytes()).for_each(|(to, byte)| *to = byte);
    let mut chance = ChaCha8Rng::from_seed(seed);
    let normal = Normal::standard();
    let scores = LEVELS.map(|level| normal.inverse_cdf(level));
    let wrong = LogNormal::new(0.0, off).expect("a checked standard deviation is one");
    let curve = |moment: usize| {
        let factor = wrong.sample(&mut chance);
        let points = perfect(trace, moment).points().collect::<Vec<_>>().into_iter();
        Curve::new(points.map(|(demand, times)| {
            (demand, std::array::from_fn(|level| factor * times[level] * (off * scores[level]).exp()))
        }))
    };
    moments(trace).map(curve).map(Arc::new).collect()
}

fn perfect(trace: &Trace, moment: usize) -> Curve {
    let from = moment as f64 * trace.step_seconds();
    Curve::new(demands(trace.step_seconds()).map(|demand| (demand, [trace.time_for(from, demand); LEVELS.len()])))
}

/// Errors of forecasts of what workers get, before any are known.
#[must_use]
pub fn no_errors() -> WindowErrors {
    WindowErrors::new(&WINDOWS, 0)
}

/// The curve that a forecast of shares of a core gives, as far as [`N_LEADS_MAX`] steps; `measurement` is how far what
/// workers get lies from what was measured.
#[must_use]
pub fn curve(
    forecast: &predict::Forecast,
    errors: &WindowErrors,
    step: Duration,
    measurement: MeasurementError,
) -> Curve {
    let mut before = (0.0, [0.0; LEVELS.len()]);
    Curve::new(demands(step.as_secs_f64()).map(|demand| {
        let cpu = Duration::from_secs_f64(demand);
        let demanded = Demand { cpu, n_threads: 1, step, since_sample: Duration::ZERO, measurement };
        let run_time = RunTime::new(forecast, errors, demanded);
        let quantile = |level: usize| {
            let known = run_time.as_ref().ok().and_then(|run_time| run_time.quantile(LEVELS[level]));
            // Beyond what can be told, time goes on as before.
            let pace = if before.0 > 0.0 { before.1[level] / before.0 } else { f64::from(u8::MAX) };
            known.map_or(pace * demand, |time| time.as_secs_f64())
        };
        before = (demand, std::array::from_fn(quantile));
        before
    }))
}
