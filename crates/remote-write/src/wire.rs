//! The messages of Prometheus remote write 1.0, `prometheus.WriteRequest` and what is in it, as protobuf.
//!
//! Only what is sent: exemplars and native histograms are left out.

/// Content of one request.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) metadata: Vec<Metadata>,
}

/// A series and some of its samples, oldest first.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TimeSeries {
    /// Labels in the order of their names, `__name__` among them; none empty, none twice.
    #[prost(message, repeated, tag = "1")]
    pub(crate) labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Label {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Sample {
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    pub(crate) timestamp: i64,
}

/// Metadata of all series of a name.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Metadata {
    /// 1 for a counter, 2 for a gauge.
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(string, tag = "2")]
    pub(crate) family: String,
    #[prost(string, tag = "4")]
    pub(crate) help: String,
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn a_request_has_the_bytes_that_the_definition_of_protobuf_gives_it() {
        let label = Label { name: "__name__".to_owned(), value: "up".to_owned() };
        let series =
            TimeSeries { labels: vec![label], samples: vec![Sample { value: 1.0, timestamp: 1_800_000_000_000 }] };
        let metadata = Metadata { kind: 2, family: "up".to_owned(), help: "Up.".to_owned() };
        let bytes = WriteRequest { timeseries: vec![series], metadata: vec![metadata] }.encode_to_vec();
        let expected: Vec<u8> = [
            &[0x0a, 0x22][..],         // timeseries, 34 bytes
            &[0x0a, 0x0e, 0x0a, 0x08], // labels, 14 bytes: name, 8 bytes
            b"__name__",
            &[0x12, 0x02], // value, 2 bytes
            b"up",
            &[0x12, 0x10, 0x09], // samples, 16 bytes: value
            &1.0_f64.to_le_bytes(),
            &[0x10, 0x80, 0xa0, 0xf1, 0xc2, 0xb1, 0x34], // timestamp
            &[0x1a, 0x0b, 0x08, 0x02, 0x12, 0x02],       // metadata, 11 bytes: type, family
            b"up",
            &[0x22, 0x03], // help
            b"Up.",
        ]
        .concat();
        assert_eq!(bytes, expected);
    }
}
