//! Simulated MPI: how long a program takes on a machine that is described rather than there.
//!
//! A [`World`] holds the clocks and messages of all ranks. Each rank drives it through a [`Rank`]: it computes, sends,
//! receives, waits. What it cannot know yet it waits for, and the rank that goes on in its place is found on the spot;
//! how one rank makes way for another is a [`Switch`], so ranks may be processes that share the memory of the world, or
//! [contexts](user) of one process.
//!
//! Results are the same to the bit under every exact [`des::Protocol`] and with any number of workers, as long as the
//! spans that ranks compute are.
#![warn(unreachable_pub)]

pub mod collective;
pub mod compute;
pub mod machine;
mod message;
pub mod process;
mod rank;
pub mod replay;
pub mod result;
mod switch;
pub mod user;
mod world;

pub use message::{Context, Envelope, Handle, MessageId, Mode, Wanted};
pub use rank::{Probed, Rank, Taken};
pub use switch::{Futexes, Switch};
pub use world::{Counts, Held, Lock, RankCounts, Reason, Settings, Stopped, Wait, World};
