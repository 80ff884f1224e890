//! What users of the crate rely on.

mod comparison;
mod drawing;
mod evaluation;
mod peers;
mod report;
mod run;
mod template;
mod traces;
