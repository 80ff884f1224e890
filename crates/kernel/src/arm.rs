//! An arm: where counters come from.

use crate::control::PointState;
use crate::{Error, Ran, Reading};

/// A source of readings of one subsystem.
pub trait Arm {
    /// `bpf`, `proc` or `tracer`, for the records.
    fn name(&self) -> &'static str;

    /// All counters as they are.
    ///
    /// # Errors
    /// Where the kernel does not hand them out.
    fn read(&mut self) -> Result<Reading, Error>;

    /// Looks at one event in so many from this moment on; an arm that does not look at events ignores it.
    ///
    /// # Errors
    /// Where the kernel does not take it.
    fn set_weight(&mut self, weight: u32) -> Result<(), Error>;

    /// What becomes of the events of its points from this moment on; an arm that does not look at events ignores it.
    ///
    /// # Errors
    /// Where the kernel does not take it.
    fn set_states(&mut self, states: &[PointState]) -> Result<(), Error>;

    /// Takes its probes off, or puts them back on.
    ///
    /// # Errors
    /// Where the kernel refuses.
    fn set_shed(&mut self, is_shed: bool) -> Result<(), Error>;

    /// Has the kernel keep account of what its programs run for from now on; an arm without programs ignores it.
    fn begin_account(&mut self) {}

    /// Ends that, and says what they ran for meanwhile, where that is known.
    fn end_account(&mut self) -> Option<Ran> {
        None
    }

    /// Probes that this kernel does not have, and what is missing without each.
    fn missing(&self) -> Vec<String>;
}
