//! What users of the crate rely on.

mod calendar;
mod resample;
mod table;
