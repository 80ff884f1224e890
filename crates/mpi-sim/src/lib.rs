//! Simulated MPI: how long a program takes on a machine that is described rather than there.
#![warn(unreachable_pub)]

pub mod machine;
