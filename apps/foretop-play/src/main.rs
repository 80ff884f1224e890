//! Playback that slows down instead of stopping, on the command line: parse, run, report. `foretop play` starts it.
#![forbid(unsafe_code)]

mod simulate;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

/// Play sound that slows down instead of stopping
#[derive(Parser)]
#[command(name = "foretop-play", bin_name = "foretop play", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = examples(&[
    "foretop play simulate --law all",
]))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Simulate(simulate::Simulate),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        Command::Simulate(command) => command.run(&mut out),
    };
    program::end("foretop play", done, &mut out, &mut io::stderr().lock())
}
