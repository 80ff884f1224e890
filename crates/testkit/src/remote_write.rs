//! A request of Prometheus remote write by its published definition, as far as tests look at it; written apart from
//! what `remote-write` encodes by.

use prost::Message;

/// A request.
#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    /// One element for each set of labels.
    #[prost(message, repeated, tag = "1")]
    pub timeseries: Vec<TimeSeries>,
}

/// Samples of one set of labels.
#[derive(Clone, PartialEq, Message)]
pub struct TimeSeries {
    /// Labels in the order of their names.
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Label>,
    /// Samples, oldest first.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
}

/// A name with its value.
#[derive(Clone, PartialEq, Message)]
pub struct Label {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its text.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A value with its time.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Value in the unit of the series.
    #[prost(double, tag = "1")]
    pub value: f64,
    /// Time in milliseconds since 1970-01-01 00:00 UTC.
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

impl WriteRequest {
    /// Reads a request from these bytes, unpacked already.
    ///
    /// # Errors
    /// When they are no request.
    pub fn read(bytes: &[u8]) -> std::io::Result<Self> {
        Self::decode(bytes).map_err(std::io::Error::other)
    }
}
