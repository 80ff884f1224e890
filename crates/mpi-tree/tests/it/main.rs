//! Trees as their users see them.

mod draw;
mod facts;
mod file;
mod reference;
mod role;
mod shape;
mod site;
