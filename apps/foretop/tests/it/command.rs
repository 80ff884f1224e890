//! Running the binary to its end, and what it said.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a command left behind.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The binary under test, without anything that the surroundings would set.
pub fn foretop() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretop"));
    let inherited = std::env::vars_os().map(|(key, _)| key);
    for key in inherited.filter(|key| key.to_string_lossy().starts_with("FORETOP_")) {
        command.env_remove(key);
    }
    command.env_remove("RUST_LOG").env("NO_COLOR", "1").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// Runs `foretop` with these arguments.
pub fn run(args: &[&str]) -> Ended {
    end_of(foretop().args(args))
}

/// Runs `foretop` with these arguments and this on standard input.
pub fn run_with_input(args: &[&str], input: &str) -> Ended {
    let mut command = foretop();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    ended(child.wait_with_output().unwrap())
}

pub fn end_of(command: &mut Command) -> Ended {
    loop {
        match command.output() {
            // A process that another test is about to start still has the file open that this one has just written.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => return ended(output.unwrap()),
        }
    }
}

fn ended(output: std::process::Output) -> Ended {
    Ended {
        status: output.status.code().expect("ended by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ended {
    /// Standard output of a command that succeeded and had nothing to complain of.
    #[track_caller]
    pub fn output(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// The same, as JSON.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.output()).unwrap()
    }

    /// Checks that it failed with this status, said this on standard error, and printed no result.
    #[track_caller]
    pub fn check_failed(&self, status: i32, message: &str) {
        assert_eq!((self.status, self.stdout.as_str()), (status, ""), "{}", self.stderr);
        assert!(self.stderr.contains(message), "`{message}` is not in: {}", self.stderr);
    }
}

/// A trace of the repository.
pub fn trace(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "nab", name].iter().collect();
    path.to_str().unwrap().to_owned()
}
