//! The rules of the house, on made-up packages, and that this workspace keeps them.

mod rules;
mod this_workspace;
