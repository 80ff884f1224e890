//! The prediction components of RPS: each is a computation for a mirror, and can be composed over any transport.
//!
//! Sensors make streams of measurements. [`ToSample`] turns one signal of them into generic samples. A [`Buffer`]
//! keeps the last messages of any stream. A [`PredictionServer`] makes forecasts of samples in a [core](run_core), a
//! separate process. An [`EvalFit`] watches their accuracy and requests a refit (Dinda and O'Hallaron 1999, sections 7
//! and 8, Figures 8 and 9). Where two of RPS's components differ only in their message type, they are one here. A
//! [`Monolith`] goes from sensor to forecast in one process. A [`pool`] of prediction servers shares the streams of
//! many hosts.
//!
//! Floor 4. Printing and arguments belong to `foretop stream`.
#![forbid(unsafe_code)]

mod buffer;
mod core;
mod core_process;
mod eval_fit;
mod latency;
mod meter;
mod monolith;
mod one_off;
mod past;
mod player;
pub mod pool;
mod prediction_server;
mod publisher;
mod relay;
mod schedule;
mod sensor_server;
mod steps;
mod synthetic;
mod to_sample;
mod watch;

pub use crate::core::{CoreError, run_core};
pub use buffer::{Buffer, BufferSizeError};
pub use core_process::CoreProgram;
pub use eval_fit::{EvalFit, EvalFitSettings, EvalFitSettingsError};
pub use latency::{Latencies, Latency};
pub use meter::{Meter, SourceMeter};
pub use monolith::Monolith;
pub use one_off::OneOff;
pub use player::{Played, Speed, SpeedError, play};
pub use prediction_server::{PredictionServer, PredictionSettings, PredictionSettingsError};
pub use publisher::{Origin, Publisher};
pub use relay::Relay;
pub use sensor_server::SensorServer;
pub use synthetic::{Synthetic, SyntheticError};
pub use to_sample::{SignalChoice, ToSample};
pub use watch::Watch;
