//! Named pipes.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::net::unix::pipe;

use super::{BytesIn, BytesOut, io_error};
use crate::endpoint::Endpoint;
use crate::error::OpenError;

/// Opened for both ways, so that it does not end when a writer goes: the next one may come.
pub(super) fn source(endpoint: &Endpoint, path: &Path) -> Result<BytesIn, OpenError> {
    make(endpoint, path)?;
    let receiver = pipe::OpenOptions::new().read_write(true).open_receiver(path).map_err(io_error(endpoint))?;
    Ok(Box::new(receiver))
}

/// Fails while nobody reads it.
pub(super) fn target(endpoint: &Endpoint, path: &Path) -> Result<BytesOut, OpenError> {
    make(endpoint, path)?;
    let sender = pipe::OpenOptions::new().open_sender(path).map_err(io_error(endpoint))?;
    Ok(Box::new(sender))
}

fn make(endpoint: &Endpoint, path: &Path) -> Result<(), OpenError> {
    match fs::metadata(path) {
        Ok(there) if there.file_type().is_fifo() => Ok(()),
        Ok(_) => Err(OpenError::Occupied { endpoint: endpoint.to_string() }),
        Err(_) => match mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
            // The other end may have made it at the same moment.
            Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
            Err(error) => Err(io_error(endpoint)(error.into())),
        },
    }
}
