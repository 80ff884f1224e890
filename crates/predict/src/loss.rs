//! What an error costs.

use serde::{Deserialize, Serialize};

/// How errors are weighed against each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Loss {
    /// `mse`: by their squares.
    #[default]
    Squared,
    /// `mae`: by their magnitudes.
    Absolute,
}
