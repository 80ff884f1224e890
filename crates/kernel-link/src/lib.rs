//! Control of what is measured of a kernel, for programs in C that are measured: the functions of
//! `include/foretop_kernel.h`.
//!
//! Nothing here measures: an agent does, and this asks it as `foretop kernel on` does.

mod controller;
mod export;
