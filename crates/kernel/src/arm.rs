//! An arm: a source of counters.

use crate::control::PointState;
use crate::{Error, Ran, Reading};

/// A source of readings of one subsystem.
pub trait Arm {
    /// Returns the arm's name for the records: `bpf`, `proc` or `tracer`.
    fn name(&self) -> &'static str;

    /// Reads all counters as they are.
    ///
    /// # Errors
    /// If the kernel does not hand the counters out.
    fn read(&mut self) -> Result<Reading, Error>;

    /// Looks at one event in so many from this moment on; an arm that does not look at events ignores it.
    ///
    /// # Errors
    /// If the kernel refuses the weight.
    fn set_weight(&mut self, weight: u32) -> Result<(), Error>;

    /// Sets the states of its points, which decide how their events are handled from this moment on; an arm that does
    /// not look at events ignores the states.
    ///
    /// # Errors
    /// If the kernel refuses the states.
    fn set_states(&mut self, states: &[PointState]) -> Result<(), Error>;

    /// Takes its probes off, or puts them back on.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn set_shed(&mut self, is_shed: bool) -> Result<(), Error>;

    /// Has the kernel keep account of its programs' run times from now on; an arm without programs ignores the call.
    fn begin_account(&mut self) {}

    /// Ends that account, and returns the run times of its programs meanwhile, if they are known.
    fn end_account(&mut self) -> Option<Ran> {
        None
    }

    /// Returns the probes that this kernel does not have, and what is missing without each.
    fn missing(&self) -> Vec<String>;
}
