//! The command line from outside: the real binary, real nodes, real files.
#![forbid(unsafe_code)]

mod analyze;
mod cluster;
mod command;
mod compose;
mod connections;
mod crossval;
mod encryption;
mod feeds;
mod fit;
mod kill;
mod mpi;
mod mpi_analyze;
mod mpi_trace_files;
mod mpi_watch;
mod node;
mod noise;
mod one_life;
mod outlook;
mod predict;
mod program;
mod prometheus;
mod queries;
mod replay;
mod root;
mod runtime;
mod snmpd;
mod stream;
mod study;
mod terminal;
mod top;
mod tree;
mod unwatched;
mod up;
mod wan;
mod workload;
