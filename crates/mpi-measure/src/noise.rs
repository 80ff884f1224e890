//! How much of a program's time the operating system takes: of parallel programs, and of single cores.

pub mod cause;
pub mod counter;
pub mod detour;
pub mod plan;
pub mod quanta;
