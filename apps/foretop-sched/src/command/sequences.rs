//! `foretop sequences`, also `foretop sched sequences`: searches a sequence library with workers.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use job::{Runner, Search};
use sched::{Job, Spec, Work};
use text::help::examples;
use units::Confidence;

use super::run::{Cost, Destination, ShowPage, have_done};
use crate::protection::Protection;
use program::Failure;

/// Search a sequence library with workers: blastp and its like, diamond, and ssw-align
///
/// The search is cut by queries, and with --library-parts by the library, too. The library goes to a worker once, each
/// hit has the statistics of all of it, and the joined outputs are those of one run, line for line; if that is not
/// certain, the command prints a note. The tool is the workers' own: `--allow 'blastp=/usr/bin/blastp -* 6*'`, where
/// `6*` is for formats of several words, which library parts need, or `--allow 'ssw-align=/usr/bin/ssw-align -*'`.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sequences --worker 127.0.0.1:7400 --worker 127.0.0.1:7401 --run search -- blastp -query q.fa -db lib -evalue 1e-3 -outfmt 6",
    "foretop sequences --worker 127.0.0.1:7400 --library-parts 8 --run search -- blastp -query one.fa -db lib -outfmt 6",
    "foretop sequences --worker 127.0.0.1:7400 --library-parts 4 --run search -- diamond blastp --swipe -q q.fa -d lib.fa",
    "foretop sequences --worker 127.0.0.1:7400 --run search -- ssw-align -p lib.fa q.fa",
]))]
pub struct Sequences {
    /// The address of a worker; several share the search
    #[arg(long = "worker", value_name = "HOST:PORT", required = true)]
    workers: Vec<String>,

    /// The run's folder: it is created, or the run in it is resumed
    #[arg(long, value_name = "FOLDER")]
    run: PathBuf,

    /// The policy that assigns parts to workers
    #[arg(long, value_name = "POLICY", default_value = "CORRECTED")]
    policy: Spec,

    /// The approximate number of parts that the queries are cut into [default: 256, for diamond 16; with
    /// --library-parts so many in all]
    #[arg(long, value_name = "N")]
    parts: Option<NonZero<usize>>,

    /// The number of parts that the library is cut into, each of which every query meets: blastp; `diamond blastp` and
    /// ssw-align with a library in FASTA
    #[arg(long, value_name = "N")]
    library_parts: Option<NonZero<usize>>,

    /// The processor time that the whole search takes, as far as is known; finished parts correct it [default: not
    /// known, and there is no forecast before a part is done]
    #[arg(long, value_name = "SPAN", value_parser = units::span::parse)]
    cost: Option<Duration>,

    /// The confidence of the interval of the time
    #[arg(long, value_name = "SHARE", default_value = "0.8")]
    confidence: Confidence,

    /// The lease: the time without an answer after which a worker is lost, and its parts go to others
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = units::span::parse)]
    lost_after: Duration,

    #[command(flatten)]
    destination: Destination,

    #[command(flatten)]
    page: ShowPage,

    #[command(flatten)]
    protection: Protection,

    /// The search as you would run it
    #[arg(last = true, value_name = "TOOL", required = true)]
    words: Vec<String>,
}

/// The time by which parts are compared until one is done: any would do.
const COST_GUESS: Duration = Duration::from_secs(60);

impl Sequences {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let n_units = Search::n_units(&self.words).map_err(|error| Failure::usage_of(&error))?;
        let of_queries = self.library_parts.and_then(|n_parts| NonZero::new(n_units.div_ceil(n_parts.get())));
        let mut search =
            Search::new(&self.words, self.parts.or(of_queries)).map_err(|error| Failure::usage_of(&error))?;
        if let Some(n_parts) = self.library_parts {
            search =
                search.by_library(n_parts, &self.run.join("library")).map_err(|error| Failure::usage_of(&error))?;
        }
        if let Some(caution) = search.caution {
            // Whoever does not read this goes without it.
            let _ = writeln!(io::stderr().lock(), "caution: {caution}");
        }
        let job = job_of(&search, &self.workers)?;
        let known = if self.cost.is_some() { Cost::Stated } else { Cost::Unknown };
        let second = self.cost.unwrap_or(COST_GUESS).as_secs_f64() / search.costs.iter().sum::<f64>();
        let work = Work::new(search.costs.iter().map(|cost| second * cost));
        let runner = Runner {
            job,
            // What makes it another search.
            text: format!("{:?} {:?} {:?}", search.tool, search.args, search.units),
            work: work.map_err(Failure::usage)?,
            stdin: search.units.clone(),
            inputs: vec![search.library.clone()],
            policy: self.policy,
            folder: self.run,
            security: self.protection.security()?,
            confidence: self.confidence,
            lost_after: self.lost_after,
        };
        have_done(&runner, known, &self.destination, &self.page, out, &|outputs, out| {
            let n_uncertain = search.put_together(outputs, out).map_err(|error| Failure::of(&error))?;
            if n_uncertain > 0 {
                let _ = writeln!(
                    io::stderr().lock(),
                    "caution: {n_uncertain} pairs of neighbouring hits look alike in what the tool prints; one run may have them the other way round"
                );
            }
            Ok(())
        })
    }
}

fn job_of(search: &Search, workers: &[String]) -> Result<Job, Failure> {
    let mut text = format!("format = 1\n[work]\nunits = {}\ncost = \"1s\"\n", search.units.len());
    for place in workers {
        let endpoint = format!("source:tcp:{place}");
        writeln!(text, "[[worker]]\nname = {place:?}\nendpoint = {endpoint:?}").expect("a string takes any text");
    }
    let mut job = Job::read(&text).map_err(Failure::usage)?;
    job.command = Some(sched::Command { name: search.tool.clone(), args: search.args.clone() });
    Ok(job)
}
