//! Scopes and monitors over rings in memory, with threads as ranks.

mod hosts;
mod monitors;
mod scopes;
mod space;
