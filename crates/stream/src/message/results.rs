//! Results: what came through a scope, with how much that was, for whoever pulls it.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{MessageError, Payload};
use crate::frame::Kind;

/// Bytes before the results.
const FIXED_BYTES: usize = 40;

/// The results of one pull.
/// All counts are since the session began, so that an answer that never arrived is missed by the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Records read.
    pub n_read: u64,
    /// Records that were overwritten before they were read.
    pub n_lost: u64,
    /// Results that a newer one replaced before they were pulled.
    pub n_missed: u64,
    /// Results given, those below among them.
    pub n_given: u64,
    /// Processor time of the threads that read and reduced.
    pub cpu_ns: u64,
    /// The results, as both sides know them.
    pub bytes: Bytes,
}

impl Payload for Results {
    const KIND: Kind = Kind::Results;

    fn write(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        out.reserve(FIXED_BYTES + self.bytes.len());
        let Self { n_read, n_lost, n_missed, n_given, cpu_ns, .. } = *self;
        [n_read, n_lost, n_missed, n_given, cpu_ns].into_iter().for_each(|count| out.put_u64_le(count));
        out.put_slice(&self.bytes);
        Ok(())
    }

    fn read(mut payload: &[u8]) -> Result<Self, MessageError> {
        let given = payload.len();
        if given < FIXED_BYTES {
            return Err(MessageError::Length { what: "set of results", given, needed: "40 at least" });
        }
        let [n_read, n_lost, n_missed, n_given, cpu_ns] = std::array::from_fn(|_| payload.get_u64_le());
        Ok(Self { n_read, n_lost, n_missed, n_given, cpu_ns, bytes: Bytes::copy_from_slice(payload) })
    }
}
