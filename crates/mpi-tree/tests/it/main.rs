//! Trees as their users see them.

mod file;
mod role;
