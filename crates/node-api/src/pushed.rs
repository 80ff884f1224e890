//! Series that programs make and feed.

use serde::{Deserialize, Serialize};
use units::Timestamp;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// Request of `POST /api/v1/series`: a program's own signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewSeries {
    /// Its name: at most 200 bytes, without control characters.
    pub id: String,
    /// Unit of its values; empty when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Description of the signal, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// Time between two samples, with a unit: `5s`.
    pub step: String,
    /// A model specification; the node's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Request of `POST /api/v1/series/{id}/samples`; all are taken or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PushedSamples {
    /// Oldest first.
    pub samples: Vec<PushedSample>,
}

/// One sample of a program's own signal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PushedSample {
    /// The moment it is for, rounded to the nearest slot; the slot after the last one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub time: Option<Timestamp>,
    /// Its value; a gap is `null`, which has to be written.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub value: Option<f64>,
}

/// Answer of `POST /api/v1/series/{id}/samples`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Accepted {
    /// Number of samples that the node took.
    pub accepted: usize,
}
