//! Samples for servers that take Prometheus remote write 1.0: encoded, buffered until accepted, sent in order.
//!
//! A [`Writer`] writes to one server. [`Writer::put`] writes a [`Chunk`] to the buffer and returns. A separate thread
//! sends the contents of the buffer, oldest first, and removes what the server accepted. So buffered samples survive a
//! server that is down, and a process that is killed. `docs/formats/remote-write.md` specifies what is sent, kept and
//! given up.
//!
//! The crate reads no clock: the caller gives each sample's time, and waits are lengths of time.
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
