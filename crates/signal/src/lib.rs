//! Signals: families, their units and ranges, sources that are read tick by tick, and globs that select signals.
//!
//! [`FAMILIES`] is the table of everything that this project measures itself; metrics, the HTTP interface and
//! `docs/signals.md` are made from it. A [`Source`] gives [`Readings`]: this host (`sensor::Host`), a neighbour or an
//! exporter (`feed`). Nothing in here reads a file or a clock.
#![forbid(unsafe_code)]

mod families;
mod family;
mod glob;
mod markdown;
mod names;
mod readings;
mod selection;
mod signal;
mod source;
mod sums;

pub use families::{FAMILIES, family_of_signal, row};
pub use family::{Family, Kind, Range, Unit};
pub use glob::{Glob, GlobError};
pub use markdown::signals_markdown;
pub use names::{label_name, metric_name};
pub use readings::Readings;
pub use selection::Selection;
pub use signal::{Label, Signal};
pub use source::{History, Source};
pub use sums::{Sum, Whole, wholes};
