//! Text for people: figures with their units, tables, and words of strangers made harmless.
//!
//! Values come in as plain numbers with a unit's name; what is written is for reading, not for reading back (`units` has
//! what reads back). Floor 0 and without dependencies, so that charts and reports on every floor print alike.
#![forbid(unsafe_code)]

pub mod figure;
mod harmless;
mod table;

pub use harmless::{markdown_cell, markup, printable};
pub use table::{Align, Table};
