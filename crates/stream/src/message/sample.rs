//! A generic sample: one value of one signal.

use bytes::{Buf, BufMut, BytesMut};
use units::Timestamp;

use super::{MessageError, Payload};
use crate::frame::Kind;

/// One value of one signal: what predictors take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its place in the series, counted from when the sensor began; a jump is a gap.
    pub number: u64,
    /// When it was taken.
    pub time: Timestamp,
    /// The measured value, in the unit of the stream's signal; NaN for a gap.
    pub value: f64,
}

impl Payload for Sample {
    const KIND: Kind = Kind::Sample;

    fn write(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        out.put_u64_le(self.number);
        out.put_i64_le(self.time.as_nanos());
        out.put_f64_le(self.value);
        Ok(())
    }

    fn read(mut payload: &[u8]) -> Result<Self, MessageError> {
        if payload.len() != 24 {
            return Err(MessageError::Length { what: "sample", given: payload.len(), needed: "24" });
        }
        let (number, time) = (payload.get_u64_le(), Timestamp::from_nanos(payload.get_i64_le()));
        Ok(Self { number, time, value: payload.get_f64_le() })
    }
}
