//! A program that is run when something has changed.

use std::io::Write;
use std::process::{self, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::{Message, TellError};

/// A program that takes longer is killed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A program and its arguments. No shell reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its path, or its name where `PATH` has it.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Command {
    pub(crate) fn run(&self, message: &Message<'_>) -> Result<(), TellError> {
        let program = &self.program;
        let cannot = |source| TellError::Run { program: program.clone(), source };
        let failed = |how: String| TellError::Failed { program: program.clone(), how };
        let mut child = process::Command::new(program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(cannot)?;
        let mut input = child.stdin.take().expect("standard input is a pipe");
        let text = message.to_json();
        // Beside, because a program that does not read would otherwise be waited for without an end. One that is not
        // interested closes it, which is its business.
        let writer = std::thread::spawn(move || drop(input.write_all(&text)));
        let ended = child.wait_timeout(TIMEOUT).map_err(cannot)?;
        if ended.is_none() {
            child.kill().and_then(|()| child.wait()).map_err(cannot)?;
        }
        // The other end is closed: it has ended, or is about to.
        let _ = writer.join();
        match ended {
            None => Err(failed(format!("it took longer than {} s", TIMEOUT.as_secs()))),
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(failed(status.to_string())),
        }
    }
}
