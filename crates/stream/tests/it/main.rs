//! What components can rely on, over real sockets, pipes and files.

mod bad_days;
mod conformance;
mod control;
mod line;
mod nats;
mod protection;
mod registry;
mod strangers;
mod world;
