//! Counters of a real kernel.

#[cfg(feature = "bpf")]
mod root;
mod without_root;
