//! This host, as far as a study writes down where it was made.

use std::{io, num::NonZero, path::Path, thread, time::Duration};

use rustix::system::uname;
use sensor::Host;
use signal::Readings;

use crate::StudyError;

/// The host where a study is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub host: String,
    pub kernel: String,
    pub n_cores: u32,
}

impl Place {
    pub(crate) fn here() -> Result<Place, StudyError> {
        let name = uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        let n_cores = thread::available_parallelism().and_then(to_u32);
        Ok(Place {
            host: text(name.nodename()),
            kernel: format!("{} {} {}", text(name.sysname()), text(name.release()), text(name.machine())),
            n_cores: n_cores.map_err(|source| StudyError::Cores { source })?,
        })
    }
}

fn to_u32(n_cores: NonZero<usize>) -> io::Result<u32> {
    u32::try_from(n_cores.get()).map_err(io::Error::other)
}

/// Returns how busy the cores of this host are during `span`, all of them together, 0 to 1. Takes that long.
///
/// # Errors
/// When the host has no `/proc`.
pub fn busy_share(span: Duration) -> Result<f64, StudyError> {
    let mut host = Host::open(Path::new("/"))?;
    let mut readings = Readings::default();
    let start = clock::instant();
    host.read(start.elapsed(), &mut readings);
    clock::sleep(span);
    host.read(start.elapsed(), &mut readings);
    let busy = readings.iter().find(|(signal, _)| signal.id().as_ref() == "cpu.busy");
    Ok(busy.map_or(0.0, |(_, share)| share))
}
