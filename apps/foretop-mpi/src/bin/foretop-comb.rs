//! `foretop-comb`: how much of the CPU is left while MPI messages fly, and who makes them fly. See the crate `comb`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};
use clock::Stopwatch;
use comb::{BufferingPlan, Comb, Plan, PollingPlan, PostWorkWaitPlan, record};
use foretop_mpi::{Output, Teller, header, print_first, run, writer};
use mpi_run::{Ending, Session};
use program::Failure;
use units::{ByteCount, Confidence, span};

/// Measure the overlap of computation and communication: COMB's polling and post-work-wait methods, double buffering,
/// and conclusions about the MPI library
///
/// Needs an even number of ranks: the first of each pair works while messages are in flight, the second supports it.
#[derive(Debug, Parser)]
#[command(name = "foretop-comb", version)]
struct Arguments {
    /// Measurements to make [default: all of it]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "METHOD,...")]
    method: Vec<Method>,
    /// Sizes of messages [default: 1KiB,16KiB,128KiB,1MiB]
    #[arg(long, value_delimiter = ',', value_name = "SIZE,...")]
    size: Vec<ByteCount>,
    /// Batches of round trips for each size up to the largest [default: 51, quick: 15]
    #[arg(long, value_name = "N")]
    trips: Option<u32>,
    /// Ranks that form pairs
    #[arg(long, value_enum, default_value_t)]
    pairing: Pairing,
    /// Confidence of all intervals
    #[arg(long, value_name = "SHARE", default_value_t)]
    confidence: Confidence,
    /// Take only a few seconds: two sizes, fewer repetitions
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    pww: PostWorkWait,
    #[command(flatten)]
    polling: Polling,
    #[command(flatten)]
    buffering: Buffering,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Post-work-wait")]
struct PostWorkWait {
    /// Lengths of work [default: none, and nine around the time of a transfer]
    #[arg(long, value_delimiter = ',', value_name = "TIME,...", value_parser = span::parse)]
    work: Vec<Duration>,
    /// Repetitions of each length of work [default: 151, quick: 15]
    #[arg(long, value_name = "N")]
    cycles: Option<u32>,
    /// Let the supporting rank work as well, instead of waiting for its messages immediately
    #[arg(long)]
    both_work: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Polling")]
struct Polling {
    /// Work between polls [default: nine around the time of a transfer]
    #[arg(long, value_delimiter = ',', value_name = "TIME,...", value_parser = span::parse)]
    poll_interval: Vec<Duration>,
    /// Messages in flight in each direction [default: 4]
    #[arg(long, value_name = "N")]
    queue: Option<u32>,
    /// Repetitions of each interval [default: 25, quick: 7]
    #[arg(long, value_name = "N")]
    repetitions: Option<u32>,
    /// Target length of a repetition [default: 8ms, quick: 3ms]
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    span: Option<Duration>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Double buffering")]
struct Buffering {
    /// Size of a buffer of 8-byte numbers [default: 100kB]
    #[arg(long, value_name = "SIZE")]
    buffer: Option<ByteCount>,
    /// Number of buffers to fill [default: 400, quick: 50]
    #[arg(long, value_name = "N")]
    batches: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Round trips: latency and bandwidth
    PingPong,
    /// Post-work-wait: does MPI make progress without calls?
    Pww,
    /// Work between polls: how much CPU is left if MPI is called now and then?
    Polling,
    /// A stream of numbers through one buffer and through two
    Buffering,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Pairing {
    /// Rank i with rank i + n/2
    #[default]
    Halves,
    /// Rank 0 with 1, 2 with 3, ...
    Neighbours,
}

fn main() -> ExitCode {
    run(measure)
}

fn measure(session: &Session, arguments: Arguments) -> Result<(), Ending> {
    let plan = session.agree(arguments.plan())?;
    let output = &arguments.output;
    let clock = Stopwatch::start();
    let header = header(session, &Comb, output.seed, &clock);
    let pair = comb::prepare(session, &header, &plan)?;
    let mut writer = writer(session, output.out.as_deref(), &header)?;
    let mut teller = Teller::new(session, output);
    comb::run(session, &clock, &plan, pair, &mut writer, &mut |what, done, total| teller.tell(what, done, total))?;
    print_first(session, &Comb, writer.outcome(), output.format, arguments.csv_kind())
}

impl Arguments {
    fn plan(&self) -> Result<Plan, Failure> {
        self.check_contradictions()?;
        let all = [Method::PingPong, Method::Pww, Method::Polling, Method::Buffering];
        let methods = if self.method.is_empty() { &all[..] } else { &self.method };
        let of = |usual, quick| if self.quick { quick } else { usual };
        Ok(Plan {
            methods: methods.iter().map(|&method| method.into()).collect(),
            pairing: self.pairing.into(),
            sizes: self.sizes(),
            confidence: self.confidence,
            n_trip_batches: self.trips.unwrap_or(of(51, 15)),
            pww: PostWorkWaitPlan {
                intervals: self.pww.work.clone(),
                n_cycles: self.pww.cycles.unwrap_or(of(151, 15)),
                is_mutual: self.pww.both_work,
            },
            polling: PollingPlan {
                queue: self.polling.queue.unwrap_or(4),
                intervals: self.polling.poll_interval.clone(),
                n_repetitions: self.polling.repetitions.unwrap_or(of(25, 7)),
                span: self.polling.span.unwrap_or(Duration::from_millis(if self.quick { 3 } else { 8 })),
            },
            buffering: BufferingPlan {
                size: self.buffering.buffer.unwrap_or(ByteCount::new(100_000)),
                n_batches: self.buffering.batches.unwrap_or(of(400, 50)),
                n_repetitions: of(9, 5),
            },
        })
    }

    fn sizes(&self) -> Vec<ByteCount> {
        let usual: &[u64] = if self.quick { &[1 << 10, 128 << 10] } else { &[1 << 10, 16 << 10, 128 << 10, 1 << 20] };
        if self.size.is_empty() { usual.iter().copied().map(ByteCount::new).collect() } else { self.size.clone() }
    }

    /// Flags of a method that is not asked for would do nothing.
    fn check_contradictions(&self) -> Result<(), Failure> {
        let (pww, polling, buffering) = (&self.pww, &self.polling, &self.buffering);
        let flags = [
            ("--trips", self.trips.is_some(), Method::PingPong),
            ("--work", !pww.work.is_empty(), Method::Pww),
            ("--cycles", pww.cycles.is_some(), Method::Pww),
            ("--both-work", pww.both_work, Method::Pww),
            ("--poll-interval", !polling.poll_interval.is_empty(), Method::Polling),
            ("--queue", polling.queue.is_some(), Method::Polling),
            ("--repetitions", polling.repetitions.is_some(), Method::Polling),
            ("--span", polling.span.is_some(), Method::Polling),
            ("--buffer", buffering.buffer.is_some(), Method::Buffering),
            ("--batches", buffering.batches.is_some(), Method::Buffering),
        ];
        let is_unused = |method| !self.method.is_empty() && !self.method.contains(&method);
        match flags.into_iter().find(|&(_, is_given, method)| is_given && is_unused(method)) {
            Some((flag, _, method)) => Err(Failure::usage(format!(
                "{flag} is for --method {}, which is not asked for: add that method or leave {flag} out",
                comb::Method::from(method)
            ))),
            None if !self.size.is_empty() && self.method == [Method::Buffering] => {
                Err(Failure::usage("--size is not for --method buffering: give the size of its buffers with --buffer"))
            }
            None => Ok(()),
        }
    }

    /// The rows of CSV are of the first method of those asked for that has a sweep.
    fn csv_kind(&self) -> &'static str {
        let order = [
            (Method::Pww, record::PWW),
            (Method::Polling, record::POLLING),
            (Method::PingPong, record::PING_PONG),
            (Method::Buffering, record::BUFFERING),
        ];
        let is_asked = |method| self.method.is_empty() || self.method.contains(method);
        order.iter().find(|(method, _)| is_asked(method)).map_or(record::PWW, |(_, kind)| kind)
    }
}

impl From<Method> for comb::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::PingPong => Self::PingPong,
            Method::Pww => Self::Pww,
            Method::Polling => Self::Polling,
            Method::Buffering => Self::Buffering,
        }
    }
}

impl From<Pairing> for comb::Pairing {
    fn from(pairing: Pairing) -> Self {
        match pairing {
            Pairing::Halves => Self::Halves,
            Pairing::Neighbours => Self::Neighbours,
        }
    }
}
