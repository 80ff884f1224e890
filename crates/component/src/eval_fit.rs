//! The evaluator of a prediction server: compares forecasts with what came, and orders a refit when they are too wrong,
//! or wronger or better than they say (RPS's `evalfit`; Dinda and O'Hallaron 1999, sections 5.2.3 and 8.1).

use std::collections::VecDeque;
use std::time::Duration;

use predict::{Evaluator, LeadScore};
use stream::{Answer, Ask, Endpoint, Forecast, Handler, InputId, Message, Mirror, Outputs, Reply, Request, Sample};

use crate::steps::Steps;

/// Samples that wait for their forecasts, and forecasts that wait for their samples, at most.
const N_WAITING_MAX: usize = 4096;

/// Number of times that scores are looked at while a window fills: scores are over the last errors, a hundred if no
/// other number is set; looking at them each time that a tenth of these has come costs little.
const LOOKS_PER_WINDOW: usize = 10;

/// Settings of an evaluator.
#[derive(Clone, Debug)]
pub struct EvalFitSettings {
    /// The leads that are watched, from 1.
    pub leads: Vec<usize>,
    /// The greatest root mean squared error that passes, in the unit of the samples.
    pub error_max: f64,
    /// Factor by which that error may be above or below the predictor's estimate of it, above 1.
    pub misestimate_max: f64,
    /// Number of the last errors that are scored.
    pub window: usize,
    /// Number of errors before which there is no verdict.
    pub n_samples_min: usize,
    /// Number of samples since the last refit before which there is no other.
    pub every: usize,
    /// The prediction server that refits are requested from, as `source:`; none if `None`.
    pub refit: Option<Endpoint>,
}

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalFitSettingsError {
    /// A lead is below 1, or there is none.
    #[error("leads must be 1 or more, and at least one is needed")]
    Leads,
    /// No error would pass, or the limit is no number.
    #[error("the error limit must be above 0, not {given}")]
    Error {
        /// The value that was given.
        given: f64,
    },
    /// A factor that every estimate misses by.
    #[error("the misestimate limit must be a factor above 1, not {given}")]
    Misestimate {
        /// The value that was given.
        given: f64,
    },
    /// More errors are wanted than are kept, or none.
    #[error("a verdict needs 1 to {window} errors, as many as are kept, not {given}")]
    Samples {
        /// The number that was given.
        given: usize,
        /// Number of errors that are kept.
        window: usize,
    },
}

/// The computation of an evaluator; [`EvalFit::mirror`] puts a mirror around it. Samples and forecasts come in by
/// different sources, and belong together by the time of their measurement. Of a stream with several signals the first
/// is watched.
pub struct EvalFit {
    settings: EvalFitSettings,
    evaluator: Evaluator,
    steps: Steps,
    samples: VecDeque<Sample>,
    forecasts: VecDeque<Forecast>,
    /// Input of the prediction server that refits are requested from.
    line: Option<InputId>,
    n_since_refit: usize,
    n_ordered: u64,
    n_done: u64,
    last_reason: Option<String>,
    last_refusal: Option<String>,
}

impl EvalFit {
    /// A mirror around an evaluator, without endpoints.
    ///
    /// # Errors
    /// [`EvalFitSettingsError`] when a setting is out of range.
    pub fn mirror(name: &str, settings: EvalFitSettings) -> Result<Mirror<Self>, EvalFitSettingsError> {
        settings.check()?;
        let refit = settings.refit.clone();
        let mut mirror = Mirror::new(
            name,
            Self {
                evaluator: settings.evaluator(),
                steps: Steps::new(Duration::ZERO),
                samples: VecDeque::new(),
                forecasts: VecDeque::new(),
                line: None,
                n_since_refit: 0,
                n_ordered: 0,
                n_done: 0,
                last_reason: None,
                last_refusal: None,
                settings,
            },
        );
        if let Some(refit) = refit {
            mirror.handler_mut().line = Some(mirror.asking(refit));
        }
        Ok(mirror)
    }

    /// Matches samples with the forecasts made at them.
    fn advance(&mut self, outputs: &mut Outputs) {
        while let (Some(sample), Some(forecast)) = (self.samples.front(), self.forecasts.front()) {
            if sample.time > forecast.time {
                // Its sample did not come here.
                self.forecasts.pop_front();
                continue;
            }
            let forecast = if sample.time == forecast.time { self.forecasts.pop_front() } else { None };
            if let Some(sample) = self.samples.pop_front() {
                self.score(sample, forecast, outputs);
            }
        }
        while self.samples.len() > N_WAITING_MAX
            && let Some(sample) = self.samples.pop_front()
        {
            self.score(sample, None, outputs);
        }
        while self.forecasts.len() > N_WAITING_MAX {
            self.forecasts.pop_front();
        }
    }

    fn score(&mut self, sample: Sample, forecast: Option<Forecast>, outputs: &mut Outputs) {
        for _ in 0..self.steps.to(sample.number, sample.time) {
            self.evaluator.step(f64::NAN, None);
        }
        let said = forecast.map(|forecast| predict::Forecast::new(forecast.means, forecast.standard_errors));
        self.evaluator.step(sample.value, said.as_ref());
        self.n_since_refit += 1;
        let is_time = self.n_since_refit.is_multiple_of((self.settings.window / LOOKS_PER_WINDOW).max(1));
        if is_time && (self.n_ordered == 0 || self.n_since_refit >= self.settings.every) {
            self.judge(outputs);
        }
    }

    fn judge(&mut self, outputs: &mut Outputs) {
        let scores = self.evaluator.scores();
        let Some(reason) = scores.iter().find_map(|score| self.settings.fault(score)) else { return };
        tracing::info!(reason, "a refit is ordered");
        if let Some(line) = self.line {
            outputs.send_to(line, &Request { id: self.n_ordered, ask: Ask::Refit {} });
        }
        self.n_ordered += 1;
        self.n_since_refit = 0;
        self.last_reason = Some(reason);
        // What the model was wrong by before is none of the next one's.
        self.evaluator = self.settings.evaluator();
    }
}

impl EvalFitSettings {
    fn check(&self) -> Result<(), EvalFitSettingsError> {
        if self.leads.is_empty() || self.leads.contains(&0) {
            return Err(EvalFitSettingsError::Leads);
        }
        if self.error_max.is_nan() || self.error_max <= 0.0 {
            return Err(EvalFitSettingsError::Error { given: self.error_max });
        }
        if self.misestimate_max.is_nan() || self.misestimate_max <= 1.0 {
            return Err(EvalFitSettingsError::Misestimate { given: self.misestimate_max });
        }
        if !(1..=self.window).contains(&self.n_samples_min) {
            return Err(EvalFitSettingsError::Samples { given: self.n_samples_min, window: self.window });
        }
        Ok(())
    }

    fn evaluator(&self) -> Evaluator {
        Evaluator::with_window(&self.leads, self.window)
    }

    /// Returns the fault of forecasts with this score, if there is one.
    fn fault(&self, score: &LeadScore) -> Option<String> {
        let (error, misestimate) = measures(score)?;
        if score.n < self.n_samples_min {
            return None;
        }
        let lead = score.lead;
        if error > self.error_max {
            return Some(format!("the error of lead {lead} is {error:.6}, above {}", self.error_max));
        }
        let is_wrong = misestimate > self.misestimate_max || misestimate < 1.0 / self.misestimate_max;
        is_wrong
            .then(|| format!("the error of lead {lead} is {misestimate:.3} times what the predictor takes it to be"))
    }
}

/// Returns the root mean squared error, and its ratio to the predictor's estimate: 1 where both are 0.
fn measures(score: &LeadScore) -> Option<(f64, f64)> {
    let (errors, expected) = (score.errors?, score.expected_mean_squared?);
    let misestimate = if errors.mean_squared == expected { 1.0 } else { (errors.mean_squared / expected).sqrt() };
    Some((errors.root_mean_squared(), misestimate))
}

impl Handler for EvalFit {
    fn message(&mut self, input: InputId, message: Message, outputs: &mut Outputs) {
        match message {
            Message::Reply(Reply { answer, .. }) if self.line == Some(input) => match answer {
                Answer::Configuration(_) => self.n_done += 1,
                Answer::Refused { reason } => self.last_refusal = Some(reason),
                other => self.last_refusal = Some(format!("the prediction server answered {other:?}")),
            },
            Message::Description(description) => self.steps = Steps::new(description.step()),
            Message::Sample(sample) => self.samples.push_back(sample),
            Message::Measurement(measurement) => self.samples.extend(measurement.values.first().map(|value| Sample {
                number: measurement.number,
                time: measurement.time,
                value: *value,
            })),
            Message::Forecast(forecast) if forecast.signal == 0 => self.forecasts.push_back(forecast),
            _ => {}
        }
        self.advance(outputs);
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![
            ("refits_ordered".to_owned(), self.n_ordered.to_string()),
            ("refits_done".to_owned(), self.n_done.to_string()),
            ("samples_since_refit".to_owned(), self.n_since_refit.to_string()),
        ];
        for score in self.evaluator.scores() {
            if let Some((error, misestimate)) = measures(&score) {
                let text = format!("{error:.6} over {} errors, {misestimate:.3} times what was estimated", score.n);
                facts.push((format!("error_of_lead_{}", score.lead), text));
            }
        }
        facts.extend(self.last_reason.clone().map(|reason| ("last_reason".to_owned(), reason)));
        facts.extend(self.last_refusal.clone().map(|reason| ("last_refusal".to_owned(), reason)));
        facts
    }
}
