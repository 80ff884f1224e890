//! Nothing but dependencies: the features that packages from elsewhere have when all of the workspace is tested.
//!
//! Cargo gives a package the features that what is built asks for. The programs for MPI, the simulator, the kernel and
//! Python are built apart from the rest; without this crate each of them had every crate below compiled anew, for a
//! feature more or less. `house` checks that it is complete.
#![forbid(unsafe_code)]
