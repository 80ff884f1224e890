//! Answers of a Prometheus server: `docs/howto/prometheus.md` names the part of its HTTP interface that is used.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The whole answer.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) data: Option<Data>,
    #[serde(rename = "errorType")]
    pub(super) kind: Option<String>,
    pub(super) error: Option<String>,
}

/// The value of the expression.
#[derive(Debug, Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
pub(super) enum Data {
    Scalar(Point),
    Vector(Vec<Element>),
    Matrix(Vec<Row>),
    String(IgnoredAny),
}

/// A moment in seconds since 1970, and a number as text: `1`, `NaN`, `+Inf`.
pub(super) type Point = (f64, String);

/// One series at one moment. A histogram has no value that is one number.
#[derive(Debug, Deserialize)]
pub(super) struct Element {
    pub(super) metric: Labels,
    pub(super) value: Option<Point>,
}

/// One series over some time.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    pub(super) metric: Labels,
    #[serde(default)]
    pub(super) values: Vec<Point>,
}

/// Names and values of labels, in order.
pub(super) type Labels = BTreeMap<String, String>;

/// The number, if it is one and finite.
pub(super) fn number(point: &Point) -> Option<f64> {
    point.1.parse().ok().filter(|value: &f64| value.is_finite())
}
