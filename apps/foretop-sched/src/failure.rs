//! Why a command ends without having done its work.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;

/// With what is told, and whose fault it is.
pub enum Failure {
    /// The work could not be done: exit status 1.
    Work(String),
    /// What was asked for makes no sense: exit status 2.
    Usage(String),
}

impl Failure {
    pub fn work(cause: impl Display) -> Self {
        Self::Work(cause.to_string())
    }

    pub fn usage(cause: impl Display) -> Self {
        Self::Usage(cause.to_string())
    }

    /// With all causes, in one line.
    pub fn work_of(error: &dyn Error) -> Self {
        Self::Work(chain(error))
    }

    /// With all causes, in one line.
    pub fn usage_of(error: &dyn Error) -> Self {
        Self::Usage(chain(error))
    }

    /// For the shell.
    pub fn status(&self) -> u8 {
        match self {
            Self::Work(_) => 1,
            Self::Usage(_) => 2,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Work(message) | Self::Usage(message)) = self;
        f.write_str(message)
    }
}

fn chain(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        told += &format!(": {next}");
        cause = next.source();
    }
    told
}

/// The end of a command that wrote what it had to. A reader that went away had enough.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::work(format!("cannot print: {error}"))),
        _ => Ok(()),
    }
}
