//! `foretop kernel record` and `trace`: a measurement of this host into a file, or onto the terminal.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kernel::control::{Change, PointState, SubsystemChange, share_of_core};
use kernel::{Engine, Sink, Subsystem, Timing, Traced};
use program::{Failure, Interruption, written};
use record::Format;
use text::figure::span_ns;
use text::help::examples;
use units::span;

use super::failed;
use crate::argument::{self, Measured};
use crate::capture::{Capture, Fate, Origin};
use crate::delivery::Delivery;

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// Foretop's own format, binary, with checksums
    Own,
    /// SDDF in ASCII
    Sddf,
}

impl From<FileFormat> for Format {
    fn from(format: FileFormat) -> Self {
        match format {
            FileFormat::Own => Self::Own,
            FileFormat::Sddf => Self::Sddf,
        }
    }
}

/// Traced events a second that a receiver takes in at ease.
pub const RATE_CAP: u64 = 1_000_000;

/// Options that records and traces have in common.
#[derive(Args)]
struct Recorded {
    #[command(flatten)]
    measured: Measured,

    /// Stop after this time [default: when interrupted]
    #[arg(long = "for", value_name = "SPAN", value_parser = span::parse)]
    how_long: Option<Duration>,

    /// The overhead budget of all probes: a share of a core
    #[arg(long, value_name = "SHARE", value_parser = share_of_core)]
    budget: Option<f64>,

    /// The buffer for traced events, in bytes; rounded up to a power of two
    #[arg(long, value_name = "BYTES", default_value_t = kernel::RING_BYTES)]
    buffer: u32,
}

impl Recorded {
    /// These turned on, with these points traced.
    fn engine(
        &self,
        interval: Duration,
        wanted: &[&'static Subsystem],
        traced: &[(&'static Subsystem, &str)],
        notes: &mut Vec<String>,
    ) -> Result<Engine, Failure> {
        let node = self.measured.node()?;
        let opener =
            argument::opener_with_ring(self.measured.source, std::slice::from_ref(&node), wanted, self.buffer, notes)?;
        let mut engine = Engine::new(opener, [(0, node)].into(), interval.as_millis() as u64, self.budget);
        if let Some(user) = wanted.iter().find(|subsystem| !kernel::all().contains(subsystem)) {
            engine = engine.with_points(user);
        }
        let groups = self.measured.groups.clone();
        engine.change(&Change { groups, ..turned_on(wanted, traced) }).map_err(failed)?;
        Ok(engine)
    }
}

/// These subsystems on and all others off, and of all points these alone traced.
pub fn turned_on(wanted: &[&'static Subsystem], traced: &[(&'static Subsystem, &str)]) -> Change {
    let mut subsystems: BTreeMap<String, SubsystemChange> = BTreeMap::new();
    let others = wanted.iter().filter(|subsystem| !kernel::all().contains(subsystem));
    for subsystem in kernel::all().iter().chain(others) {
        let is_on = wanted.contains(subsystem);
        let counted = subsystem.points.iter().map(|point| (point.name.to_owned(), PointState::Summary));
        let traced = traced.iter().filter(|(of, _)| of == subsystem);
        let traced = traced.map(|(_, point)| ((*point).to_owned(), PointState::Trace));
        let points = counted.chain(traced).collect();
        subsystems.insert(subsystem.name.into(), SubsystemChange { is_on: Some(is_on), points });
    }
    Change { is_on: Some(true), subsystems, ..Change::default() }
}

/// Pulls and drains until time is up or somebody interrupts.
fn run(engine: &mut Engine, how_long: Option<Duration>, sink: &mut dyn Sink) -> Result<(), Failure> {
    let is_over = Interruption::watch()?;
    let watch = clock::Stopwatch::start();
    let mut due = Duration::from_millis(engine.interval_ms());
    while !is_over.has_come() && how_long.is_none_or(|span| watch.elapsed() < span) {
        if watch.elapsed() >= due {
            let pulled = engine.pull().map_err(failed)?;
            sink.pulled(engine, &pulled).map_err(failed)?;
            due = watch.elapsed() + Duration::from_millis(engine.interval_ms());
        }
        let nap = if engine.is_tracing() { TRACING_NAP } else { NAP };
        sink.traced(engine).map_err(failed)?;
        let left = how_long.map_or(nap, |span| span.saturating_sub(watch.elapsed()));
        let nap = nap.min(engine.keep_account());
        clock::sleep(nap.min(left).min(due.saturating_sub(watch.elapsed())));
    }
    Ok(())
}

const NAP: Duration = Duration::from_millis(100);
/// Time in which a ring of the default size does not fill at five million events a second.
const TRACING_NAP: Duration = Duration::from_millis(10);

fn told(fate: Fate) -> String {
    let Fate { made, received, dropped } = fate;
    format!("{made} traced events made, {received} received, {dropped} dropped\n")
}

/// Write summaries, and on request traces, to a file HOST_DATE.kernel with a text .info beside it
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel record --for 10min --interval 5s --out measured",
    "foretop kernel record fs --trace fs.Read --node tree:4711 --format sddf",
]))]
pub struct Record {
    #[command(flatten)]
    recorded: Recorded,

    /// Time between two summaries
    #[arg(long, default_value = "10s", value_parser = span::parse)]
    interval: Duration,

    /// A point to trace as well, such as `fs.Read`, or `user.LABEL` of --points; may be repeated
    #[arg(long, value_name = "SUBSYSTEM.POINT", value_parser = point)]
    trace: Vec<(String, String)>,

    /// The rate of traced events, per second, above which points only count and the file has an alarm
    #[arg(long, value_name = "N", default_value_t = RATE_CAP)]
    rate_cap: u64,

    /// The folder of the file
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,

    /// The file's format
    #[arg(long, value_enum, default_value_t = FileFormat::Own)]
    format: FileFormat,

    /// A title for readers of the file
    #[arg(long)]
    title: Option<String>,

    #[command(flatten)]
    delivery: Delivery,
}

fn point(text: &str) -> Result<(String, String), String> {
    let (subsystem, point) =
        text.split_once('.').ok_or_else(|| format!("`{text}` is no point; write one such as `fs.Read`"))?;
    Ok((subsystem.into(), point.into()))
}

impl Record {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let destination = self.delivery.destination()?;
        let mut notes = Vec::new();
        let wanted = self.recorded.measured.subsystems()?;
        let find = |name: &str| {
            let own = wanted.iter().find(|subsystem| subsystem.name == name);
            own.map_or_else(|| kernel::find(name).map_err(Failure::usage_of), |own| Ok(*own))
        };
        let traced = self.trace.iter().map(|(subsystem, point)| Ok((find(subsystem)?, point.as_str())));
        let traced = traced.collect::<Result<Vec<_>, Failure>>()?;
        let engine = self.recorded.engine(self.interval, &wanted, &traced, &mut notes)?;
        let mut engine = engine.with_rate_cap(self.rate_cap);
        for note in notes {
            written(writeln!(out, "note: {note}"))?;
        }
        let nodes = vec![format!("0={}", self.recorded.measured.node()?)];
        let origin = Origin { nodes, title: self.title };
        let mut capture = Capture::begin(&self.out, self.format.into(), &engine, &origin)?;
        run(&mut engine, self.recorded.how_long, &mut capture)?;
        let (path, fate) = capture.end(&mut engine)?;
        written(writeln!(out, "{}", path.display()))?;
        if fate.made > 0 {
            written(out.write_all(told(fate).as_bytes()))?;
        }
        match destination.take(&path)? {
            Some(place) => written(writeln!(out, "copied to {place}")),
            None => Ok(()),
        }
    }
}

/// Print each event of subsystems as it happens
#[derive(Args)]
#[command(after_help = examples(&["foretop kernel trace fs --for 10s", "foretop kernel trace task --lines 0"]))]
pub struct Trace {
    #[command(flatten)]
    recorded: Recorded,

    /// The number of events to print; the others are only counted
    #[arg(long, value_name = "N", default_value_t = 1000)]
    lines: u64,
}

impl Trace {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut notes = Vec::new();
        let subsystems = self.recorded.measured.subsystems()?;
        let points = |subsystem: &'static Subsystem| {
            let traced = subsystem.points.iter().filter(|point| point.timing != Timing::Spent);
            traced.map(move |point| (subsystem, point.name))
        };
        let traced: Vec<_> = subsystems.iter().copied().flat_map(points).collect();
        let mut engine = self.recorded.engine(Duration::from_secs(3600), &subsystems, &traced, &mut notes)?;
        for note in notes {
            written(writeln!(out, "note: {note}"))?;
        }
        let mut printed =
            Printed { out, lines: self.lines, received: 0, began_ns: clock::monotonic_ns(), broken: None };
        run(&mut engine, self.recorded.how_long, &mut printed)?;
        engine.retreat().map_err(failed)?;
        printed.traced(&mut engine).map_err(failed)?;
        let pulled = engine.pull().map_err(failed)?;
        let sum = |figure: fn(&kernel::Summary) -> u64| pulled.iter().map(|one| figure(&one.summary)).sum();
        let made = sum(|summary| summary.records_made);
        let fate = Fate { made, received: printed.received, dropped: sum(|summary| summary.life_dropped) };
        if let Some(error) = printed.broken {
            written(Err(error))?;
        }
        written(out.write_all(told(fate).as_bytes()))
    }
}

struct Printed<'a> {
    out: &'a mut dyn Write,
    lines: u64,
    received: u64,
    began_ns: u64,
    broken: Option<std::io::Error>,
}

impl Printed<'_> {
    fn line(&mut self, traced: &Traced) -> std::io::Result<()> {
        let subsystem = traced.subsystem;
        let Some(point) = subsystem.points.get(traced.point) else { return Ok(()) };
        let at = traced.end_ns.saturating_sub(self.began_ns) as f64 / 1e9;
        let took = span_ns(traced.end_ns.saturating_sub(traced.begin_ns) as f64);
        write!(
            self.out,
            "{at:12.6} s  {:<28} {took:>9}  process {}",
            format!("{}.{}", subsystem.name, point.name),
            traced.process
        )?;
        if point.is_sized {
            write!(self.out, "  {} asked, {} returned", traced.asked, traced.returned)?;
        }
        for ((name, _), field) in subsystem.fields(traced.point).iter().zip(traced.fields) {
            write!(self.out, "  {name} {field}")?;
        }
        writeln!(self.out)
    }
}

impl Sink for Printed<'_> {
    fn pulled(&mut self, _: &mut Engine, _: &[kernel::Pulled]) -> Result<(), kernel::Error> {
        Ok(())
    }

    fn traced(&mut self, engine: &mut Engine) -> Result<(), kernel::Error> {
        let mut all = Vec::new();
        engine.drain(|_, traced| all.push(traced))?;
        for traced in all {
            self.received += 1;
            if self.received <= self.lines && self.broken.is_none() {
                self.broken = self.line(&traced).err();
            }
        }
        if self.broken.is_none() {
            self.broken = self.out.flush().err();
        }
        Ok(())
    }
}
