//! Stores at both ends of a stream, over restarts, damage, full disks and tight budgets.

mod budget;
mod damage;
mod restart;
mod snapshot;
mod world;
