//! Counters of a tunnel's events, counted where they happen and read by whoever asks.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Numbers that all tasks of a tunnel add to.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub $name: Counter,)*
        }

        /// Counts since the tunnel was started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            pub fn counts(&self) -> Counts {
                Counts { $($name: self.$name.get(),)* }
            }
        }

        impl Counts {
            /// Each count with its name.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Links that were made.
    links_total,
    /// Links that are up.
    links,
    /// Links that failed, while they were made or later.
    links_failed_total,
    /// Streams that were opened.
    streams_total,
    /// Streams that are open.
    streams,
    /// Streams that broke, or whose target could not be reached.
    streams_failed_total,
    /// Bytes that local programs gave.
    given_bytes_total,
    /// Bytes among them that the history knew.
    matched_bytes_total,
    /// Bytes of groups that were sent for them.
    sent_bytes_total,
    /// All bytes that were written to links.
    wire_out_bytes_total,
    /// Bytes that came for local programs.
    received_bytes_total,
    /// Bytes of groups that came for them.
    came_bytes_total,
    /// Groups that were sent.
    groups_sent_total,
    /// Groups that came.
    groups_received_total,
    /// Groups of which this end's store lacked a part.
    groups_lacking_total,
    /// Groups of which this end's store had other bytes.
    groups_collided_total,
    /// Bytes that were sent again because the peer asked.
    repaired_bytes_total,
    /// Bytes that this end lacked and neighbours gave.
    borrowed_bytes_total,
    /// Groups that neighbours gave other bytes for.
    groups_misled_total,
    /// Bytes that neighbours were given.
    lent_bytes_total,
    /// Nanoseconds in which the encoder was at work.
    encoder_busy_ns_total,
    /// Nanoseconds of processor time that it got.
    encoder_cpu_ns_total,
    /// Nanoseconds in which something was written to links.
    writer_busy_ns_total,
    /// Nanoseconds in which the decoder was at work.
    decoder_busy_ns_total,
    /// Pieces that wait for the encoder.
    encoder_queue,
    /// Bytes of groups that are not acknowledged.
    unacknowledged_bytes,
    /// Groups that wait for the decoder.
    decoder_queue,
}

/// A number that several tasks change.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn sub(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
