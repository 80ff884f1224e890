//! Words for the few values that some keys can have, in files and on command lines.

use std::str::FromStr;

use crate::{Between, Collective, Condition, Order, Reduction, Sign, Wake};

/// A word that a key does not know.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{}` is not {what}: use {}", given.escape_debug(), known.join(", "))]
pub struct WordError {
    /// The kind of word that was expected.
    pub what: &'static str,
    /// The word as given.
    pub given: String,
    /// All that could be given.
    pub known: Vec<&'static str>,
}

macro_rules! words {
    ($type:ident, $what:literal, $($variant:ident $word:literal),*) => {
        impl $type {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the word for the value in files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl FromStr for $type {
            type Err = WordError;

            fn from_str(text: &str) -> Result<Self, WordError> {
                Self::ALL.iter().copied().find(|value| value.name() == text).ok_or_else(|| WordError {
                    what: $what,
                    given: text.to_owned(),
                    known: Self::ALL.iter().map(|value| value.name()).collect(),
                })
            }
        }

        impl TryFrom<String> for $type {
            type Error = WordError;

            fn try_from(text: String) -> Result<Self, WordError> {
                text.parse()
            }
        }
    };
}

words!(Between, "a way to join roots", Reduce "reduce", AllToAll "all-to-all");
words!(Order, "an order", Fixed "fixed", Arrival "arrival");
words!(Wake, "a way to wait", Spin "spin", Futex "futex", Both "both");
words!(Collective, "an operation that goes over trees", Allreduce "allreduce", Barrier "barrier", Bcast "bcast",
    Gather "gather", Reduce "reduce", Scatter "scatter");
words!(Condition, "a condition", Greater "greater", Less "less", Equal "equal");
words!(Reduction, "a reduction", Sum "sum", Max "max", Min "min", Or "or", And "and");
words!(Sign, "a sign", Any "any", NonNegative "nonnegative", NonPositive "nonpositive");
