//! Loads from outside: real processes, and what the kernel says of them.
#![forbid(unsafe_code)]

mod host;
mod root;
mod scenario;
mod trouble;
