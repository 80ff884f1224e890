//! Samples of about one moment, as they go into the buffer.

use std::collections::BTreeMap;

use prost::Message;
use units::Timestamp;

use crate::wire::{Label, Metadata, Sample, TimeSeries, WriteRequest};

/// Stale marker of Prometheus: a sample whose value is a NaN with these bits ends its series.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// The label that the name of a series is in.
const NAME: &str = "__name__";

/// Kind of a family's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A total that grows.
    Counter,
    /// A value as it is.
    Gauge,
}

/// Samples that are kept, sent and given up together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    request: WriteRequest,
}

impl Chunk {
    /// Adds a sample of the series with this name and these labels; of two labels of one name the last counts, and one
    /// without a value is none. Moments are told apart by milliseconds. A value that is no number is left out.
    ///
    /// Samples of one series are to be added oldest first.
    pub fn push<'a>(
        &mut self,
        name: &'a str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        time: Timestamp,
        value: f64,
    ) {
        if !value.is_nan() {
            self.push_any(name, labels, time, value);
        }
    }

    /// Adds a stale marker: the series has no value at this moment, so that its last one is not taken for one that
    /// still holds.
    pub fn push_gap<'a>(
        &mut self,
        name: &'a str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        time: Timestamp,
    ) {
        self.push_any(name, labels, time, f64::from_bits(STALE));
    }

    fn push_any<'a>(
        &mut self,
        name: &'a str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        time: Timestamp,
        value: f64,
    ) {
        // Receivers refuse labels that are out of order or twice there.
        let mut sorted: BTreeMap<&str, &str> = labels.into_iter().collect();
        sorted.insert(NAME, name);
        let labels = sorted.into_iter().filter(|(_, value)| !value.is_empty());
        let labels = labels.map(|(name, value)| Label { name: name.to_owned(), value: value.to_owned() }).collect();
        let sample = Sample { value, timestamp: time.as_nanos().div_euclid(1_000_000) };
        self.request.timeseries.push(TimeSeries { labels, samples: vec![sample] });
    }

    /// Describes the series of a name. Servers are free to forget the description.
    pub fn describe(&mut self, family: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => 1,
            Kind::Gauge => 2,
        };
        self.request.metadata.push(Metadata { kind, family: family.to_owned(), help: help.to_owned() });
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.request.timeseries.len()
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.timeseries.is_empty() && self.request.metadata.is_empty()
    }

    /// Returns the protobuf of a request with nothing but this. Such texts in a row are one of a request with all of
    /// them: repeated fields of protobuf are joined by joining their bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.request.encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn labels_are_in_order_once_and_not_empty() {
        let mut chunk = Chunk::default();
        chunk.push("up", [("z", "1"), ("job", "a"), ("unit", ""), ("job", "b"), ("A", "2")], at(1), 1.0);
        let labels: Vec<_> = chunk.request.timeseries[0].labels.iter().map(|one| (&*one.name, &*one.value)).collect();
        assert_eq!(labels, [("A", "2"), ("__name__", "up"), ("job", "b"), ("z", "1")]);
    }

    #[test]
    fn moments_are_milliseconds_also_before_1970() {
        let mut chunk = Chunk::default();
        for nanos in [1_999_999, -1] {
            chunk.push("up", [], Timestamp::from_nanos(nanos), 1.0);
        }
        let times: Vec<i64> = chunk.request.timeseries.iter().map(|series| series.samples[0].timestamp).collect();
        assert_eq!(times, [1, -1]);
    }

    #[test]
    fn a_value_that_is_no_number_is_left_out_and_a_gap_is_said() {
        let mut chunk = Chunk::default();
        chunk.push("up", [], at(1), f64::NAN);
        assert!(chunk.is_empty());
        chunk.push_gap("up", [], at(1));
        assert_eq!(chunk.request.timeseries[0].samples[0].value.to_bits(), STALE);
    }

    #[test]
    fn encoded_chunks_in_a_row_are_one_request() {
        let mut chunks = [Chunk::default(), Chunk::default()];
        chunks[0].push("a", [("b", "c")], at(1), 1.0);
        chunks[0].describe("a", Kind::Gauge, "A.");
        chunks[1].push("a", [("b", "c")], at(2), 2.0);
        let joined = WriteRequest::decode(&*[chunks[0].encode(), chunks[1].encode()].concat()).unwrap();
        let series = chunks.iter().flat_map(|chunk| chunk.request.timeseries.clone()).collect::<Vec<_>>();
        assert_eq!((joined.timeseries, joined.metadata), (series, chunks[0].request.metadata.clone()));
    }
}
