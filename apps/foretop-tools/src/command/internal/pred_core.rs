//! `foretop internal pred-core`: the process in which a prediction server makes its forecasts.

use std::io::stdin;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use anyhow::Context;
use clap::Args;
use component::CoreProgram;

use text::help::examples;

/// Run as the core of a prediction server, with a socket as standard input; `foretop stream pred-server` starts it
#[derive(Args)]
#[command(after_help = examples(&["foretop stream pred-server source:tcp:localhost:5004 connect:tcp:5006"]))]
pub struct PredCore {}

impl PredCore {
    pub fn run(self) -> anyhow::Result<()> {
        let socket = stdin().as_fd().try_clone_to_owned().context("a core is started by a prediction server")?;
        Ok(component::run_core(UnixStream::from(socket))?)
    }
}

/// Returns this very program as a core.
///
/// # Errors
/// When the program's own file cannot be found.
pub fn core() -> anyhow::Result<CoreProgram> {
    let (program, arguments) = command_line::internal("pred-core")?;
    Ok(CoreProgram { program, arguments })
}
