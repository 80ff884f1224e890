//! How long each rank spends in collective calls.

use std::collections::BTreeMap;

use mpi_trace::{Family, Operation, Subject};

use crate::Tuple;

/// By rank and operation: calls, and ticks in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MpiTime {
    /// Calls and ticks; how long a tick is, the clock of the rank's host tells.
    pub spent: BTreeMap<(u32, Operation), (u64, u64)>,
}

impl MpiTime {
    /// Takes a tuple of a call; stages are passed over.
    pub fn take(&mut self, tuple: &Tuple) {
        let is_collective = matches!(tuple.event.operation.family(), Family::Collective | Family::Barrier);
        if is_collective && matches!(tuple.event.subject, Subject::Call { .. }) {
            let (n_calls, ticks) = self.spent.entry((tuple.rank, tuple.event.operation)).or_default();
            *n_calls += 1;
            *ticks += tuple.event.end - tuple.event.start;
        }
    }
}
