//! Samples for servers that take Prometheus remote write 1.0: encoded, kept until they are taken, sent in order.
//!
//! A [`Writer`] speaks to one server. [`Writer::put`] writes a [`Chunk`] to the buffer and returns; a thread of its own sends
//! what is in the buffer, oldest first, and takes out what the server took. So what is in the buffer survives a server that is
//! gone, and a process that is killed. `docs/formats/remote-write.md` says what is sent, kept and given up.
//!
//! The crate reads no clock: who calls says what time a sample has, and waiting is by lengths of time.
#![forbid(unsafe_code)]

mod answer;
mod buffer;
mod chunk;
mod error;
mod sender;
mod settings;
mod status;
mod wire;
mod writer;

pub use buffer::Place;
pub use chunk::{Chunk, Kind};
pub use error::{BufferError, SendError, SettingsError};
pub use settings::Settings;
pub use status::{Dropped, Status};
pub use writer::{StartError, Writer};
