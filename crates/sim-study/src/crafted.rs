//! A case that a quantum longer than the lookahead gets wrong.

use des::Protocol;
use mpi_sim::machine::Machine;
use mpi_sim::user::{self, STACK_BYTES};
use mpi_sim::{Mode, Taken, Wanted, World};
use units::{Rank, SimDuration};

use crate::run::{StudyError, settings};

/// Ranks that it takes.
pub(crate) const N_RANKS: u32 = 4;
/// The rank that receives messages from any source.
const ASKING: Rank = 2;

/// Returns the rank whose message is received first by a rank that receives from any source: one that sends after five
/// lookaheads, or one that answers at once to another, after three.
pub(crate) fn heard_first(machine: &Machine, protocol: Protocol) -> Result<Rank, StudyError> {
    let lookahead = machine.least_lookahead();
    let world = World::new(machine.clone(), settings(protocol, 1));
    let heard = std::sync::Mutex::new(ASKING);
    user::run(&world, STACK_BYTES, |rank| {
        let after = |n: u64| SimDuration::from_nanos(n * lookahead.as_nanos());
        let from = |source| Wanted { source, context: 0, tag: None };
        match rank.me() {
            0 => {
                rank.compute(after(5));
                rank.send(ASKING, 0, 0, Mode::Standard, Box::default());
            }
            1 => {
                let asked = rank.receive(from(Some(3)));
                rank.wait_all(&[asked])?;
                rank.send(ASKING, 0, 0, Mode::Standard, Box::default());
            }
            ASKING => {
                let handle = rank.receive(from(None));
                rank.wait_all(&[handle])?;
                if let (Taken::Received(envelope, _), Ok(mut heard)) = (rank.take(handle), heard.lock()) {
                    *heard = envelope.source;
                }
            }
            _ => {
                rank.compute(after(1));
                rank.send(1, 0, 0, Mode::Standard, Box::default());
            }
        }
        Ok(())
    })?;
    Ok(heard.into_inner().unwrap_or(ASKING))
}
