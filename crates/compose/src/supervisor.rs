//! The processes of a system: started, watched, started again, stopped.
//!
//! Nothing is left behind. Each component has a process group of its own that is killed at the end, and the kernel
//! kills a component whose supervisor is gone. So [`Supervisor::start`] and [`Supervisor::poll`] are for one thread,
//! which lives as long as the system.

mod asker;
mod log;
mod process;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clock::Backoff;
use serde::Serialize;

use self::asker::{Asker, Figures};
use self::log::Log;
use self::process::Process;
use crate::error::ComposeError;
use crate::plan::{Launch, Plan};
use crate::system::Restart;

/// The pause before the first start after a failure; it doubles with each failure in a row.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Time over which restarts are counted.
const RESTARTS_WITHIN: Duration = Duration::from_secs(60);

/// Time between two checks whether processes have ended, while they are to end.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The program that runs components, and its arguments before a component's name.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Arguments before the name of the component.
    pub arguments: Vec<String>,
}

/// A running system.
pub struct Supervisor {
    members: Vec<Member>,
    launcher: Launcher,
}

struct Member {
    launch: Launch,
    life: Life,
    log: Log,
    asker: Asker,
    n_restarts: u32,
    /// Times at which it was started again within the last minute.
    restarts: VecDeque<Instant>,
    /// Failures since it last ran for a while.
    backoff: Backoff,
    last_end: Option<String>,
}

enum Life {
    Running { process: Process, since: Instant },
    Waiting { until: Instant },
    Done,
    Failed,
}

/// State of a component's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Process that runs, and has not answered yet.
    Starting,
    /// Process that runs, and answers with its status.
    Running,
    /// Process that failed, and will be started again.
    Waiting,
    /// Process that ended well.
    Done,
    /// Process that failed for good.
    Failed,
}

/// Status of a component.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentStatus {
    /// Name in the file.
    pub component: String,
    /// Kind of the component.
    pub run: String,
    /// State of its process.
    pub state: State,
    /// The process, while there is one.
    pub pid: Option<u32>,
    /// Number of times that it was started again.
    pub restarts: u32,
    /// Messages that came in, per second, since the look before; `None` before there are two.
    pub in_per_second: Option<f64>,
    /// Messages that went out, to all readers together.
    pub out_per_second: Option<f64>,
    /// Bytes that wait for the slowest reader.
    pub backlog_bytes: u64,
    /// Messages that readers did not get.
    pub dropped: u64,
    /// Text of the component about the time that messages take.
    pub latency: Option<String>,
    /// Latest error that was not mended since.
    pub error: Option<String>,
}

impl Supervisor {
    /// Starts all components, and writes the output of each to a file in `logs`.
    ///
    /// # Errors
    /// [`ComposeError::Start`] if the system refuses a process or a file; the components that were started are stopped
    /// then.
    pub fn start(mut plan: Plan, launcher: Launcher, logs: &Path) -> Result<Self, ComposeError> {
        plan.release();
        let mut supervisor = Self { members: Vec::with_capacity(plan.launches.len()), launcher };
        for launch in plan.launches {
            let failed = |source| ComposeError::Start { component: launch.name.clone(), source };
            let log = Log::create(&logs.join(format!("{}.log", launch.name))).map_err(failed)?;
            let process = Process::start(&supervisor.launcher, &launch, &log).map_err(failed)?;
            let asker = Asker::start(launch.ask.clone()).map_err(failed)?;
            supervisor.members.push(Member {
                life: Life::Running { process, since: clock::instant() },
                launch,
                log,
                asker,
                n_restarts: 0,
                restarts: VecDeque::new(),
                backoff: Backoff::new(PAUSE_MIN, PAUSE_MAX),
                last_end: None,
            });
        }
        Ok(supervisor)
    }

    /// Checks which components have ended, and starts those again that are due at `now`.
    pub fn poll(&mut self, now: Instant) {
        for member in &mut self.members {
            member.poll(&self.launcher, now);
        }
    }

    /// Returns the status of the components, in the order of the file.
    #[must_use]
    pub fn status(&self) -> Vec<ComponentStatus> {
        self.members.iter().map(Member::status).collect()
    }

    /// Whether no component runs or will run again.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.members.iter().all(|member| matches!(member.life, Life::Done | Life::Failed))
    }

    /// Returns the components that failed for good: the name of each, its end, and the last line that it printed.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, String)> {
        let failed = self.members.iter().filter(|member| matches!(member.life, Life::Failed));
        failed.map(|member| (member.launch.name.clone(), member.last_words())).collect()
    }

    /// Asks all to end, the last one first, and kills those that have not within `limit`, or as soon as `is_impatient`.
    pub fn stop(&mut self, limit: Duration, mut is_impatient: impl FnMut() -> bool) {
        let start = clock::instant();
        self.members.iter().rev().for_each(Member::ask_to_end);
        while start.elapsed() < limit && !is_impatient() && !self.has_ended() {
            clock::sleep(LOOK_EVERY);
        }
        self.members.iter_mut().rev().for_each(Member::kill);
    }

    fn has_ended(&mut self) -> bool {
        self.members.iter_mut().all(|member| match &mut member.life {
            Life::Running { process, .. } => process.has_ended(),
            _ => true,
        })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.members.iter_mut().rev().for_each(Member::kill);
    }
}

impl Member {
    fn poll(&mut self, launcher: &Launcher, now: Instant) {
        match &mut self.life {
            Life::Running { process, since } => {
                let ran_for = now.saturating_duration_since(*since);
                if let Some(end) = process.end() {
                    // Whatever it started goes with it.
                    process.kill();
                    self.ended(end.is_success, end.words, ran_for, now);
                }
            }
            Life::Waiting { until } if *until <= now => self.start_again(launcher, now),
            Life::Waiting { .. } | Life::Done | Life::Failed => {}
        }
    }

    fn ended(&mut self, is_success: bool, words: String, ran_for: Duration, now: Instant) {
        self.asker.forget();
        self.last_end = Some(words);
        let starts_again = match self.launch.restart {
            Restart::OnFailure => !is_success,
            Restart::Always => true,
            Restart::Never => false,
        };
        self.restarts.retain(|restart| now.saturating_duration_since(*restart) < RESTARTS_WITHIN);
        let is_allowed = self.restarts.len() < self.launch.restarts_max as usize;
        self.life = match (starts_again, is_success) {
            (true, _) if is_allowed => {
                if ran_for >= PAUSE_MAX {
                    self.backoff.succeeded();
                }
                Life::Waiting { until: now + self.backoff.next_wait() }
            }
            (false, true) => Life::Done,
            _ => Life::Failed,
        };
    }

    fn start_again(&mut self, launcher: &Launcher, now: Instant) {
        self.n_restarts = self.n_restarts.saturating_add(1);
        self.restarts.push_back(now);
        match Process::start(launcher, &self.launch, &self.log) {
            Ok(process) => self.life = Life::Running { process, since: now },
            Err(error) => self.ended(false, format!("cannot be started: {error}"), Duration::ZERO, now),
        }
    }

    fn ask_to_end(&self) {
        if let Life::Running { process, .. } = &self.life {
            process.ask_to_end();
        }
    }

    /// Ends it at once, with all that it started.
    fn kill(&mut self) {
        if let Life::Running { process, .. } = &mut self.life {
            process.kill();
        }
    }

    fn last_words(&self) -> String {
        let end = self.last_end.clone().unwrap_or_default();
        match self.log.last_line() {
            Some(line) => format!("{end}; it said: {line}"),
            None => end,
        }
    }

    fn status(&self) -> ComponentStatus {
        let figures = self.asker.figures();
        let (state, pid) = match &self.life {
            Life::Running { process, .. } if figures.is_some() => (State::Running, Some(process.id())),
            Life::Running { process, .. } => (State::Starting, Some(process.id())),
            Life::Waiting { .. } => (State::Waiting, None),
            Life::Done => (State::Done, None),
            Life::Failed => (State::Failed, None),
        };
        let Figures { in_per_second, out_per_second, backlog_bytes, dropped, latency, error } =
            figures.unwrap_or_default();
        let has_failed = matches!(self.life, Life::Waiting { .. } | Life::Failed);
        ComponentStatus {
            component: self.launch.name.clone(),
            run: self.launch.run.clone(),
            state,
            pid,
            restarts: self.n_restarts,
            in_per_second,
            out_per_second,
            backlog_bytes,
            dropped,
            latency,
            error: if has_failed { Some(self.last_words()) } else { error },
        }
    }
}
