//! Loss of an error.

use serde::{Deserialize, Serialize};

/// Weighting of errors against each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Loss {
    /// `mse`: by their squares.
    #[default]
    Squared,
    /// `mae`: by their magnitudes.
    Absolute,
}
