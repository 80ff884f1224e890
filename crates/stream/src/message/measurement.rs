//! A measurement: what a sensor says at one moment.

use bytes::{Buf, BufMut, BytesMut};
use units::Timestamp;

use super::{MessageError, Payload};
use crate::frame::Kind;

/// Bytes before the values.
const FIXED_BYTES: usize = 16;

/// Values from a sensor at one moment, one for each signal that the stream's description lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Its place in the series, counted from when the sensor began; a jump is a gap.
    pub number: u64,
    /// When it was taken.
    pub time: Timestamp,
    /// One for each signal, in its unit; NaN for what could not be measured.
    pub values: Vec<f64>,
}

impl Payload for Measurement {
    const KIND: Kind = Kind::Measurement;

    fn write(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        out.reserve(FIXED_BYTES + 8 * self.values.len());
        out.put_u64_le(self.number);
        out.put_i64_le(self.time.as_nanos());
        self.values.iter().for_each(|value| out.put_f64_le(*value));
        Ok(())
    }

    fn read(mut payload: &[u8]) -> Result<Self, MessageError> {
        let given = payload.len();
        if given < FIXED_BYTES || !given.is_multiple_of(8) {
            return Err(MessageError::Length { what: "measurement", given, needed: "16 and 8 for each value" });
        }
        let (number, time) = (payload.get_u64_le(), Timestamp::from_nanos(payload.get_i64_le()));
        Ok(Self { number, time, values: read_values(payload) })
    }
}

/// Reads as many values as there are; whole ones only.
pub(super) fn read_values(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
}
