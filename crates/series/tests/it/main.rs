//! What users of the crate rely on.

mod resample;
mod table;
