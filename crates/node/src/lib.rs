//! The service of one host: collect, store, forecast, serve.
#![forbid(unsafe_code)]

pub mod api;
