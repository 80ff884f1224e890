//! What must hold for any bytes that come from outside: one function for each decoder, which panics where something does not.
//!
//! The tests of this crate run them on some thousand random inputs from a fixed seed. `make fuzz` hands them to libFuzzer, which
//! looks for inputs that reach code no other input has reached. What it finds becomes a named case among the tests of the crate
//! that it is about.
#![forbid(unsafe_code)]

mod crossval_template;
mod exporter_page;
mod flow_message;
mod predictor_state;
mod specification;
mod stream_frame;

pub use crossval_template::crossval_template;
pub use exporter_page::exporter_page;
pub use flow_message::flow_message;
pub use predictor_state::{N_SAVED, predictor_state};
pub use specification::specification;
pub use stream_frame::stream_frame;
