//! Error of an availability signal as a measurement of what tasks get.

/// The standard error of an availability signal as a measurement of what a task gets, each in shares of the cores that
/// the task can use.
///
/// A scheduler evens out over time what a task is short of, so the passing part is smaller the longer the task; and a
/// task that has its cores for itself, or gets nothing, has nothing to be short of: the passing part is largest in the
/// middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementError {
    /// Standard error for a short task that gets half of what it can use.
    pub passing: f64,
    /// The length of a task, in seconds, for which the variance of the passing part is half of that.
    pub evens_out_after_seconds: f64,
    /// Standard error that no length evens out, at any availability.
    pub lasting: f64,
}

impl MeasurementError {
    /// No error, as if tasks got what was sampled.
    pub const NONE: Self = Self { passing: 0.0, evens_out_after_seconds: 1.0, lasting: 0.0 };

    /// Returns the standard error at `share` of what a task can use, over `seconds`.
    pub(crate) fn standard_error(&self, share: f64, seconds: f64) -> f64 {
        let contention = 4.0 * share * (1.0 - share);
        let passing = self.passing * self.passing * contention / (1.0 + seconds / self.evens_out_after_seconds);
        let variance = passing + self.lasting * self.lasting;
        // Parameters that make no sense make no error.
        if variance > 0.0 { variance.sqrt().min(1.0) } else { 0.0 }
    }
}

impl Default for MeasurementError {
    /// Returns the error of `cpu.availability`: tests of 10 s beside other load found 1 to 5 points of mean absolute
    /// error, of 5 minutes about 1.
    fn default() -> Self {
        Self { passing: 0.05, evens_out_after_seconds: 10.0, lasting: 0.005 }
    }
}
