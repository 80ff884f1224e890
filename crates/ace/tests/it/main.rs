//! The crate as those who use it see it.

mod comparison;
mod made;
mod plot;
mod table;
mod trace;
