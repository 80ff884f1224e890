//! A writer against servers that do what real ones do on bad days.
#![forbid(unsafe_code)]

mod bad_days;
mod server;
