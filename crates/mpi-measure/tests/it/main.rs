//! What the results of MPI measurements say, without MPI.

mod comparison;
mod cost;
mod made;
mod plot;
mod trace;
