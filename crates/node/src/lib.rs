//! The service of one host: collect, store, forecast, serve.
#![forbid(unsafe_code)]

pub mod api;
mod clock;
mod config;
mod engine;
mod error;
mod hub;
mod restore;
mod sampler;
mod schedule;
mod select;
mod store;
mod token;

pub use config::Config;
pub use error::{QueryError, StartError};
pub use select::{Selection, SelectionError};
pub use store::StoreError;
pub use token::{Token, TokenError};
