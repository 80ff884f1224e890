//! Systems as files say them, as commands, and as processes.
#![forbid(unsafe_code)]

mod file;
mod plan;
mod processes;
mod world;
