//! COMB: how much of the CPU is left while messages fly, and who makes them fly.
//!
//! Two methods of Lawry, Wilson, Maccabe and Brightwell (Brightwell and others: "Improving Processor Availability in the MPI
//! Implementation for the ASCI/Red Supercomputer", LCN 2002): `polling` calls MPI now and then, so that messages can always go on
//! (section 3.1); `post_work_wait` does not call it between posting and waiting, so that they go on only if the library, the kernel or
//! the network does it by itself (section 3.2). Beside them stand round trips, and a stream of numbers by single and double
//! buffering (section 2.1). [`verdict`] says what the figures say of the library.

pub mod availability;
pub mod grid;
pub mod pairing;
pub mod plan;
pub mod record;
mod text;
pub mod verdict;

mod plot;
mod table;

#[cfg(feature = "mpi")]
mod bench;
#[cfg(feature = "mpi")]
mod buffering;
#[cfg(feature = "mpi")]
mod lane;
#[cfg(feature = "mpi")]
mod ping_pong;
#[cfg(feature = "mpi")]
mod polling;
#[cfg(feature = "mpi")]
mod post_work_wait;
#[cfg(feature = "mpi")]
mod run;
#[cfg(feature = "mpi")]
mod together;

pub use plot::pictures;
#[cfg(feature = "mpi")]
pub use run::{measure, prepare};
pub use table::table;

use record::{PWW, PostWorkWait, TRANSFER, Transfer};
use verdict::{Conditions, Verdict};

use crate::outcome::{MalformedRecord, Outcome};

/// What a run takes for granted, for its header.
#[must_use]
pub fn assumptions() -> Vec<String> {
    [
        "an availability is the time of work without messages by the time of the same work with them, all calls of MPI included",
        "messages take time from work and give none, so that an availability lies in [0, 1]",
        "in every exchange a message of the same size goes each way at the same time",
        "received bytes count one direction",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// A verdict for each size and pair with post-work-wait in a result.
///
/// # Errors
/// The record that is not what its kind says.
pub fn verdicts(outcome: &Outcome) -> Result<Vec<Verdict>, MalformedRecord> {
    let points: Vec<PostWorkWait> = outcome.all(PWW)?;
    let transfers: Vec<Transfer> = outcome.all(TRANSFER)?;
    let verdict = |transfer: &Transfer| {
        let is_of = |point: &&PostWorkWait| point.pair == transfer.pair && point.size_bytes == transfer.size_bytes;
        let of_size: Vec<PostWorkWait> = points.iter().filter(is_of).cloned().collect();
        let place = outcome.header.ranks.iter().find(|place| place.rank == transfer.pair.worker)?;
        let conditions = Conditions { clock: place.clock, is_sliced: outcome.header.is_oversubscribed() };
        (!of_size.is_empty()).then(|| Verdict::of(transfer, &of_size, &conditions))
    };
    Ok(transfers.iter().filter_map(verdict).collect())
}
