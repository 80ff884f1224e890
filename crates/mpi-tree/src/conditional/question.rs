//! Question of a conditional allreduce, and the questions that a part of the contributions can answer.

use std::fmt;

use serde::Deserialize;

/// The operation that combines contributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// 1 if one of them is not 0, else 0.
    Or,
    /// 1 if none of them is 0, else 0.
    And,
}

/// The promise that each contribution keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Sign {
    /// Nothing.
    Any,
    /// It is 0 or more.
    NonNegative,
    /// It is 0 or less.
    NonPositive,
}

/// The comparison with the constant that the result has to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Condition {
    /// It is greater.
    Greater,
    /// It is less.
    Less,
    /// It is equal.
    Equal,
}

/// A question that a part of the contributions can answer with yes, because the others cannot undo it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    pub(super) reduction: Reduction,
    pub(super) sign: Sign,
    pub(super) condition: Condition,
    pub(super) constant: f64,
}

/// A question that only all contributions together can answer.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsoundError {
    /// The running result may go back.
    #[error(
        "a {reduction} of {sign} that is {condition} {constant} is not decided by a part of the contributions: use a sum of \
         values >= 0 with greater, a sum of values <= 0 with less, max with greater, or min with less"
    )]
    NotMonotone {
        /// The reduction as asked.
        reduction: Reduction,
        /// The sign as asked.
        sign: Sign,
        /// The condition as asked.
        condition: Condition,
        /// The constant as asked.
        constant: f64,
    },
    /// Something may come after that value.
    #[error(
        "{constant} is not where `{reduction}` stays: with equal, use or with 1, and with 0, or a max or min whose bound is the constant"
    )]
    NotAbsorbing {
        /// The reduction as asked.
        reduction: Reduction,
        /// The constant as asked.
        constant: f64,
    },
    /// Nothing compares with it.
    #[error("the constant is {constant}; it must be a finite number")]
    Constant {
        /// The constant as asked.
        constant: f64,
    },
}

impl Question {
    /// Builds a question. For a max or min that is to be equal to the constant, the constant is the bound that no
    /// contribution passes.
    ///
    /// # Errors
    /// Questions that a part cannot answer.
    pub fn new(reduction: Reduction, sign: Sign, condition: Condition, constant: f64) -> Result<Self, UnsoundError> {
        if !constant.is_finite() {
            return Err(UnsoundError::Constant { constant });
        }
        let question = Self { reduction, sign, condition, constant };
        match (reduction, sign, condition) {
            (Reduction::Sum, Sign::NonNegative, Condition::Greater)
            | (Reduction::Sum, Sign::NonPositive, Condition::Less)
            | (Reduction::Max, _, Condition::Greater | Condition::Equal)
            | (Reduction::Min, _, Condition::Less | Condition::Equal) => Ok(question),
            (Reduction::Or, _, Condition::Equal) if constant == 1.0 => Ok(question),
            (Reduction::And, _, Condition::Equal) if constant == 0.0 => Ok(question),
            (Reduction::Or | Reduction::And, _, Condition::Equal) => {
                Err(UnsoundError::NotAbsorbing { reduction, constant })
            }
            _ => Err(UnsoundError::NotMonotone { reduction, sign, condition, constant }),
        }
    }

    /// Returns the operation that combines contributions.
    #[must_use]
    pub fn reduction(&self) -> Reduction {
        self.reduction
    }

    /// Returns the promise that each contribution keeps.
    #[must_use]
    pub fn sign(&self) -> Sign {
        self.sign
    }

    /// Returns the comparison that the result has to meet.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// Returns the constant with which the result is compared.
    #[must_use]
    pub fn constant(&self) -> f64 {
        self.constant
    }

    /// Whether a contribution is what was promised. NaN never is; truths are 0 and 1.
    #[must_use]
    pub fn admits(&self, value: f64) -> bool {
        let has_sign = match self.sign {
            Sign::Any => !value.is_nan(),
            Sign::NonNegative => value >= 0.0,
            Sign::NonPositive => value <= 0.0,
        };
        let is_within = match (self.reduction, self.condition) {
            (Reduction::Max, Condition::Equal) => value <= self.constant,
            (Reduction::Min, Condition::Equal) => value >= self.constant,
            (Reduction::Or | Reduction::And, _) => value == 0.0 || value == 1.0,
            _ => true,
        };
        has_sign && is_within
    }

    /// Combines a contribution with what came before it.
    #[must_use]
    pub fn combine(&self, before: f64, value: f64) -> f64 {
        self.reduction.combine(before, value)
    }

    /// Whether the condition holds for a result.
    #[must_use]
    pub fn holds(&self, result: f64) -> bool {
        match self.condition {
            Condition::Greater => result > self.constant,
            Condition::Less => result < self.constant,
            Condition::Equal => result == self.constant,
        }
    }

    /// Returns the value nearest to a part's result that meets the condition: the bound of the whole when others
    /// report that the condition holds.
    pub(super) fn bound(&self, part: f64) -> f64 {
        match self.condition {
            Condition::Greater => part.max(self.constant.next_up()),
            Condition::Less => part.min(self.constant.next_down()),
            Condition::Equal => self.constant,
        }
    }
}

impl Reduction {
    /// Combines a contribution with what came before it.
    #[must_use]
    pub fn combine(self, before: f64, value: f64) -> f64 {
        let truth = |is_true: bool| f64::from(u8::from(is_true));
        match self {
            Self::Sum => before + value,
            Self::Max => before.max(value),
            Self::Min => before.min(value),
            Self::Or => truth(before != 0.0 || value != 0.0),
            Self::And => truth(before != 0.0 && value != 0.0),
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "values of any sign",
            Self::NonNegative => "values >= 0",
            Self::NonPositive => "values <= 0",
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greater => "greater than",
            Self::Less => "less than",
            Self::Equal => "equal to",
        })
    }
}
