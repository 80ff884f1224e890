//! Programs of the system.

use std::path::Path;
use std::process::{Command, Stdio};

use program::Failure;

/// Runs one, and gives what it says. Its last words say what went wrong.
pub fn tool<'a>(program: &str, arguments: impl IntoIterator<Item = &'a Path>) -> Result<String, Failure> {
    let mut command = Command::new(program);
    let done = command.args(arguments).stdin(Stdio::null()).output();
    let done = done.map_err(|error| Failure::work(format!("cannot run `{program}`: {error}")))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
    }
    Err(Failure::work(format!("`{program}`: {}", last_words(&String::from_utf8_lossy(&done.stderr)))))
}

/// The last line that a program said before it failed.
pub fn last_words(said: &str) -> String {
    text::printable(said.trim().lines().last().unwrap_or("it failed without a word"))
}
