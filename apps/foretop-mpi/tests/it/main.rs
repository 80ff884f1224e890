//! The MPI programs under a real launcher, that of the MPI they were linked with.

mod ace;
mod comb;
mod launch;
mod miniapp;
mod noise;
mod session;
mod sort;
mod tcp;
