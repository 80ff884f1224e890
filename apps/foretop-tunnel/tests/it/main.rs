//! The programs as they are typed.

mod estimate;
mod killed;
mod plan;
mod slow_link;
