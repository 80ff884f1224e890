//! What users of the crate rely on.

mod certificate;
