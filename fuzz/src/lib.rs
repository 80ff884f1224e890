//! Properties that must hold for any bytes from outside: one function per decoder, which panics if a property fails.
//!
//! The tests of this crate run them on some thousand random inputs from a fixed seed. `make fuzz` passes them to
//! libFuzzer, which looks for inputs that reach new code. What it finds becomes a named test case of the crate with
//! the decoder.
#![forbid(unsafe_code)]

mod arrival_trace;
mod crossval_template;
mod dedup_group;
mod exporter_page;
mod flow_message;
mod machine_file;
mod monitor_results;
mod mpi_trace_file;
mod playback_rate;
mod predictor_state;
mod record_file;
mod specification;
mod stream_frame;
mod stream_request;
mod stretched_sound;
mod tree_file;
mod tunnel_frame;

pub use arrival_trace::arrival_trace;
pub use crossval_template::crossval_template;
pub use dedup_group::dedup_group;
pub use exporter_page::exporter_page;
pub use flow_message::flow_message;
pub use machine_file::machine_file;
pub use monitor_results::monitor_results;
pub use mpi_trace_file::mpi_trace_file;
pub use playback_rate::playback_rate;
pub use predictor_state::{N_SAVED, predictor_state};
pub use record_file::record_file;
pub use specification::specification;
pub use stream_frame::stream_frame;
pub use stream_request::stream_request;
pub use stretched_sound::stretched_sound;
pub use tree_file::tree_file;
pub use tunnel_frame::tunnel_frame;
