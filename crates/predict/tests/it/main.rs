//! What users of the crate rely on.

mod arma;
mod bad_input;
mod compare;
mod ets;
mod fleet;
mod gaps;
mod intervals;
mod nws;
mod predictor;
mod reference;
mod state;
mod tar;
mod testdata;
