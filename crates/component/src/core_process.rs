//! The process that a prediction server's core runs in.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A program that is a core: it calls [`run_core`](crate::run_core) with the socket that its standard input is.
#[derive(Clone, Debug)]
pub struct CoreProgram {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A core that runs. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct CoreProcess(Child);

impl CoreProcess {
    /// Starts the program, and returns the socket that connects to it.
    pub(crate) fn start(program: &CoreProgram) -> io::Result<(Self, UnixStream)> {
        let (ours, its) = UnixStream::pair()?;
        let child = Command::new(&program.program)
            .args(&program.arguments)
            .stdin(OwnedFd::from(its))
            .stdout(Stdio::null())
            // What a terminal tells the server to do is the server's matter.
            .process_group(0)
            .spawn()?;
        Ok((Self(child), ours))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends the process, and returns how it ended: by itself before, or by this.
    pub(crate) fn end(mut self) -> String {
        // One that ended before keeps the status that it had.
        let _ = self.0.kill();
        self.0.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for CoreProcess {
    fn drop(&mut self) {
        // It may have ended already. A stopped process is killed as any other.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
