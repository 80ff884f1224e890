//! `foretop kernel receive`: a file of what an agent measures, written on another host.

use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use clock::Stopwatch;
use kernel::control::{Answer, Request};
use kernel::{ALIVE, Clocks, RECEIVER, Relation};
use program::{Failure, Interruption, written};
use record::info::Info;
use record::{Format, Item, Items, Output};
use record_file::RecordFile;
use record_view::Structure;
use text::figure::{counted, span_ns};
use text::help::examples;
use units::span;

use super::record::FileFormat;
use crate::argument::{AgentAt, Line};
use crate::capture::describe;
use crate::delivery::Delivery;

/// Write the measurements of an agent to a file here, with a comparison of the two hosts' clocks
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop kernel receive --through https://db1:7311 --token-file TOKEN --for 10min --out measured",
    "foretop kernel receive --through http://db1:7311 --for 1h --to https://archive/measured",
]))]
pub struct Receive {
    #[command(flatten)]
    agent: AgentAt,

    /// Stop after this time [default: when interrupted]
    #[arg(long = "for", value_name = "SPAN", value_parser = span::parse)]
    how_long: Option<Duration>,

    /// The folder of the file
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,

    /// The file's format
    #[arg(long, value_enum, default_value_t = FileFormat::Own)]
    format: FileFormat,

    #[command(flatten)]
    delivery: Delivery,
}

/// Clocks are compared so often, each time by so many trips.
const COMPARE_EVERY: Duration = Duration::from_secs(10);
const N_TRIPS: usize = 16;

/// The longest time until an interruption is noticed.
const NAP: Duration = Duration::from_millis(50);

impl Receive {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let destination = self.delivery.destination()?;
        let is_interrupted = Interruption::watch()?;
        let line = self.agent.line()?;
        let mut clocks = Clocks::default();
        compare(&line, &mut clocks)?;
        let mut items = record::read(BufReader::new(line.receive()?)).map_err(Failure::of)?;
        let Begun { receiver, head, first } = Begun::read(&mut items)?;
        let RecordFile { path, file, head } = RecordFile::begin_from(&self.out, "kernel", head)?;
        let mut own = Own::begin(self.format.into(), BufWriter::new(file), head).map_err(Failure::of)?;
        let is_over = AtomicBool::new(false);
        let received = std::thread::scope(|scope| {
            scope.spawn(|| {
                let watch = Stopwatch::start();
                let mut compared = Duration::ZERO;
                while !is_over.load(Ordering::Relaxed) {
                    let is_time = self.how_long.is_some_and(|span| watch.elapsed() >= span);
                    let is_last = is_time || is_interrupted.has_come();
                    if is_last || watch.elapsed() > compared + COMPARE_EVERY {
                        // An agent that is gone ends the stream as well, and that is told.
                        let _ = compare(&line, &mut clocks);
                        compared = watch.elapsed();
                    }
                    if is_last {
                        let _ = line.ask(&Request::EndReceive { receiver });
                        break;
                    }
                    clock::sleep(NAP);
                }
            });
            let received = first.map(Ok).into_iter().chain(items).try_for_each(|item| own.take(&item?));
            is_over.store(true, Ordering::Relaxed);
            received
        });
        let relation = clocks.relation();
        let structure = own.end(relation, &received).map_err(Failure::of)?;
        let n_records = structure.types.iter().map(|(_, n)| n).sum();
        describe(&path, Info { head: structure.attributes, types: structure.types })?;
        written(writeln!(out, "{}\n{}", path.display(), counted(n_records, "record")))?;
        if let Some(Relation { offset_ns, bound_ns, drift_ppb, drift_bound_ppb, .. }) = relation {
            let [offset, bound] = [offset_ns, bound_ns].map(span_ns);
            let drift = format!("{drift_ppb:.0} ± {drift_bound_ppb:.0} parts in 10^9");
            written(writeln!(out, "this clock minus the agent's: {offset} ± {bound}, drift {drift}"))?;
        }
        if let Some(place) = destination.take(&path)? {
            written(writeln!(out, "copied to {place}"))?;
        }
        received.map_err(|error| {
            let why = Failure::of(error).message;
            Failure::work(format!("`{}` holds what came until this: {why}", path.display()))
        })
    }
}

/// Takes some trips to the agent's clock, of which the shortest counts.
fn compare(line: &Line, clocks: &mut Clocks) -> Result<(), Failure> {
    let trip = || {
        let before_ns = clock::monotonic_ns();
        match line.ask(&Request::Clock)? {
            Answer::Clock { now_ns } => Ok((before_ns, now_ns, clock::monotonic_ns())),
            _ => Err(Failure::work("the agent answered something else than the time")),
        }
    };
    let trips = (0..N_TRIPS).map(|_| trip()).collect::<Result<Vec<_>, Failure>>()?;
    if let Some((before_ns, there_ns, after_ns)) = trips.into_iter().min_by_key(|(before, _, after)| after - before) {
        clocks.take(before_ns, there_ns, after_ns);
    }
    Ok(())
}

/// The beginning of a file.
struct Begun {
    receiver: String,
    head: Vec<(String, String)>,
    /// The first that is not said of the whole.
    first: Option<Item>,
}

impl Begun {
    fn read(items: &mut Items<'_>) -> Result<Self, Failure> {
        let mut begun = Self { receiver: String::new(), head: Vec::new(), first: None };
        for item in items {
            match item.map_err(Failure::of)? {
                Item::Attribute(name, text) if name == RECEIVER => begun.receiver = text,
                Item::Attribute(name, text) => begun.head.push((name, text)),
                first => {
                    begun.first = Some(first);
                    break;
                }
            }
        }
        Ok(begun)
    }
}

/// The file here, and what is in it.
struct Own<W: Write> {
    out: Output<W>,
    structure: Structure,
}

impl<W: Write> Own<W> {
    fn begin(format: Format, out: W, head: Vec<(String, String)>) -> Result<Self, record::Error> {
        let mut begun = Self { out: Output::new(format, out)?, structure: Structure::default() };
        for (name, text) in head {
            begun.take(&Item::Attribute(name, text))?;
        }
        Ok(begun)
    }

    fn take(&mut self, item: &Item) -> Result<(), record::Error> {
        if matches!(item, Item::Attribute(name, _) if name == ALIVE) {
            return Ok(());
        }
        self.out.item(item)?;
        self.structure.take(item);
        Ok(())
    }

    /// Says how the clocks compare, and why there is no more where something is missing.
    fn end(
        mut self,
        relation: Option<Relation>,
        received: &Result<(), record::Error>,
    ) -> Result<Structure, record::Error> {
        let own = record_file::origin(String::new());
        let own = |wanted: &str| own.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.clone());
        let clocks = relation.into_iter().flat_map(|relation| {
            let whole = |number: f64| format!("{number:.0}");
            [
                ("ReceiverOffset_ns", whole(relation.offset_ns)),
                ("ReceiverOffsetBound_ns", whole(relation.bound_ns.ceil())),
                ("ReceiverOffsetAt_ns", relation.at_ns.to_string()),
                ("ReceiverDrift_ppb", whole(relation.drift_ppb)),
                ("ReceiverDriftBound_ppb", whole(relation.drift_bound_ppb.ceil())),
            ]
        });
        let of = [("ReceiverHost", own("HostName")), ("ReceiverBootId", own("BootId"))];
        let of = of.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let cut = received.as_ref().err().map(|error| ("Cut", text::with_causes(error)));
        for (name, text) in of.chain(clocks).chain(cut) {
            self.take(&Item::Attribute(name.to_owned(), text))?;
        }
        self.out.finish()?;
        Ok(self.structure)
    }
}
