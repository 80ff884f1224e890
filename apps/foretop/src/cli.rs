//! Command line: the commands, and how a command line is read.

use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::catalogue::{self, PROGRAMS};
use crate::command::{
    analyze, ask, completions, export, external, fit, forget, internal, man, models, predict, replay, rules, runtime,
    signals, token, top, up,
};
use crate::help::overview;
use crate::renamed;
use command_line::terminal::say;
use text::help::examples;

/// Measure this host and forecast it, with error bars: a `top` that looks ahead
#[derive(Parser)]
#[command(name = "foretop", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = examples(&["foretop up", "foretop top", "foretop ask cpu.availability --horizon 30s"]))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Commands. Each one that is not hidden is in a group of [`catalogue::GROUPS`].
#[derive(Subcommand)]
pub enum Command {
    Up(Box<up::Up>),
    Top(top::Top),
    Ask(ask::Ask),
    Rules(rules::RulesCommand),
    Runtime(runtime::Runtime),
    Signals(signals::Signals),
    Export(export::Export),
    Forget(forget::Forget),
    Models(models::Models),
    Predict(predict::Predict),
    Analyze(analyze::Analyze),
    Fit(fit::Fit),
    Replay(replay::Replay),
    Token(token::Token),
    Completions(completions::Completions),
    Man(man::Man),
    Internal(internal::Internal),
    #[command(external_subcommand)]
    External(Vec<OsString>),
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
            Self::Rules(command) => command.run(out),
            Self::Runtime(command) => command.run(out),
            Self::Signals(command) => command.run(out),
            Self::Export(command) => command.run(out),
            Self::Forget(command) => command.run(),
            Self::Models(command) => command.run(out),
            Self::Predict(command) => command.run(out),
            Self::Analyze(command) => command.run(out),
            Self::Fit(command) => command.run(out),
            Self::Replay(command) => command.run(),
            Self::Token(command) => command.run(out),
            Self::Completions(command) => command.run(out),
            Self::Man(command) => command.run(out),
            Self::Internal(command) => command.run(out),
            Self::External(words) => external::run(words),
        }
    }
}

impl Cli {
    /// Reads the command line. Ends the process if that is a question for help, or makes no sense.
    pub fn read() -> Self {
        let mut definition = Self::command();
        definition = definition.help_template(overview(&Self::command(), PROGRAMS));
        let (words, told) = renamed::with_current_names(std::env::args_os().collect());
        if let Some(told) = told {
            say(&told);
        }
        let words = external::help_of_program(words, &definition);
        let matches = definition.try_get_matches_from_mut(words).unwrap_or_else(|error| error.exit());
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut definition).exit())
    }
}

/// The command line as completions and manual pages have it: without what is hidden, with the programs that are
/// started by name.
pub fn public() -> clap::Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let programs = catalogue::started_by_name(PROGRAMS)
        .map(|program| clap::Command::new(program.name).about(program.purpose).disable_help_flag(true));
    clap::Command::new("foretop")
        .version(env!("CARGO_PKG_VERSION"))
        .about(all.get_about().cloned().unwrap_or_default())
        .after_help(all.get_after_help().cloned().unwrap_or_default())
        .subcommands(shown)
        .subcommands(programs)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::{GROUPS, Group, Program};

    /// A program that nobody has built.
    const SIM: Program = Program {
        name: "sim",
        file: None,
        group: Group::Simulate,
        purpose: "Run programs",
        build: "make sim",
        instead: None,
    };

    fn built() -> clap::Command {
        let mut command = Cli::command();
        command.build();
        command
    }

    fn overview_of(programs: &[Program]) -> String {
        Cli::command().help_template(overview(&Cli::command(), programs)).render_help().to_string()
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
        public().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, _, commands)| *commands).copied().collect();
        let command = built();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let visible: BTreeSet<&str> = visible.map(clap::Command::get_name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), visible);
        assert_eq!(grouped.len(), visible.len(), "a command is in two groups");
        for program in PROGRAMS {
            assert!(!grouped.contains(&program.name), "`{}` is built in", program.name);
        }
    }

    #[test]
    fn the_overview_has_a_line_for_each_command_that_fits_a_terminal() {
        let shown = overview_of(&[SIM]);
        for (_, title, commands) in GROUPS.iter().filter(|(group, _, _)| *group == Group::Simulate) {
            assert!(commands.is_empty() && shown.contains(&format!("\n{title}:\n  sim ")), "{shown}");
        }
        for name in GROUPS.iter().flat_map(|(_, _, commands)| *commands) {
            assert_eq!(shown.matches(&format!("\n  {name} ")).count(), 1, "{name}: {shown}");
        }
        let too_long: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(too_long.is_empty(), "{too_long:?}");
    }

    #[test]
    fn a_group_without_commands_is_left_out() {
        let shown = overview_of(PROGRAMS);
        assert!(shown.contains("\nMPI:\n") && !shown.contains("Keep:"), "{shown}");
    }

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
        check(&Cli::command(), "foretop");
    }
}
