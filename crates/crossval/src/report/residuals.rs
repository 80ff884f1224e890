//! Shares of cases in which the errors one step ahead pass for noise.

use serde::Serialize;

use super::verdict::mean;
use crate::results::{Record, Tested};

/// Shares of cases whose errors one step ahead a test at the level of 0.05 did not reject; NaN where none could be
/// tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Kept {
    /// Errors without memory, by the test of Ljung and Box.
    pub ljung_box: f64,
    /// Turning around as often as noise.
    pub turning_points: f64,
    /// Rising as often as noise.
    pub rises: f64,
    /// Normally distributed, by the test of Shapiro and Francia.
    pub normality: f64,
    /// The mean R^2 of the quantile-quantile line.
    pub r_squared: f64,
}

impl Kept {
    pub(crate) fn of<'r>(records: impl Iterator<Item = &'r Record> + Clone) -> Self {
        let share = |of: fn(&Tested) -> Option<bool>| {
            let known = records.clone().filter_map(|record| of(&record.residuals));
            mean(known.map(|is_kept| f64::from(u8::from(is_kept))))
        };
        Self {
            ljung_box: share(|tested| tested.ljung_box),
            turning_points: share(|tested| tested.turning_points),
            rises: share(|tested| tested.rises),
            normality: share(|tested| tested.normality),
            r_squared: mean(records.map(|record| record.residuals.r_squared.into())),
        }
    }
}
