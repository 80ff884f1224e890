//! A forecast: what comes next, and how sure that is.

use bytes::{Buf, BufMut, BytesMut};
use units::Timestamp;

use super::measurement::read_values;
use super::{MessageError, Payload};
use crate::frame::Kind;

/// Bytes before the means.
const FIXED_BYTES: usize = 28;

/// Means and standard errors of the steps ahead of one measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The number of the measurement that it was made at.
    pub number: u64,
    /// When that measurement was taken.
    pub time: Timestamp,
    /// When the forecast was there.
    pub completed: Timestamp,
    /// The index of the forecast signal in the stream's description.
    pub signal: u32,
    /// Expected values 1, 2, … steps ahead, in the signal's unit; NaN where the model has no forecast.
    pub means: Vec<f64>,
    /// Standard deviations of the forecast errors, one for each mean.
    pub standard_errors: Vec<f64>,
}

impl Forecast {
    /// The most steps that a frame holds.
    pub const N_LEADS_MAX: usize = 65_000;
}

impl Payload for Forecast {
    const KIND: Kind = Kind::Forecast;

    fn write(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        let (n_means, n_standard_errors) = (self.means.len(), self.standard_errors.len());
        if n_means != n_standard_errors {
            return Err(MessageError::Uneven { n_means, n_standard_errors });
        }
        out.reserve(FIXED_BYTES + 16 * self.means.len());
        out.put_u64_le(self.number);
        out.put_i64_le(self.time.as_nanos());
        out.put_i64_le(self.completed.as_nanos());
        out.put_u32_le(self.signal);
        self.means.iter().chain(&self.standard_errors).for_each(|value| out.put_f64_le(*value));
        Ok(())
    }

    fn read(mut payload: &[u8]) -> Result<Self, MessageError> {
        let given = payload.len();
        if given < FIXED_BYTES || !(given - FIXED_BYTES).is_multiple_of(16) {
            return Err(MessageError::Length { what: "forecast", given, needed: "28 and 16 for each step" });
        }
        let (number, time) = (payload.get_u64_le(), Timestamp::from_nanos(payload.get_i64_le()));
        let (completed, signal) = (Timestamp::from_nanos(payload.get_i64_le()), payload.get_u32_le());
        let (means, standard_errors) = payload.split_at(payload.len() / 2);
        Ok(Self {
            number,
            time,
            completed,
            signal,
            means: read_values(means),
            standard_errors: read_values(standard_errors),
        })
    }
}
