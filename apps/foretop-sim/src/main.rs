//! The simulator's command line: parse, run, report. `foretop sim` starts it.

mod argument;
mod command;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

use command::{fit, kernel, machine, outcome, replay, run, study, sweep};

/// Predict an MPI program on a machine that you do not have
#[derive(Parser)]
#[command(name = "foretop-sim", bin_name = "foretop sim", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = examples(&[
    "foretop sim run -n 16 --machine examples/sim/two-sites.toml -- ./heat 512",
    "foretop sim replay foretop-trace --machine examples/sim/two-sites.toml",
    "foretop sim machine show examples/sim/two-sites.toml",
]))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Kernel(kernel::Kernel),
    Replay(replay::Replay),
    Sweep(sweep::Sweep),
    Show(outcome::Show),
    Plot(outcome::Plot),
    Compare(outcome::Compare),
    Fit(fit::Fit),
    Machine(machine::Machine),
    Study(study::Study),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        Command::Run(command) => command.run(&mut out),
        Command::Kernel(command) => command.run(&mut out),
        Command::Replay(command) => command.run(&mut out),
        Command::Sweep(command) => command.run(&mut out),
        Command::Show(command) => command.run(&mut out),
        Command::Plot(command) => command.run(&mut out),
        Command::Compare(command) => command.run(&mut out),
        Command::Fit(command) => command.run(&mut out),
        Command::Machine(command) => command.run(&mut out),
        Command::Study(command) => command.run(&mut out),
    };
    program::end("foretop sim", done, &mut out, &mut io::stderr().lock())
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
        check(&Cli::command(), "foretop sim");
    }
}
