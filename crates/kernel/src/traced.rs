//! A record of one event of a traced point.

use serde::{Deserialize, Serialize};

use crate::Subsystem;

/// Greatest number of arguments of an event that a user can name.
pub const FIELDS_MAX: usize = 4;

/// An event: its point, place and time, and the values that the hook passed. In JSON the point is named around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// The subsystem.
    #[serde(skip)]
    pub subsystem: &'static Subsystem,
    /// The point's number.
    #[serde(skip)]
    pub point: usize,
    /// Begin, on the monotonic clock.
    pub begin_ns: u64,
    /// End, on the monotonic clock; the same as the begin for an event without a length.
    pub end_ns: u64,
    /// Bytes asked for.
    pub asked: u64,
    /// Value that came back; bytes if the point is sized, below zero for an error.
    pub returned: i64,
    /// The process.
    pub process: u32,
    /// Its thread.
    pub thread: u32,
    /// Processor on which the event ended.
    pub processor: u32,
    /// Number of events for which it stands.
    pub weight: u32,
    /// Arguments that a user named, in the order of [`Subsystem::fields`].
    #[serde(default, skip_serializing_if = "are_zero")]
    pub fields: [i64; FIELDS_MAX],
}

/// Whether all fields are zero, as those of all points are that no user named.
fn are_zero(fields: &[i64; FIELDS_MAX]) -> bool {
    fields.iter().all(|field| *field == 0)
}
