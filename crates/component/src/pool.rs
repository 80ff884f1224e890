//! A pool of prediction servers: processes that share the load of many streams, and take over from one that dies.
//!
//! Measurements come in on one subject for each host, `foretop.samples.HOST`, which JetStream keeps; forecasts go out
//! on `foretop.forecasts.HOST`, one message for each that came in. Hosts are spread over partitions by a hash of their
//! subject. A partition is served by whoever holds its lease, an entry in a bucket that expires unless it is renewed
//! (see `docs/decisions/pool.md`). Who takes one over replays its last samples and is then where the one before was:
//! *when* a model is fitted depends on the numbers of samples only, so that the same forecasts come from whichever
//! server makes them.

mod alarm;
mod engine;
mod host;
mod lease;
mod server;
mod subjects;
mod traffic;

pub use engine::{Counted, Engine, Tense};
pub use server::{Config, Error, Server};
pub use subjects::partition_of;
pub use traffic::Traffic;
