//! Unix domain sockets. Who may connect is the matter of the folder that they are in.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::{Connection, io_error};
use crate::endpoint::Endpoint;
use crate::error::OpenError;

/// The socket's file goes with it.
pub(crate) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// A socket that a dead process left behind is taken over; anything else at the path is left alone.
    pub(super) fn open(endpoint: &Endpoint, path: &Path) -> Result<Self, OpenError> {
        if let Ok(there) = fs::symlink_metadata(path) {
            let is_dead = there.file_type().is_socket() && std::os::unix::net::UnixStream::connect(path).is_err();
            if !is_dead {
                return Err(OpenError::Occupied { endpoint: endpoint.to_string() });
            }
            fs::remove_file(path).map_err(io_error(endpoint))?;
        }
        let listener = UnixListener::bind(path).map_err(io_error(endpoint))?;
        let listener = Self { listener, path: path.to_owned() };
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(io_error(endpoint))?;
        Ok(listener)
    }

    pub(super) fn address(&self) -> String {
        format!("unix:{}", self.path.display())
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Whoever removed it before has done what was to be done.
        let _ = fs::remove_file(&self.path);
    }
}

pub(super) async fn connect(endpoint: &Endpoint, path: &Path) -> Result<Connection, OpenError> {
    UnixStream::connect(path).await.map(connection).map_err(io_error(endpoint))
}

pub(super) fn connection(stream: UnixStream) -> Connection {
    let (bytes_in, bytes_out) = stream.into_split();
    Connection { bytes_in: Box::new(bytes_in), bytes_out: Box::new(bytes_out) }
}
