//! The answer to a request that is refused: a status, and JSON with a code, a sentence and the field to blame.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::api::{ErrorBody, ErrorCode, ErrorDetail};
use crate::hub::QueryError;

/// The reason why a request is not answered.
#[derive(Debug)]
pub(crate) struct Refusal(ErrorDetail);

impl Refusal {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(ErrorDetail { code, message: message.into(), field: None })
    }

    /// A parameter or field of the request is to blame.
    pub(crate) fn of_field(code: ErrorCode, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self(ErrorDetail { code, message: message.into(), field: Some(field.into()) })
    }

    /// The query parameter `field` makes no sense.
    pub(crate) fn bad_parameter(field: &str, message: impl Into<String>) -> Self {
        Self::of_field(ErrorCode::BadParameter, field, message)
    }

    pub(crate) fn unknown_series(id: &str) -> Self {
        Self::new(ErrorCode::UnknownSeries, format!("there is no series `{id}`; GET /api/v1/series lists them"))
    }

    /// A fault of ours: `inside` goes to the log, and the outside learns only that there was one.
    pub(crate) fn internal(inside: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = inside, "request failed");
        Self::new(ErrorCode::Internal, "the node failed to answer; its log says why")
    }
}

/// The status that belongs to each code.
fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::BadParameter | ErrorCode::BadBody | ErrorCode::BadModel => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::HostNotAllowed => StatusCode::FORBIDDEN,
        ErrorCode::NotFound | ErrorCode::UnknownSeries | ErrorCode::UnknownJob => StatusCode::NOT_FOUND,
        ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::Conflict | ErrorCode::OutOfOrder | ErrorCode::NotReady => StatusCode::CONFLICT,
        ErrorCode::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorCode::CannotFit => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::TooMany | ErrorCode::StoreUnavailable | ErrorCode::AgentUnavailable => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = status(self.0.code);
        let mut response = (status, Json(ErrorBody { error: self.0 })).into_response();
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert("www-authenticate", "Bearer".parse().expect("it is a header value"));
            }
            // Whoever comes when a limit is reached should not take up one of the connections as well.
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::PAYLOAD_TOO_LARGE => {
                headers.insert("connection", "close".parse().expect("it is a header value"));
            }
            _ => {}
        }
        response
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        let message = error.to_string();
        match error {
            QueryError::UnknownSeries { id } => Self::unknown_series(&id),
            QueryError::NoMinute { .. } => Self::of_field(ErrorCode::NotFound, "at", message),
            QueryError::UnknownRule { .. } => Self::new(ErrorCode::NotFound, message),
            QueryError::NoCause { .. } => Self::of_field(ErrorCode::NotFound, "id", message),
            QueryError::NotReady { .. } | QueryError::TooYoung { .. } | QueryError::TooFewMinutes { .. } => {
                Self::new(ErrorCode::NotReady, message)
            }
            QueryError::BadParameter { field, .. } => Self::bad_parameter(field, message),
            QueryError::BadModel(_) => Self::of_field(ErrorCode::BadModel, "model", message),
            QueryError::RunTime(_) => Self::new(ErrorCode::NotReady, message),
            QueryError::TooManyPoints { .. } => Self::new(ErrorCode::BadParameter, message),
            QueryError::RuleOfFile { .. } => Self::of_field(ErrorCode::Conflict, "name", message),
            QueryError::Exists { .. } => Self::of_field(ErrorCode::Conflict, "id", message),
            QueryError::NotPushed { .. } | QueryError::NothingFires { .. } => Self::new(ErrorCode::Conflict, message),
            QueryError::OutOfOrder { .. } => Self::of_field(ErrorCode::OutOfOrder, "samples", message),
            QueryError::TooManySeries { .. }
            | QueryError::TooManyRules
            | QueryError::TooMuchMemory { .. }
            | QueryError::TooFarBehind { .. }
            | QueryError::TooMuchWork { .. } => Self::new(ErrorCode::TooMany, message),
            QueryError::StoreUnavailable { .. } => Self::new(ErrorCode::StoreUnavailable, message),
        }
    }
}
