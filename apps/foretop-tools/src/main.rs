//! The commands that a node does not need: streams, studies, MPI, emulated networks. `foretop NAME` starts them.
#![forbid(unsafe_code)]

mod command;
mod publisher;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use text::help::examples;

use command::{availability_study, compose, crossval, internal, mpi, stream, wan, workload};

/// Run streams, studies, MPI programs and emulated networks
#[derive(Parser)]
#[command(name = "foretop-tools", bin_name = "foretop", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = examples(&["foretop compose examples/host-load.toml", "foretop mpi trace -n 4 -- PROGRAM"]))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Crossval(crossval::Crossval),
    Workload(workload::MakeWorkload),
    AvailabilityStudy(availability_study::AvailabilityStudy),
    Stream(stream::Stream),
    #[command(hide = true)]
    PredReconfig(stream::PredReconfig),
    Compose(compose::Compose),
    Mpi(mpi::Mpi),
    Wan(wan::Wan),
    Internal(internal::Internal),
}

impl Command {
    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Self::Crossval(command) => command.run(out),
            Self::Workload(command) => command.run(out),
            Self::AvailabilityStudy(command) => command.run(out),
            Self::Stream(command) => command.run(out),
            Self::PredReconfig(command) => command.run(out),
            Self::Compose(command) => command.run(out),
            Self::Mpi(command) => command.run(out),
            Self::Wan(command) => command.run(out),
            Self::Internal(command) => command.run(out),
        }
    }
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    command_line::end(|out| command.run(out))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Commands that hand on `--help` to a program, which has all of it.
    const HANDED_ON: [&str; 5] =
        ["foretop mpi ace", "foretop mpi comb", "foretop mpi miniapp", "foretop mpi noise", "foretop mpi sort"];

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_its_purpose_an_example_and_its_exit_status() {
        fn check(command: &clap::Command, path: &str) {
            for below in command.get_subcommands() {
                let path = format!("{path} {}", below.get_name());
                if HANDED_ON.contains(&path.as_str()) {
                    continue;
                }
                let help = below.clone().render_long_help().to_string();
                assert!(below.get_about().is_some(), "{path} does not say what it is for");
                assert!(help.contains("Example") && help.contains("Exit status:"), "{path}: {help}");
                check(below, &path);
            }
        }
        check(&Cli::command(), "foretop");
    }
}
