//! SESAME's measurements of a kernel made again: on the digits of its report, and on whatever a machine was seen to do.
//!
//! Analyses take records or plain figures, whoever measured them: [`messages`] and [`Exchange`] for messages with a
//! time for each layer, [`layers`] and [`servers`] for an operation and the parts that it was served in, [`Growth`] for
//! counts against size. [`digits`] are the answers that follow from the report alone; what a machine does is measured
//! elsewhere and told here.
//!
//! Source: SESAME, final report (UCLA, AFRL-IF-RS-TR-2000-120, 2000), chapter 7.
#![forbid(unsafe_code)]

mod answer;
mod digits;
mod exchange;
mod growth;
mod layers;
pub mod machine;

pub use answer::{Answer, Lines, page};
pub use digits::digits;
pub use exchange::{Exchange, Message, messages};
pub use growth::{Break, Growth};
pub use layers::{Layers, Part, Server, Span, layers, operation, parts, servers, unlike};
