//! Statistics against R, on series of known memory, and on any input.

mod bad_input;
mod statistics;
mod whiteness;
