//! Trees as their users see them.

mod file;
mod reference;
mod role;
mod shape;
