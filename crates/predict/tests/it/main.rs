//! What users of the crate rely on.

mod arfima;
mod arma;
mod bad_input;
mod gaps;
mod inference;
mod intervals;
mod maximum_likelihood;
mod predictor;
mod reference;
mod selection;
mod state;
mod testdata;
