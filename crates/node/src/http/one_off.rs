//! A forecast of samples that come with the request, of which nothing is kept: `POST /api/v1/forecast`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use predict::{FitError, Spec};
use units::Confidence;

use super::App;
use super::extract::{JsonBody, NoParameters, Query};
use super::refusal::Refusal;
use crate::api::{ErrorBody, ErrorCode, Fitted, OneOff, OneOffForecast};

/// The most samples in a request and the most steps in an answer.
const STEPS_MAX: usize = 100_000;

/// Fits a model to samples and forecasts what follows them.
#[utoipa::path(post, path = "/api/v1/forecast", tag = "forecast", request_body = OneOff, responses(
    (status = 200, body = OneOffForecast), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn forecast(
    State(app): State<App>,
    _: Query<NoParameters>,
    JsonBody(asked): JsonBody<OneOff>,
) -> Result<Response, Refusal> {
    let checked = Checked::new(asked)?;
    app.fits.run(move || checked.answer().map(|answer| Json(answer).into_response())).await
}

/// A request that makes sense, though its samples may still not yield the model.
struct Checked {
    spec: Spec,
    samples: Vec<f64>,
    n_leads: usize,
    confidence: Confidence,
}

impl Checked {
    fn new(asked: OneOff) -> Result<Self, Refusal> {
        let spec = asked
            .model
            .parse()
            .map_err(|error: predict::SpecError| Refusal::of_field(ErrorCode::BadModel, "model", error.to_string()))?;
        if !(1..=STEPS_MAX).contains(&asked.horizon) {
            let message = format!("horizon is {} steps; it has to be from 1 to {STEPS_MAX}", asked.horizon);
            return Err(Refusal::bad_parameter("horizon", message));
        }
        if asked.samples.len() > STEPS_MAX {
            let message = format!("there are {} samples; at most {STEPS_MAX} are taken", asked.samples.len());
            return Err(Refusal::bad_parameter("samples", message));
        }
        let confidence = asked.confidence.map_or(Ok(Confidence::default()), Confidence::new);
        let confidence = confidence.map_err(|error| Refusal::bad_parameter("confidence", error.to_string()))?;
        let samples = asked.samples.into_iter().map(|sample| sample.unwrap_or(f64::NAN)).collect();
        Ok(Self { spec, samples, n_leads: asked.horizon, confidence })
    }

    fn answer(&self) -> Result<OneOffForecast, Refusal> {
        let model = predict::fit(&self.spec, &self.samples)?;
        let forecast = model.predictor().forecast(self.n_leads);
        let (lower, upper) = forecast.intervals(self.confidence).map(|at| (at.lower, at.upper)).unzip();
        Ok(OneOffForecast {
            model: self.spec.to_string(),
            confidence: self.confidence.probability(),
            lower,
            upper,
            mean: forecast.means().to_vec(),
            standard_error: forecast.standard_errors().to_vec(),
            fitted: Fitted::of(&model),
        })
    }
}

impl From<FitError> for Refusal {
    fn from(error: FitError) -> Self {
        Self::of_field(ErrorCode::CannotFit, "samples", error.to_string())
    }
}
