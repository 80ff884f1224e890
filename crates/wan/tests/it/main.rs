//! The crate as those who use it see it.

mod probe;
mod relay;
mod root;
mod twin;
