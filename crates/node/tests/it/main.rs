//! A node as others see it: over HTTP, in its file, and at its start.

mod http;
mod start;
mod watched;
