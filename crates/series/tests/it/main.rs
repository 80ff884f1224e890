//! What users of the crate rely on.

mod bad_input;
mod resample;
mod statistics;
mod whiteness;
