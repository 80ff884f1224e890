//! What users of the crate rely on.

mod arfima;
mod arma;
mod bad_input;
mod gaps;
mod intervals;
mod predictor;
mod reference;
mod state;
mod testdata;
