//! The command line from outside: the real binary, real nodes, real files.
#![forbid(unsafe_code)]

mod command;
mod kill;
mod node;
mod predict;
mod queries;
mod replay;
mod terminal;
mod top;
mod up;
