//! Calls of MPI programs: messages sent and received, waits for them, collective operations.
//!
//! There are no programs for it, as the kernel does not see what goes through shared memory. Programs that are started
//! with the tracer say themselves what they call; an opener that knows their rings stands in for this one.

use crate::{Drive, Point, Reading, Subsystem, Timing};

/// The MPI subsystem, by size group of one message.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "mpi",
    title: "MPI",
    purpose: "calls of MPI programs that run with the tracer: messages sent and received, waits, collective operations",
    points: &[
        Point { name: "Send", label: "send", timing: Timing::Timed, is_sized: true },
        Point { name: "Receive", label: "receive", timing: Timing::Timed, is_sized: true },
        Point { name: "Wait", label: "wait or test", timing: Timing::Timed, is_sized: false },
        Point { name: "Collective", label: "collective", timing: Timing::Timed, is_sized: true },
    ],
    programs: &[],
    totals: &[],
    from_proc: |_| Ok(Reading::default()),
    proc_lacks: "all of it",
    drive: Drive::None,
};
