//! What users of the crate rely on.

mod arma;
mod auto;
mod bad_input;
mod ets;
mod gaps;
mod intervals;
mod nws;
mod predictor;
mod reference;
mod state;
mod tar;
mod testdata;
