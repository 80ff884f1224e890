//! `foretop compose`: a described system of components, started, shown live, and stopped.

mod kinds;
mod report;
mod screen;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use compose::{ComposeError, Launch, Launcher, Plan, RunFolder, Supervisor, System};
use signal_hook::iterator::Signals;
use text::printable;
use units::span;

use command_line::failure::OrUsage;
use command_line::interruption;
use command_line::terminal::has_screen;
use text::help::examples;

/// Components let their readers take what is there for them, which takes 2 s at most.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Interval of checks whether a component has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Interval at which the components are shown where nobody looks at a screen.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Run a system of components that a file describes
///
/// The system is shown live and stopped cleanly. The file names the components and which reads from which; endpoints
/// are assigned automatically. Ctrl-C stops all components, the last one first. Without a terminal, the command prints
/// a line for each component that changes. All components run on this host.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop compose examples/host-load.toml",
    "foretop compose examples/host-load.toml --for 30s --json",
    "foretop compose --check system.toml",
]))]
pub struct Compose {
    /// The description of the system; see docs/formats/compose.md
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,

    /// Only check the description
    #[arg(long, conflicts_with_all = ["show", "json", "span"])]
    check: bool,

    /// Only print the commands that would start
    #[arg(long, conflicts_with_all = ["json", "span"])]
    show: bool,

    /// Print a line of JSON each second; see docs/formats/compose.md
    #[arg(long)]
    json: bool,

    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", value_parser = span::parse)]
    span: Option<Duration>,

    /// Keep the components' output in this folder [default: the run folder, until the end]
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

/// The reason why the system is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Somebody has seen enough.
    Asked,
    /// The time is over.
    TimeOver,
    /// No component runs any longer.
    NothingRuns,
}

/// A system while it runs.
pub struct Running {
    supervisor: Supervisor,
    signals: Signals,
    until: Option<Instant>,
}

impl Compose {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let system = self.read().or_usage()?;
        if self.check {
            return Ok(writeln!(out, "{}: {} components, all well", self.file.display(), system.components.len())?);
        }
        let program = std::env::current_exe().context("cannot find this program, which the components are")?;
        let launcher = Launcher { program, arguments: vec!["stream".to_owned()] };
        let folder = RunFolder::make()?;
        let plan = Plan::new(&system, folder.path())?;
        if self.show {
            return plan.launches.iter().try_for_each(|launch| Ok(writeln!(out, "{}", command_line(launch))?));
        }
        // Before the first process, so that an impatient end finds the others stopped as well.
        let signals = interruption::watch()?;
        let logs = self.logs.clone().unwrap_or_else(|| folder.logs());
        fs::create_dir_all(&logs).with_context(|| format!("cannot make `{}`", logs.display()))?;
        let supervisor = Supervisor::start(plan, launcher, &logs)?;
        let mut running = Running { supervisor, signals, until: self.span.map(|span| clock::instant() + span) };
        let shown = self.show_until_its_end(&mut running, &logs, out);
        running.stop();
        shown?;
        running.verdict()
    }

    fn read(&self) -> anyhow::Result<System> {
        let path = self.file.display();
        let text = fs::read_to_string(&self.file).with_context(|| format!("cannot read `{path}`"))?;
        System::parse(&text, &kinds::kinds()).map_err(one_line).with_context(|| format!("`{path}`"))
    }

    fn show_until_its_end(&self, running: &mut Running, logs: &Path, out: &mut dyn Write) -> anyhow::Result<End> {
        if self.json {
            report::json(running, out)
        } else if has_screen() {
            screen::run(running, &self.file, logs)
        } else {
            report::lines(running, out)
        }
    }
}

/// Shortens TOML's messages, which are pictures of several lines, to one line.
fn one_line(error: ComposeError) -> anyhow::Error {
    match error {
        ComposeError::Syntax(error) => {
            let message = error.message().trim().replace('\n', ", ");
            anyhow::anyhow!("{}: {message}", ComposeError::Syntax(error.clone()))
        }
        error => error.into(),
    }
}

/// Returns the command line as it can be typed.
fn command_line(launch: &Launch) -> String {
    let words = ["foretop", "stream", &launch.run].into_iter().chain(launch.arguments.iter().map(String::as_str));
    printable(&words.map(quoted).collect::<Vec<_>>().join(" "))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl Running {
    /// Looks after the components once, and returns the reason to stop, if there is one.
    pub fn look(&mut self) -> Option<End> {
        self.supervisor.poll(clock::instant());
        if self.signals.pending().next().is_some() {
            return Some(End::Asked);
        }
        if self.until.is_some_and(|until| until <= clock::instant()) {
            return Some(End::TimeOver);
        }
        self.supervisor.is_over().then_some(End::NothingRuns)
    }

    /// Looks after the components for so long, or until it is time to stop.
    pub fn look_after(&mut self, span: Duration) -> Option<End> {
        let until = clock::instant() + span;
        loop {
            if let Some(end) = self.look() {
                return Some(end);
            }
            let rest = until.saturating_duration_since(clock::instant());
            if rest.is_zero() {
                return None;
            }
            clock::sleep(rest.min(LOOK_EVERY));
        }
    }

    pub fn status(&self) -> Vec<compose::ComponentStatus> {
        self.supervisor.status()
    }

    /// A second signal ends the wait.
    fn stop(&mut self) {
        let Self { supervisor, signals, .. } = self;
        supervisor.stop(STOP_WITHIN, || signals.pending().next().is_some());
    }

    fn verdict(&self) -> anyhow::Result<()> {
        let failures: Vec<String> =
            self.supervisor.failures().into_iter().map(|(name, words)| format!("{name} {words}")).collect();
        if !failures.is_empty() {
            bail!("{}", failures.join("; "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_for_a_shell() {
        assert_eq!(
            ["AR(16)", "it's", "", "source:unix:/run/a.b"].map(quoted),
            ["'AR(16)'", r"'it'\''s'", "''", "source:unix:/run/a.b"]
        );
    }
}
