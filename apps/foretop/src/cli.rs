//! What can be typed: the commands, and the arguments that several of them share.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use node_api::{Client, NodeUrl};
use secret::{Exposed, Form, Privacy, Secret, SecretError};

use crate::command::replay::eprintln_line;
use crate::command::{
    analyze, ask, availability_study, completions, compose, crossval, export, fit, forget, load, load_worker, man,
    models, mpi, predict, replay, runtime, signals, spin, stream, study_test, top, up,
};
use crate::failure::OrUsage;

/// A `top` that looks ahead: measures this host, forecasts what it will deliver next, with an error bar.
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
    Predict(predict::Predict),
    Analyze(analyze::Analyze),
    Fit(fit::Fit),
    Replay(replay::Replay),
    AvailabilityStudy(availability_study::AvailabilityStudy),
    Crossval(crossval::Crossval),
    Runtime(runtime::Runtime),
    Signals(signals::Signals),
    Stream(stream::Stream),
    #[command(hide = true)]
    PredReconfig(stream::PredReconfig),
    Spin(spin::Spin),
    Export(export::Export),
    Forget(forget::Forget),
    Load(load::MakeLoad),
    LoadWorker(load_worker::LoadWorker),
    Models(models::Models),
    Mpi(mpi::Mpi),
    Compose(compose::Compose),
    Completions(completions::Completions),
    Man(man::Man),
    StudyTest(study_test::StudyTest),
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
            Self::Predict(command) => command.run(out),
            Self::Analyze(command) => command.run(out),
            Self::Fit(command) => command.run(out),
            Self::Replay(command) => command.run(),
            Self::AvailabilityStudy(command) => command.run(out),
            Self::Crossval(command) => command.run(out),
            Self::Runtime(command) => command.run(out),
            Self::Signals(command) => command.run(out),
            Self::Spin(command) => command.run(),
            Self::Stream(command) => command.run(out),
            Self::PredReconfig(command) => command.run(out),
            Self::Export(command) => command.run(out),
            Self::Forget(command) => command.run(),
            Self::Load(command) => command.run(out),
            Self::LoadWorker(command) => command.run(),
            Self::Models(command) => command.run(out),
            Self::Mpi(command) => command.run(out),
            Self::Compose(command) => command.run(out),
            Self::Completions(command) => command.run(out),
            Self::Man(command) => command.run(out),
            Self::StudyTest(command) => command.run(out),
        }
    }
}

/// The end of a command's help: what it looks like in use, and how it exits.
pub fn examples(lines: &[&str]) -> String {
    let heading = if lines.len() == 1 { "Example" } else { "Examples" };
    let shown: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(
        "{heading}:\n{shown}\nExit status:\n  0 done, 1 the work failed, 2 the command or the configuration makes no sense"
    )
}

/// For results that are a line or a picture.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum TextOrJson {
    /// For people.
    Text,
    /// For programs; see docs/formats/cli.md.
    Json,
}

/// For listings.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum TableOrJson {
    /// For people.
    Table,
    /// For programs; see docs/formats/cli.md.
    Json,
}

/// Which node to speak to.
#[derive(Args, Clone, Debug)]
pub struct NodeArgs {
    /// The node to speak to [default: http://127.0.0.1:7311]
    #[arg(long, value_name = "URL", env = "FORETOP_NODE")]
    pub node: Option<NodeUrl>,

    /// File that holds the node's token
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
}

impl NodeArgs {
    /// A client of that node; nothing is sent yet.
    ///
    /// # Errors
    /// When the token's file cannot be read or holds no token.
    pub fn client(&self) -> anyhow::Result<Client> {
        let token = self.token_file.as_deref().map(read_token).transpose().or_usage()?;
        Ok(Client::new(self.node.clone().unwrap_or_default(), token))
    }
}

/// The token in a file, line ends and spaces around it left out.
///
/// # Errors
/// When the file cannot be read or holds no token.
pub fn read_token(path: &Path) -> Result<Secret, SecretError> {
    read_secret(path, Form::Token)
}

/// The secret in a file. That others can read it too is said on standard error.
///
/// # Errors
/// When the file cannot be read or holds no such secret.
pub fn read_secret(path: &Path, form: Form) -> Result<Secret, SecretError> {
    let found = secret::read(path, form, Privacy::Advised)?;
    warn_of(found.exposed.as_ref());
    Ok(found.secret)
}

/// Says on standard error what is wrong with the file of a secret that is used all the same.
pub fn warn_of(exposed: Option<&Exposed>) {
    if let Some(exposed) = exposed {
        eprintln_line(&format!("foretop: warning: {exposed}"));
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
    fn every_command_shows_an_example_and_its_exit_status() {
        for mut command in Cli::command().get_subcommands().cloned() {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example") && help.contains("Exit status:"), "{help}");
        }
    }
}
