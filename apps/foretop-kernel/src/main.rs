//! The command line of kernel measurement: parse, run, report. `foretop kernel` starts it.

mod argument;
mod capture;
mod command;
mod delivery;
mod mpi_calls;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

use command::{agent, control, cost, files, receive, record, status, study, watch};

/// See what this host's kernel is doing, at a stated and bounded cost
#[derive(Parser)]
#[command(
    name = "foretop-kernel",
    bin_name = "foretop kernel",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = examples(&["foretop kernel watch vm fs --budget 1%", "foretop kernel cost"]))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Watch(watch::Watch),
    Cost(cost::Cost),
    Trace(record::Trace),
    Record(record::Record),
    Receive(receive::Receive),
    Show(files::Show),
    Extract(files::Extract),
    Merge(files::Merge),
    Split(files::Split),
    Plot(files::Plot),
    Study(study::Study),
    Agent(agent::Agent),
    Status(status::Status),
    On(control::On),
    Off(control::Off),
    Set(control::Set),
    Lease(control::Lease),
    Release(control::Release),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        Command::Watch(command) => command.run(&mut out),
        Command::Cost(command) => command.run(&mut out),
        Command::Trace(command) => command.run(&mut out),
        Command::Record(command) => command.run(&mut out),
        Command::Receive(command) => command.run(&mut out),
        Command::Show(command) => command.run(&mut out),
        Command::Extract(command) => command.run(&mut out),
        Command::Merge(command) => command.run(&mut out),
        Command::Split(command) => command.run(&mut out),
        Command::Plot(command) => command.run(&mut out),
        Command::Study(command) => command.run(&mut out),
        Command::Agent(command) => command.run(&mut out),
        Command::Status(command) => command.run(&mut out),
        Command::On(command) => command.run(&mut out),
        Command::Off(command) => command.run(&mut out),
        Command::Set(command) => command.run(&mut out),
        Command::Lease(command) => command.run(&mut out),
        Command::Release(command) => command.run(&mut out),
    };
    program::end("foretop kernel", done, &mut out, &mut io::stderr().lock())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_shows_its_purpose_an_example_and_its_exit_status() {
        fn check(command: &clap::Command, path: &str) {
            for below in command.get_subcommands() {
                let path = format!("{path} {}", below.get_name());
                let help = below.clone().render_long_help().to_string();
                assert!(below.get_about().is_some(), "{path} does not say what it is for");
                assert!(help.contains("Example") && help.contains("Exit status:"), "{path}: {help}");
                check(below, &path);
            }
        }
        Cli::command().debug_assert();
        check(&Cli::command(), "foretop kernel");
    }
}
