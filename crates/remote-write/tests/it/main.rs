//! A writer against servers that do what real ones do on bad days.
#![forbid(unsafe_code)]
