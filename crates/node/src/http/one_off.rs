//! Forecasts of samples that come with the request, of which nothing is kept: `POST /api/v1/forecast` for one series,
//! `POST /api/v1/forecasts` for many.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use predict::{Cancel, FitError, Predictor, Spec, fit_within};
use units::Confidence;

use super::App;
use super::extract::{JsonBody, NoParameters, Query};
use super::refusal::Refusal;
use super::server::Peer;
use crate::api::{ErrorBody, ErrorCode, OneOff, OneOffForecast, OneOffForecasts, OneOffs};
use crate::hub::found;

/// The most samples in a request and the most steps in an answer, over all series.
const STEPS_MAX: usize = 100_000;

/// Limit of the cost of one fit, in operations: about ten seconds.
const FIT_MAX: u64 = 10_000_000_000;

/// Fits a model to samples and forecasts what follows them.
#[utoipa::path(post, path = "/api/v1/forecast", tag = "forecast", request_body = OneOff, responses(
    (status = 200, body = OneOffForecast), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn forecast(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    _: Query<NoParameters>,
    JsonBody(asked): JsonBody<OneOff>,
) -> Result<Response, Refusal> {
    let question = Question::new(&asked.model, asked.horizon, asked.confidence, 1)?;
    check_samples("samples", asked.samples.len())?;
    let share = app.budget.take(peer.map(|peer| peer.0.0), question.cost(asked.samples.len()))?;
    let answer = move |cancel: &Cancel| {
        let _share = share;
        Ok(Json(question.answer(&with_gaps(asked.samples), cancel)?).into_response())
    };
    app.fits.run_unless(answer).await
}

/// Fits a model to each of many series and forecasts what follows them.
#[utoipa::path(post, path = "/api/v1/forecasts", tag = "forecast", request_body = OneOffs, responses(
    (status = 200, body = OneOffForecasts), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn forecasts(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    _: Query<NoParameters>,
    JsonBody(asked): JsonBody<OneOffs>,
) -> Result<Response, Refusal> {
    let question = Question::new(&asked.model, asked.horizon, asked.confidence, asked.series.len())?;
    check_samples("series", asked.series.values().map(Vec::len).sum())?;
    let cost = asked.series.values().fold(0_u64, |sum, samples| sum.saturating_add(question.cost(samples.len())));
    let share = app.budget.take(peer.map(|peer| peer.0.0), cost)?;
    let answer = move |cancel: &Cancel| {
        let _share = share;
        Ok(Json(question.answer_all(asked.series, cancel)).into_response())
    };
    app.fits.run_unless(answer).await
}

/// The question about every series: a request that makes sense, though samples may still not yield the model.
struct Question {
    spec: Spec,
    n_leads: usize,
    confidence: Confidence,
}

impl Question {
    fn new(model: &str, horizon: usize, confidence: Option<f64>, n_series: usize) -> Result<Self, Refusal> {
        let spec = model
            .parse()
            .map_err(|error: predict::SpecError| Refusal::of_field(ErrorCode::BadModel, "model", error.to_string()))?;
        let horizon_max = STEPS_MAX / n_series.max(1);
        if !(1..=horizon_max).contains(&horizon) {
            let message =
                format!("horizon is {horizon} steps; for {n_series} series it must be from 1 to {horizon_max}");
            return Err(Refusal::bad_parameter("horizon", message));
        }
        let confidence = confidence.map_or(Ok(Confidence::default()), Confidence::new);
        let confidence = confidence.map_err(|error| Refusal::bad_parameter("confidence", error.to_string()))?;
        Ok(Self { spec, n_leads: horizon, confidence })
    }

    /// Returns the cost of a series of so many samples, in operations. A fit that may not be made costs nothing.
    fn cost(&self, n_samples: usize) -> u64 {
        Some(self.spec.fit_cost(n_samples)).filter(|cost| *cost <= FIT_MAX).unwrap_or(0)
    }

    /// One series after the other, so that there is never more than one predictor.
    fn answer_all(&self, series: BTreeMap<String, Vec<Option<f64>>>, cancel: &Cancel) -> OneOffForecasts {
        let mut answer = OneOffForecasts { forecasts: BTreeMap::new(), refused: BTreeMap::new() };
        for (name, samples) in series {
            match self.answer(&with_gaps(samples), cancel) {
                Ok(forecast) => drop(answer.forecasts.insert(name, forecast)),
                Err(error) => drop(answer.refused.insert(name, error.to_string())),
            }
        }
        answer
    }

    fn answer(&self, samples: &[f64], cancel: &Cancel) -> Result<OneOffForecast, FitError> {
        let predictor = fit_within(&self.spec, samples, FIT_MAX, cancel)?.predictor();
        Ok(self.forecast(&predictor))
    }

    fn forecast(&self, predictor: &Predictor) -> OneOffForecast {
        let forecast = predictor.forecast(self.n_leads);
        let (lower, upper) = forecast.intervals(self.confidence).map(|at| (at.lower, at.upper)).unzip();
        OneOffForecast {
            model: self.spec.to_string(),
            confidence: self.confidence.probability(),
            lower,
            upper,
            mean: forecast.means().to_vec(),
            standard_error: forecast.standard_errors().to_vec(),
            fitted: found(predictor.model()),
        }
    }
}

fn check_samples(parameter: &'static str, n_samples: usize) -> Result<(), Refusal> {
    if n_samples > STEPS_MAX {
        let message = format!("there are {n_samples} samples; at most {STEPS_MAX} are taken");
        return Err(Refusal::bad_parameter(parameter, message));
    }
    Ok(())
}

fn with_gaps(samples: Vec<Option<f64>>) -> Vec<f64> {
    samples.into_iter().map(|sample| sample.unwrap_or(f64::NAN)).collect()
}

impl From<FitError> for Refusal {
    fn from(error: FitError) -> Self {
        Self::of_field(ErrorCode::CannotFit, "samples", error.to_string())
    }
}
