//! The tunnel's command line: parse, run, report. `foretop tunnel` starts it.

mod publish;
mod run;
mod status;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

/// Carry connections over a slow link, and send nothing twice
#[derive(Parser)]
#[command(name = "foretop-tunnel", bin_name = "foretop tunnel", version, max_term_width = 100)]
#[command(arg_required_else_help = true)]
#[command(after_help = examples(&[
    "foretop tunnel far --config far.toml",
    "foretop tunnel near --config near.toml",
    "foretop tunnel status --config near.toml",
]))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Near(run::NearEnd),
    Far(run::FarEnd),
    Status(status::Ask),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        Command::Near(command) => command.run(&mut out),
        Command::Far(command) => command.run(&mut out),
        Command::Status(command) => command.run(&mut out),
    };
    program::end("foretop tunnel", done, &mut out, &mut io::stderr().lock())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_shows_its_purpose_an_example_and_its_exit_status() {
        for command in Cli::command().get_subcommands() {
            let help = command.clone().render_long_help().to_string();
            assert!(command.get_about().is_some(), "{} does not say what it is for", command.get_name());
            assert!(help.contains("Example") && help.contains("Exit status:"), "{help}");
        }
    }
}
