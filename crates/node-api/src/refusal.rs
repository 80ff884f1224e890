//! Answers that report an error.

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Every answer with a status of 4xx or 5xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ErrorDetail {
    /// Error code, for programs.
    pub code: ErrorCode,
    /// Error message, for people: names the value, and what would be right.
    pub message: String,
    /// The parameter or field to blame; absent if no single one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// Error code, for programs. The set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 400: a parameter has a value that makes no sense.
    BadParameter,
    /// 400: the body is not JSON, or not of the right shape.
    BadBody,
    /// 400: no model specification.
    BadModel,
    /// 401: no token, or a wrong one.
    Unauthorized,
    /// 403: the name in `Host` is not this node's, or the request comes from a page elsewhere.
    HostNotAllowed,
    /// 404: no such path.
    NotFound,
    /// 404: no series of that name.
    UnknownSeries,
    /// 404: no job of that name.
    UnknownJob,
    /// 405: the path does not take this method.
    MethodNotAllowed,
    /// 409: the series exists or belongs to a sensor, or the file of rules has the name.
    Conflict,
    /// 409: a sample that is not later than the last.
    OutOfOrder,
    /// 409: too few samples for a forecast.
    NotReady,
    /// 413: the body is over 1 MiB.
    BodyTooLarge,
    /// 415: the body is not declared as JSON.
    UnsupportedMediaType,
    /// 422: the model cannot be fitted to these samples.
    CannotFit,
    /// 500: a fault of the node.
    Internal,
    /// 503: the agent that measures the kernel does not answer.
    AgentUnavailable,
    /// 503: a limit of clients, series or work is reached.
    TooMany,
    /// 503: the store cannot be read or written.
    StoreUnavailable,
}
