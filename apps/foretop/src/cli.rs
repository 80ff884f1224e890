//! What can be typed: the commands.

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::command::{
    analyze, ask, availability_study, completions, compose, crossval, export, fit, forget, internal, man, models, mpi,
    predict, replay, runtime, signals, stream, top, up, workload,
};
use crate::help::examples;

/// A `top` that looks ahead: measures this host and forecasts it, with error bars
#[derive(Parser)]
#[command(name = "foretop", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = examples(&["foretop up", "foretop top", "foretop ask cpu.availability --horizon 30s"]))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Up(up::Up),
    Top(top::Top),
    Ask(ask::Ask),
    Runtime(runtime::Runtime),
    Signals(signals::Signals),
    Export(export::Export),
    Forget(forget::Forget),
    Models(models::Models),
    Predict(predict::Predict),
    Analyze(analyze::Analyze),
    Fit(fit::Fit),
    Crossval(crossval::Crossval),
    Replay(replay::Replay),
    Workload(workload::MakeWorkload),
    AvailabilityStudy(availability_study::AvailabilityStudy),
    Stream(stream::Stream),
    #[command(hide = true)]
    PredReconfig(stream::PredReconfig),
    Compose(compose::Compose),
    Mpi(mpi::Mpi),
    Completions(completions::Completions),
    Man(man::Man),
    Internal(internal::Internal),
}

impl Command {
    /// Does what was asked, writing results to `out`.
    ///
    /// # Errors
    /// With the whole chain of reasons, for `main` to print.
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self {
            Self::Up(command) => command.run(out),
            Self::Top(command) => command.run(out),
            Self::Ask(command) => command.run(out),
            Self::Runtime(command) => command.run(out),
            Self::Signals(command) => command.run(out),
            Self::Export(command) => command.run(out),
            Self::Forget(command) => command.run(),
            Self::Models(command) => command.run(out),
            Self::Predict(command) => command.run(out),
            Self::Analyze(command) => command.run(out),
            Self::Fit(command) => command.run(out),
            Self::Crossval(command) => command.run(out),
            Self::Replay(command) => command.run(),
            Self::Workload(command) => command.run(out),
            Self::AvailabilityStudy(command) => command.run(out),
            Self::Stream(command) => command.run(out),
            Self::PredReconfig(command) => command.run(out),
            Self::Compose(command) => command.run(out),
            Self::Mpi(command) => command.run(out),
            Self::Completions(command) => command.run(out),
            Self::Man(command) => command.run(out),
            Self::Internal(command) => command.run(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_its_purpose_an_example_and_its_exit_status() {
        fn check(command: &clap::Command, path: &str) {
            for below in command.get_subcommands() {
                let path = format!("{path} {}", below.get_name());
                // These hand on `--help` to a program, which has all of it.
                if matches!(path.as_str(), "foretop mpi ace" | "foretop mpi comb" | "foretop mpi noise") {
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
