//! Runs a node with all its neighbours under a seeded schedule of faults, tells what it does, and checks at the end
//! what must hold.
//!
//! The node is the real program in a process of its own. Its neighbours are an exporter and a remote-write server in
//! this process, and a second node whose stream it follows. Disks and clocks fail by a library that is preloaded
//! (`shim.c`), so neither root nor the machine's clock is needed.
#![forbid(unsafe_code)]

mod check;
mod hostile;
mod node;
mod plan;
mod pushed;
mod server;
mod shim;
mod watcher;

use std::cell::Cell;
use std::io::{Write, stdout};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use text::{Align, Table};
use units::{Timestamp, span};

use check::{Evidence, Verdict, WELL_WITHIN, Window, verdicts};
use hostile::{Crowd, Spenders};
use node::{Node, free_port};
use plan::{Fault, Plan, Step};
use pushed::Samples;
use server::{METRIC, Server, Told};
use shim::Shim;
use watcher::Watcher;

/// Step by which the clock is set ahead or back.
const CLOCK_STEP: Duration = Duration::from_millis(2500);

/// Time limit for a node to report a fault. A fault that must be reported stays on until it is, at most this long.
const TOLD_WITHIN: Duration = Duration::from_secs(20);

/// Run time of a node before its resources are measured.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// The time between two pushes.
const PUSH_EVERY: Duration = Duration::from_millis(300);

/// The pause of loops that wait for something.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs a node under faults, and checks that it lost nothing
#[derive(Parser)]
struct Options {
    /// The program under test
    #[arg(long, value_name = "PATH")]
    foretop: PathBuf,

    /// The duration in seconds; at least one round of all faults
    #[arg(long, env = "SECONDS", default_value_t = 600)]
    seconds: u64,

    /// The seed for the order and the lengths of faults, and for what is pushed
    #[arg(long, env = "SEED", default_value_t = 7)]
    seed: u64,

    /// The time limit for the forecast of load.1m beside clients with dear models, at the 99th percentile; not checked
    /// unless given
    #[arg(long, value_name = "SPAN", value_parser = |text: &str| span::parse(text))]
    answers_within: Option<Duration>,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    // Hostile clients need more descriptors than the usual limit.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let scratch = tempfile::tempdir()?;
    let seen = World::start(&options, scratch.path())?.run(&options)?;
    let verdicts = verdicts(&seen);
    report(&seen, &verdicts)?;
    if verdicts.iter().all(|verdict| verdict.is_met) {
        return Ok(ExitCode::SUCCESS);
    }
    let kept = scratch.keep();
    writeln!(stdout(), "what the node left is in {}", kept.display())?;
    Ok(ExitCode::FAILURE)
}

/// The node and its neighbours.
struct World {
    node: Arc<Mutex<Node>>,
    shim: Shim,
    exporter: Server,
    receiver: Server,
    peer: Node,
    http: SocketAddr,
    stream: SocketAddr,
    watcher: Watcher,
    began: Timestamp,
    /// Offset by which the node's clock is ahead of the machine's.
    ahead: Cell<Duration>,
}

impl World {
    fn start(options: &Options, scratch: &Path) -> anyhow::Result<Self> {
        let (exporter, receiver, shim) = (Server::exporter()?, Server::receiver()?, Shim::build(scratch)?);
        let (stream, peer_stream) = (free_port()?, free_port()?);
        let args = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let peer_args = args(format!("--in-memory --only load.* --stream connect:tcp:127.0.0.1:{peer_stream}"));
        let mut peer = Node::new(&options.foretop, &scratch.join("peer"), &peer_args)?;
        peer.start(None)?;
        let config = scratch.join("foretop.toml");
        std::fs::write(
            &config,
            format!(
                "[[scrape]]\nurl = 'http://{}/metrics'\nevery = '200ms'\ntimeout = '1s'\n\
                 [[follow]]\nendpoint = 'source:tcp:127.0.0.1:{peer_stream}'\nname = 'peer'\nevery = '200ms'\n\
                 [[stream]]\nendpoints = ['connect:tcp:127.0.0.1:{stream}']\n\
                 [[remote_write]]\nurl = 'http://{}/api/v1/write'\nbatch_every = '300ms'\nhorizons = []\n",
                exporter.address, receiver.address
            ),
        )?;
        let folder = scratch.join("node");
        let data = folder.join("data");
        let node_args = args(format!("--only load.* --config {} --data-dir {}", config.display(), data.display()));
        let mut node = Node::new(&options.foretop, &folder, &node_args)?;
        node.start(Some(&shim))?;
        pushed::create(&node)?;
        let http = node.url.trim_start_matches("http://").parse()?;
        let watcher = Watcher::start(&node.url, format!("source:tcp:127.0.0.1:{stream}").parse()?);
        let stream = SocketAddr::from(([127, 0, 0, 1], stream));
        let node = Arc::new(Mutex::new(node));
        Ok(Self {
            node,
            shim,
            exporter,
            receiver,
            peer,
            http,
            stream,
            watcher,
            began: clock::now(),
            ahead: Cell::default(),
        })
    }

    fn node(&self) -> std::sync::MutexGuard<'_, Node> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes through the plan, and gives what was seen.
    fn run(self, options: &Options) -> anyhow::Result<Evidence> {
        self.until_well(clock::now())?.context("the node is not well after its start")?;
        let (mut plan, start) = (Plan::new(options.seed), clock::instant());
        let (mut windows, mut held, mut samples) = (Vec::new(), Vec::new(), Samples::new(options.seed));
        let (mut pushed_at, mut pushes, mut set_ahead) = (start, (0, 0), Vec::new());
        loop {
            let round = clock::instant();
            let mut first = None;
            for _ in Fault::ALL {
                let step = plan.next();
                let is_hostile = step.fault == Fault::Hostile;
                let window = self.go_through(step, &mut || {
                    if pushed_at.elapsed() >= PUSH_EVERY {
                        pushed_at = clock::instant();
                        // A sample that cannot be pushed at this moment is pushed the next time.
                        let result = pushed::push_next(&self.node(), &mut samples);
                        if is_hostile {
                            pushes.0 += 1;
                            pushes.1 += usize::from(result.is_err());
                        }
                    }
                })?;
                self.tell(start.elapsed(), &window)?;
                if window.fault == Fault::Kill {
                    // What a crowd takes once, the allocator keeps for the next one; only what comes on top of that is
                    // growth.
                    drop(Crowd::come(self.http, self.stream));
                    clock::sleep(SETTLED_AFTER);
                    first = Some(self.node().held()?);
                }
                if window.fault == Fault::ClockAhead {
                    set_ahead.push((window.from, self.ahead.get()));
                }
                windows.push(window);
            }
            clock::sleep(SETTLED_AFTER);
            held.extend(first.map(|first| Ok::<_, anyhow::Error>((first, self.node().held()?))).transpose()?);
            if start.elapsed() + round.elapsed() > Duration::from_secs(options.seconds) {
                break;
            }
        }
        let n_pushed = pushed::push_next(&self.node(), &mut samples)?;
        let scores = (pushed::scores(&self.node())?, quiet_scores(options, n_pushed)?);
        let stored = self.stored()?;
        self.watcher.end();
        let status = self.node().end()?;
        let (told, written, frames) = (self.exporter.seen(), self.receiver.seen(), self.watcher.frames());
        let answers_within = options.answers_within;
        let clock = set_ahead;
        Ok(Evidence { windows, clock, told, stored, written, pushes, frames, scores, held, answers_within, status })
    }

    /// Makes one fault, undoes it, and waits until the node calls itself well. Calls `meanwhile` all the time.
    fn go_through(&self, step: Step, meanwhile: &mut dyn FnMut()) -> anyhow::Result<Window> {
        pass(step.rest, meanwhile);
        let from = clock::now();
        let undo = self.begin(step.fault)?;
        let on = clock::instant();
        let (mut was_degraded, mut answers) = (false, Vec::new());
        // The node cannot be asked while it stands still.
        let mut meanwhile: Box<dyn FnMut()> =
            if step.fault == Fault::Stop { Box::new(|| ()) } else { Box::new(meanwhile) };
        while on.elapsed() < step.lasts || (step.fault.is_told() && !was_degraded && on.elapsed() < TOLD_WITHIN) {
            pass(LOOK_EVERY, &mut *meanwhile);
            let problems = self.watcher.after(from).and_then(|look| look.problems);
            was_degraded |= problems.is_some_and(|problems| !problems.is_empty());
            if step.fault == Fault::Dear {
                let asked = clock::instant();
                let answer = self.node().get("/api/v1/series/load.1m/forecast?horizon=30s");
                answers.push(answer.map_or(Duration::MAX, |_| asked.elapsed()));
            }
        }
        undo(self)?;
        let lifted = clock::now();
        let well = self.until_well(lifted)?;
        Ok(Window { fault: step.fault, from, lifted, well, was_degraded, answers })
    }

    /// Makes a fault, and gives what undoes it.
    fn begin(&self, fault: Fault) -> anyhow::Result<Undo> {
        Ok(match fault {
            Fault::Kill => {
                let mut node = self.node();
                node.kill()?;
                node.start(Some(&self.shim))?;
                Box::new(|_| Ok(()))
            }
            Fault::Stop => {
                self.node().signal(Signal::STOP)?;
                Box::new(|world| world.node().signal(Signal::CONT))
            }
            Fault::FullDisk => self.fail_writes(Errno::NOSPC)?,
            Fault::BrokenDisk => self.fail_writes(Errno::IO)?,
            Fault::NoDescriptors => {
                let limit = self.node().take_descriptors()?;
                Box::new(move |world| world.node().give_descriptors(limit))
            }
            Fault::ClockAhead => {
                self.ahead.set(self.ahead.get() + CLOCK_STEP);
                self.set_clock(Duration::ZERO)?;
                Box::new(|_| Ok(()))
            }
            Fault::ClockBehind => {
                self.set_clock(CLOCK_STEP)?;
                Box::new(|world| world.set_clock(Duration::ZERO))
            }
            Fault::Hostile => {
                let crowd = Crowd::come(self.http, self.stream);
                Box::new(move |_| {
                    drop(crowd);
                    Ok(())
                })
            }
            Fault::Dear => {
                let spenders = Spenders::come(&self.node().url);
                Box::new(move |_| {
                    drop(spenders);
                    Ok(())
                })
            }
            Fault::NoExporter => gone(|world| &world.exporter)(self),
            Fault::NoReceiver => gone(|world| &world.receiver)(self),
            Fault::NoPeer => {
                self.peer.signal(Signal::STOP)?;
                Box::new(|world| world.peer.signal(Signal::CONT))
            }
        })
    }

    fn fail_writes(&self, error: Errno) -> anyhow::Result<Undo> {
        self.shim.fail_writes(error.raw_os_error())?;
        Ok(Box::new(|world| world.shim.fail_writes(0)))
    }

    /// Sets the node's clock to this much less than it is ahead.
    fn set_clock(&self, back: Duration) -> anyhow::Result<()> {
        let ns = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        self.shim.set_clock(ns(self.ahead.get()) - ns(back))
    }

    /// When the node said that it is well, asked after `since`; `None` when it did not within the time that it has.
    fn until_well(&self, since: Timestamp) -> anyhow::Result<Option<Timestamp>> {
        let start = clock::instant();
        while start.elapsed() < WELL_WITHIN {
            if self.node().has_ended() {
                bail!("the node has ended by itself");
            }
            if let Some(look) = self.watcher.after(since)
                && look.problems.is_some_and(|problems| problems.is_empty())
            {
                return Ok(Some(look.at));
            }
            clock::sleep(LOOK_EVERY);
        }
        let last = self.watcher.after(since).and_then(|look| look.problems);
        writeln!(stdout(), "         not well: {last:?}")?;
        Ok(None)
    }

    fn tell(&self, elapsed: Duration, window: &Window) -> anyhow::Result<()> {
        let Window { fault, from, lifted, well, was_degraded, .. } = window;
        let lasted = span::format(rounded(lifted.saturating_since(*from)));
        let well = well.map_or("not well".to_owned(), |well| {
            format!("well after {}", span::format(rounded(well.saturating_since(*lifted))))
        });
        let told = if *was_degraded { ", told" } else { "" };
        Ok(writeln!(stdout(), "{:7.1}s {} for {lasted}{told}, {well}", elapsed.as_secs_f64(), fault.name())?)
    }

    /// All samples of the exporter's metric that the node has.
    fn stored(&self) -> anyhow::Result<Vec<Told>> {
        let until = clock::now() + self.ahead.get() + Duration::from_secs(10);
        let path = format!("/api/v1/series/{METRIC}/samples?from={}&to={until}", self.began - Duration::from_secs(10));
        let answer = self.node().get(&path)?;
        let times = answer["start"].as_str().context("no start")?.parse::<Timestamp>()?;
        let step = Duration::from_secs_f64(answer["step_seconds"].as_f64().context("no step")?);
        let values = answer["values"].as_array().context("no values")?.iter().enumerate();
        let told = values.filter_map(|(n, value)| Some(Told { at: times + step * n as u32, value: value.as_f64()? }));
        Ok(told.collect())
    }
}

/// Closure that ends a fault.
type Undo = Box<dyn FnOnce(&World) -> anyhow::Result<()>>;

/// Lets a server be gone until it is undone.
fn gone(server: fn(&World) -> &Server) -> impl Fn(&World) -> Undo {
    move |world| {
        server(world).set_gone(true);
        Box::new(move |world| {
            server(world).set_gone(false);
            Ok(())
        })
    }
}

/// Lets `span` pass at least.
fn pass(span: Duration, meanwhile: &mut dyn FnMut()) {
    let start = clock::instant();
    while start.elapsed() < span {
        meanwhile();
        clock::sleep(LOOK_EVERY);
    }
}

fn rounded(span: Duration) -> Duration {
    Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX) / 100 * 100)
}

/// Scores and forecast of a node that has the same samples, and has nothing to suffer.
fn quiet_scores(options: &Options, n_samples: usize) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let args = ["--in-memory".to_owned(), "--only=load.1m".to_owned()];
    let mut node = Node::new(&options.foretop, folder.path(), &args)?;
    node.start(None)?;
    pushed::create(&node)?;
    let mut samples = Samples::new(options.seed);
    while pushed::push_next(&node, &mut samples)? < n_samples {}
    pushed::scores(&node)
}

fn report(seen: &Evidence, verdicts: &[Verdict]) -> anyhow::Result<()> {
    let columns = [("", Align::Left), ("what", Align::Left), ("figure", Align::Right), ("bound", Align::Left)];
    let mut table = Table::new(&columns);
    for Verdict { what, figure, bound, is_met } in verdicts {
        let verdict = if *is_met { "ok" } else { "FAILED" };
        table.row([verdict, what, figure, bound].map(str::to_owned));
    }
    let (n_faults, n_told, n_stored) = (seen.windows.len(), seen.told.len(), seen.stored.len());
    write!(stdout(), "\n{n_faults} faults; the exporter said {n_told} values, {n_stored} are stored\n\n{table}")?;
    Ok(())
}
