//! A program that is run when something has changed.

use std::io::{self, Seek, Write};
use std::process::{self, ExitStatus, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::{DeliveryError, Message};

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
    pub(crate) fn run(&self, message: &Message<'_>) -> Result<(), DeliveryError> {
        let program = self.program.clone();
        match self.ended(&message.to_json()) {
            Err(source) => Err(DeliveryError::Run { program, source }),
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(DeliveryError::Failed { program, how: status.to_string() }),
            Ok(None) => {
                Err(DeliveryError::Failed { program, how: format!("it took longer than {} s", TIMEOUT.as_secs()) })
            }
        }
    }

    /// Runs the program and returns its exit status; `None` if it was killed.
    fn ended(&self, input: &[u8]) -> io::Result<Option<ExitStatus>> {
        // A file and not a pipe, so that nobody waits for a program that does not read.
        let mut file = tempfile::tempfile()?;
        file.write_all(input)?;
        file.rewind()?;
        let mut child = process::Command::new(&self.program)
            .args(&self.arguments)
            .stdin(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let ended = child.wait_timeout(TIMEOUT)?;
        if ended.is_none() {
            child.kill()?;
            child.wait()?;
        }
        Ok(ended)
    }
}
