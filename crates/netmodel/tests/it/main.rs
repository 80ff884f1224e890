//! The crate as those who use it see it.

mod cost;
mod link;
