//! Estimates of the savings by redundancy elimination: parse, run, report. `foretop dedup` starts it.

mod estimate;
mod plan;
mod study;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

/// Estimate what redundancy elimination would save
#[derive(Parser)]
#[command(name = "foretop-dedup", bin_name = "foretop dedup", version, max_term_width = 100)]
#[command(arg_required_else_help = true)]
#[command(after_help = examples(&["foretop dedup estimate release-1.tar release-2.tar"]))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Estimate(estimate::Estimate),
    Plan(plan::Plan),
    Study(study::Study),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        Command::Estimate(command) => command.run(&mut out),
        Command::Plan(command) => command.run(&mut out),
        Command::Study(command) => command.run(&mut out),
    };
    program::end("foretop dedup", done, &mut out, &mut io::stderr().lock())
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
