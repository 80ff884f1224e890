//! One tick as the sensors see it: what each of them offers, and what they tell one another while it is read.

use std::time::Duration;

use signal::Readings;

use crate::ReadError;
use crate::cpu::Times;

/// A reader of one file, or of files that belong together.
pub(crate) trait Sensor {
    /// Reads the file and hands out its signals.
    ///
    /// # Errors
    /// When the file cannot be read or understood. What was handed out before that is taken back.
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError>;
}

/// The state that the sensors share while one tick is read.
pub(crate) struct Tick<'a> {
    /// The moment of the tick.
    pub at: Duration,
    /// The number of cores online, once `/proc/stat` was read at this tick.
    pub n_cores: Option<u32>,
    /// The number of each core that is online and how it spent its time, once `/proc/stat` was read at this tick.
    pub cores: &'a mut Vec<(u64, Times)>,
    /// The number of tasks that run or wait for a core, without the one that reads, once `/proc/stat` was read at this
    /// tick.
    pub n_running: u64,
    /// The number of tasks started since the host was, once `/proc/stat` was read at this tick, if that file has the
    /// number.
    pub n_forks: Option<u64>,
    /// The time for which some task had to wait for a core since the host started, once its pressure was read.
    pub waited_us: Option<u64>,
    /// CPU availability by the load average, once that was read.
    pub by_load: Option<f64>,
    /// CPU availability by how the cores' time was spent, once that was read.
    pub by_vmstat: Option<f64>,
    /// Room for a file's text.
    pub text: &'a mut Vec<u8>,
    /// The readings that values are added to.
    pub readings: &'a mut Readings,
}
