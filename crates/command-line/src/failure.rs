//! End of a command: its exit status, and the one message that explains it.

use std::io;

/// Exit status if the work could not be done.
const FAILED: u8 = 1;
/// Exit status if what was asked for makes no sense. `clap` ends with the same status.
const USAGE: u8 = 2;

/// An error of whoever typed the command or wrote the configuration.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct UsageError(anyhow::Error);

/// A program that this one started ended with another status than 0, which is handed on.
#[derive(Debug, thiserror::Error)]
#[error("the program ended with exit status {0}")]
pub struct ProgramFailed(pub u8);

/// Marks an error as one of usage or configuration, which exits with 2.
pub trait OrUsage<T> {
    /// The same, marked.
    fn or_usage(self) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrUsage<T> for Result<T, E> {
    fn or_usage(self) -> anyhow::Result<T> {
        self.map_err(|error| UsageError(error.into()).into())
    }
}

/// Outcome of a command.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// The command did what it was asked.
    Done,
    /// The command did not.
    Failed {
        /// Exit status for the shell.
        status: u8,
        /// The chain of errors in one line, without control characters.
        message: String,
    },
}

/// Returns the outcome that `main` reports. A reader that went away (`foretop … | head`) had enough, so a broken pipe
/// is no error.
pub fn outcome(result: &anyhow::Result<()>) -> Outcome {
    let Err(error) = result else { return Outcome::Done };
    let is_broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_broken_pipe) {
        return Outcome::Done;
    }
    let handed_on = error.chain().find_map(|cause| cause.downcast_ref::<ProgramFailed>());
    let status = match handed_on {
        Some(ProgramFailed(status)) => *status,
        None if error.chain().any(|cause| cause.is::<UsageError>()) => USAGE,
        None => FAILED,
    };
    let causes: Vec<String> = error.chain().map(|cause| text::without_picture(cause.to_string().trim_end())).collect();
    Outcome::Failed { status, message: text::printable(&causes.join(": ")) }
}

/// Ends the process with status 1 when any of its threads panics. For components, which are of one piece: what goes on
/// without a part would look well from outside and do nothing.
pub fn end_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::exit(FAILED.into());
    }));
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    fn failed(status: u8, message: &str) -> Outcome {
        Outcome::Failed { status, message: message.to_owned() }
    }

    #[test]
    fn the_chain_is_one_line() {
        let result = Err(anyhow!("no such file")).context("cannot open `x`");
        assert_eq!(outcome(&result), failed(1, "cannot open `x`: no such file"));
    }

    #[test]
    fn an_error_of_usage_exits_with_2_also_under_context() {
        let result: anyhow::Result<()> = Err(anyhow!("bad")).or_usage();
        assert_eq!(outcome(&result), failed(2, "bad"));
        assert_eq!(outcome(&result.context("in the file")), failed(2, "in the file: bad"));
    }

    #[test]
    fn the_status_of_a_program_is_handed_on() {
        let result = Err(ProgramFailed(7).into());
        assert_eq!(outcome(&result), failed(7, "the program ended with exit status 7"));
    }

    #[test]
    fn a_reader_that_had_enough_is_no_failure() {
        let result = Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
        assert_eq!(outcome(&result), Outcome::Done);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(outcome(&Err(anyhow!("`a\x1b[2Jb`"))), failed(1, "`a\u{fffd}[2Jb`"));
    }
}
