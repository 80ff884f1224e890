//! The rules of the house, on made-up packages, and that this workspace keeps them.

mod features;
mod rules;
mod this_workspace;
