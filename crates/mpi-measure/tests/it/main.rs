//! What the results of MPI measurements say, without MPI.

mod cost;
mod trace;
