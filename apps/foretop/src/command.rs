//! One module for each command: its arguments, and what it does with them.

pub mod analyze;
pub mod ask;
pub mod completions;
pub mod export;
pub mod external;
pub mod fit;
pub mod forget;
pub mod internal;
pub mod man;
pub mod models;
pub mod predict;
pub mod replay;
pub mod rules;
pub mod runtime;
pub mod signals;
pub mod spin;
pub mod token;
pub mod top;
pub mod up;
