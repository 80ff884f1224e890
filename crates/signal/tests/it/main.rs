//! What the table of families says to people.

mod document;
