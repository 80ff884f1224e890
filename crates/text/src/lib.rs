//! Text for people: figures with their units, tables, and untrusted text made harmless.
//!
//! Values come in as plain numbers with a unit's name. The text written is for people and is not parsed again (`units`
//! has text that is). Floor 0 and with one small dependency, so that charts and reports on every floor print alike.
#![forbid(unsafe_code)]

mod causes;
mod columns;
pub mod figure;
mod harmless;
pub mod help;
mod table;

pub use causes::{with_causes, without_picture};
pub use columns::{padded, shortened, width};
pub use harmless::{markdown_cell, markup, printable};
pub use table::{Align, Table};
