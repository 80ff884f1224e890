//! `foretop mpi watch`: what happens in collective operations of a job, as it runs.

mod kind;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use clock::{Clock, Stopwatch, thread_cpu};
use event_space::{Hop, Live, LiveError, Scope, Setting, Sites, SitesError, Strategy, ask_job};
use mpi_analysis::KernelLog;
use mpi_job::{Folder, kernel_of};
use mpi_trace::Alignment;
use serde_json::json;
use stream::registry::{Query, find};
use stream::{Endpoint, Role, Security, StreamName};
use text::figure::percent;

use self::kind::{Kind, Watched};
use super::monitor::{Niceness, stream_name};
use crate::command::stream::wiring::Protection;
use crate::publisher::publish;
use command_line::argument::positive_span;
use command_line::failure::OrUsage;
use command_line::terminal::say;
use component::Publisher;
use text::help::examples;

/// Time that monitors on the network have to announce themselves.
pub const SEARCH_TIME: Duration = Duration::from_secs(2);

/// Time that monitors may have different tree files before that is an error.
const ALIKE_WITHIN: Duration = Duration::from_secs(30);

/// Watch the collective operations of a job
///
/// This host's part is read here. Other hosts of the job are read by their own `foretop mpi monitor`, which are found
/// as streams are: on this host, on the local network and through a NATS server, or named by --from.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop mpi watch node1-2f0",
    "foretop mpi watch node1-2f0 --every 200ms --tree 1",
    "foretop mpi watch node1-2f0 --monitor load-balance --helpers 4 --from source:tcp:node2:5020",
    "foretop mpi watch node1-2f0 --publish connect:tcp:5021",
]))]
pub struct Watch {
    /// The job: its name, or its folder
    #[arg(value_name = "JOB")]
    job: PathBuf,

    /// The tree of the tree file to watch, from 0; may be repeated
    #[arg(long, value_name = "N", default_values_t = [0])]
    tree: Vec<usize>,

    /// The figures to report
    #[arg(long, value_enum, default_value = "stages")]
    monitor: Kind,

    /// A scope to pull, with the number of tuples of each collector as its result
    #[arg(long, value_name = "FILE", conflicts_with = "monitor")]
    scope: Option<PathBuf>,

    /// Threads that gather from hosts at the same time; 0 for one host after the other
    #[arg(long, value_name = "N", default_value_t = 0)]
    helpers: usize,

    /// Let the first host of each cluster gather from the others
    #[arg(long)]
    by_cluster: bool,

    /// The moment at which monitors read: any, once their host has sent its part of a result, or once its ranks have
    /// been released
    #[arg(long, value_enum, value_name = "WHEN", default_value = "released")]
    gate: When,

    /// The end of a hop at which its time is computed, for statistics
    #[arg(long, value_enum, value_name = "END", default_value = "source")]
    hop: End,

    /// A monitor of another host, as source:tcp:HOST:PORT; may be repeated [default: those that can be found]
    #[arg(long, value_name = "ENDPOINT")]
    from: Vec<Endpoint>,

    /// The time between two reports
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive_span)]
    every: Duration,

    /// The time between two gathers
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = positive_span)]
    pace: Duration,

    /// Report once, and exit
    #[arg(long)]
    once: bool,

    /// Print a JSON object for each report
    #[arg(long)]
    json: bool,

    /// Send the mean of each stage in each interval as a stream; may be repeated
    #[arg(long, value_name = "ENDPOINT")]
    publish: Vec<Endpoint>,

    #[command(flatten)]
    niceness: Niceness,

    #[command(flatten)]
    protection: Protection,
}

/// The reason why no more is reported.
enum After {
    /// The job has ended, or once was enough.
    Ended,
    /// Another tree file is in force.
    Replaced,
}

/// Values of `--gate`, as `Strategy`.
#[derive(Clone, Copy, ValueEnum)]
enum When {
    Off,
    Sent,
    Released,
}

/// Values of `--hop`, as `Hop`.
#[derive(Clone, Copy, ValueEnum)]
enum End {
    Source,
    Destination,
}

impl Watch {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.niceness.apply()?;
        let setting = Setting { security: self.protection.security().or_usage()?, ..Setting::default() };
        let mut publisher = match &self.publish[..] {
            [] => None,
            _ if self.monitor != Kind::Stages || self.scope.is_some() => {
                return Err(anyhow::anyhow!("--publish sends means of stages: it goes with --monitor stages"))
                    .or_usage();
            }
            endpoints => {
                let stream = stream_name(&self.job);
                Some(publish("mpi-watch", &stream, self.every, endpoints, &setting.security)?)
            }
        };
        while let After::Replaced = self.follow(self.open_alike(&setting)?, publisher.as_mut(), &*setting.clock, out)? {
            say("the job has another tree file from here on: watching begins again");
        }
        Ok(())
    }

    /// Opens the trees once the tree file in force is the same everywhere: not all hosts replace it at the same moment.
    fn open_alike(&self, setting: &Setting) -> anyhow::Result<Vec<Watched>> {
        let waiting = Stopwatch::start();
        loop {
            match self.open(setting) {
                Err(error) if matches!(error.downcast_ref(), Some(SitesError::OtherTree { .. })) => {
                    if waiting.elapsed() >= ALIKE_WITHIN {
                        return Err(error).or_usage();
                    }
                    clock::sleep(self.every);
                }
                opened => return opened,
            }
        }
    }

    /// Opens all trees, on all hosts that can be found.
    fn open(&self, setting: &Setting) -> anyhow::Result<Vec<Watched>> {
        let live = match Live::open(&self.job, 0, Arc::clone(&setting.clock)) {
            Ok(live) => Ok(live),
            // It may run on other hosts only.
            Err(error @ LiveError::Job(_)) => Err(error),
            Err(error) => return Err(error).or_usage(),
        };
        let monitors = self.monitors(live.as_ref().ok(), &setting.security)?;
        if monitors.is_empty()
            && let Err(error) = live
        {
            let context = format!("neither this host nor a monitor of another has the job `{}`", self.job.display());
            return Err(anyhow::Error::new(error).context(context)).or_usage();
        }
        let mut all = Vec::new();
        for &tree in &self.tree {
            let sites = match Sites::new(live.as_ref().ok().cloned(), tree, monitors.clone(), setting.clone()) {
                Err(error @ SitesError::OtherTree { .. }) => return Err(error.into()),
                sites => sites.or_usage()?,
            };
            for host in sites.unwatched() {
                say(&format!(
                    "warning: nobody watches host {host}, so that its share is missing; start `foretop mpi monitor` there"
                ));
            }
            all.push(self.watched(sites.gated(self.gate.into()))?);
        }
        Ok(all)
    }

    /// Returns the monitors that were named, or can be found.
    fn monitors(
        &self,
        live: Option<&Live>,
        security: &Security,
    ) -> anyhow::Result<Vec<(Endpoint, event_space::About)>> {
        let endpoints = match (&self.from[..], live) {
            // All of it is here.
            ([], Some(live)) if live.here()?.len() == live.hosts().len() => Vec::new(),
            ([], _) => {
                let mut security = security.clone();
                (security.registry.lan, security.registry.across) = (true, self.protection.is_across());
                let name = stream_name(live.map_or(&self.job, |live| live.folder().path()));
                let found = find(
                    &Query::of_name(&StreamName { component: None, stream: name, host: None }),
                    SEARCH_TIME,
                    &security,
                )?;
                let servers = found.iter().flat_map(|found| &found.servers);
                servers.map(|server| format!("source:{server}").parse()).collect::<Result<_, _>>()?
            }
            (named, _) => named.to_vec(),
        };
        if let Some(other) = endpoints.iter().find(|endpoint| endpoint.role != Role::Source) {
            return Err(anyhow::anyhow!("a monitor is read from: `{other}` has to begin with source:")).or_usage();
        }
        let ask = |endpoint: Endpoint| match ask_job(&endpoint, security) {
            Ok(about) => Some((endpoint, about)),
            Err(error) => {
                say(&format!("warning: {:#}", anyhow::Error::new(error)));
                None
            }
        };
        Ok(endpoints.into_iter().filter_map(ask).collect())
    }

    fn watched(&self, sites: Sites) -> anyhow::Result<Watched> {
        match &self.scope {
            None => Ok(Watched::new(sites, self.monitor, self.helpers, self.by_cluster, self.hop.into())?),
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()));
                let scope = Scope::parse(&text.or_usage()?).with_context(|| format!("the scope `{}`", path.display()));
                Watched::scope(sites, &scope.or_usage()?).or_usage()
            }
        }
    }

    fn follow(
        &self,
        mut all: Vec<Watched>,
        mut publisher: Option<&mut Publisher>,
        clock: &dyn Clock,
        out: &mut dyn Write,
    ) -> anyhow::Result<After> {
        let (mut told, mut kernel) = (BTreeSet::new(), KernelLog::default());
        // It may run on other hosts only.
        let folder = Folder::open(&mpi_job::find(&self.job)).ok();
        // What workers count is there only after a while.
        let mut next = if self.once && !all[0].is_counted_elsewhere() { Duration::ZERO } else { self.every };
        let (begun, cpu) = (clock.monotonic(), thread_cpu());
        let mut elapsed = Duration::ZERO;
        loop {
            let is_due = elapsed >= next;
            // Figures take time to make, and only the newest are told; the first pull begins all.
            let is_pulled = |watched: &&mut Watched| is_due || elapsed.is_zero() || !watched.is_summed_up();
            all.iter_mut().filter(is_pulled).for_each(Watched::pull);
            if is_due {
                next += self.every;
                ask_kernel(folder.as_ref(), &mut kernel)?;
                // This thread pulls all trees alike.
                let own_cpu = (thread_cpu() - cpu) / self.tree.len() as u32;
                for watched in &mut all {
                    for trouble in watched.sites.troubles() {
                        let text = format!("warning: the share of {} is missing: {}", trouble.0, trouble.1);
                        if told.insert(trouble) {
                            say(&text);
                        }
                    }
                    self.tell(watched, &kernel, elapsed, own_cpu, out)?;
                }
                if let Some(publisher) = publisher.as_mut() {
                    let means = all.iter().flat_map(Watched::means);
                    publisher.send(means.map(|(id, seconds)| (id, "s", seconds)));
                }
                out.flush()?;
                // A monitor with another tree file gives nothing more of this one, as one whose job has ended.
                if !self.once && all.iter().any(|watched| watched.sites.is_replaced()) {
                    return Ok(After::Replaced);
                }
                if self.once || all.iter().all(Watched::is_over) {
                    return Ok(After::Ended);
                }
            }
            clock::sleep(self.pace.min(self.every));
            elapsed = clock.monotonic() - begun;
        }
    }

    fn tell(
        &self,
        watched: &mut Watched,
        kernel: &KernelLog,
        elapsed: Duration,
        own_cpu: Duration,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let (text, value) = watched.tell(kernel);
        let (tally, n_gathered) = (watched.tally, watched.n_gathered);
        let share = |part: u64, missing: u64| part as f64 / (part + missing).max(1) as f64;
        let gathered = share(n_gathered, tally.n_missed);
        let cpu = tally.cpu + own_cpu;
        if self.json {
            let mut line = json!({
                "monitor": watched.name(),
                "tree": watched.sites.tree().name,
                "elapsed_seconds": elapsed.as_secs_f64(),
                "records_read": tally.n_read,
                "records_lost": tally.n_lost,
                "results_gathered": n_gathered,
                "results_missed": tally.n_missed,
                "gathered_ratio": gathered,
                "cpu_seconds": cpu.as_secs_f64(),
                "missing": watched.sites.troubles().into_iter().map(|(endpoint, _)| endpoint).collect::<Vec<_>>(),
            });
            line.as_object_mut().expect("it is one").insert("result".to_owned(), value);
            return Ok(writeln!(out, "{line}")?);
        }
        write!(out, "{text}")?;
        // What is told at once has cost something, but no time has passed.
        let of_one = match elapsed.as_secs_f64() {
            0.0 => String::new(),
            seconds => format!(", {} of one processor", percent(cpu.as_secs_f64() / seconds)),
        };
        writeln!(
            out,
            "{} records read, {} lost, {} read; {n_gathered} results gathered, {} missed, {} gathered; {:.1} ms of processor time{of_one}\n",
            tally.n_read,
            tally.n_lost,
            percent(share(tally.n_read, tally.n_lost)),
            tally.n_missed,
            percent(gathered),
            cpu.as_secs_f64() * 1e3,
        )?;
        Ok(())
    }
}

impl From<When> for Strategy {
    fn from(when: When) -> Self {
        match when {
            When::Off => Self::Off,
            When::Sent => Self::Sent,
            When::Released => Self::Released,
        }
    }
}

impl From<End> for Hop {
    fn from(end: End) -> Self {
        match end {
            End::Source => Self::Source,
            End::Destination => Self::Destination,
        }
    }
}

/// Takes a sample of each rank of this host.
fn ask_kernel(folder: Option<&Folder>, log: &mut KernelLog) -> anyhow::Result<()> {
    let heads = folder.map(Folder::heads).transpose()?;
    for head in heads.into_iter().flatten() {
        if let Some(sample) = kernel_of(head.pid) {
            log.take(head.rank, &Alignment::default(), sample);
        }
    }
    Ok(())
}
