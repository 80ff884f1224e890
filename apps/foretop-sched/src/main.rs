//! Scheduling by forecast, on the command line: parse, run, report. `foretop sched` starts it.
#![forbid(unsafe_code)]

mod command;
mod page;
mod protection;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

use command::{calibrate, explain, run, sequences, simulate, worker};

/// Split work among workers by what they are forecast to give
#[derive(Parser)]
#[command(
    name = "foretop-sched",
    bin_name = "foretop sched",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = examples(&[
    "foretop sched simulate examples/sched/pool.toml --traces testdata/host-load --policy all",
    "foretop sched worker --listen 127.0.0.1:7400 --allow render=/usr/local/bin/render",
    "foretop sched run job.toml --run tonight --out result.txt",
]))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Simulate(simulate::Simulate),
    Worker(worker::Work),
    Run(run::Run),
    Sequences(sequences::Sequences),
    Explain(explain::Explain),
    Calibrate(calibrate::Calibrate),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        Command::Simulate(command) => command.run(&mut out),
        Command::Worker(command) => command.run(&mut out),
        Command::Run(command) => command.run(&mut out),
        Command::Sequences(command) => command.run(&mut out),
        Command::Explain(command) => command.run(&mut out),
        Command::Calibrate(command) => command.run(&mut out),
    };
    program::end("foretop sched", done, &mut out, &mut io::stderr().lock())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_shows_its_purpose_an_example_and_its_exit_status() {
        for command in Cli::command().get_subcommands() {
            let help = command.clone().render_long_help().to_string();
            assert!(
                command.get_about().is_some() && help.contains("Example") && help.contains("Exit status:"),
                "{help}"
            );
        }
    }
}
