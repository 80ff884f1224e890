//! The totals of a rank, as `wait-RANK.jsonl`: `docs/formats/mpi-concurrency.md`.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};

use clock::monotonic_ns;
use mpi_trace::file::KernelNote;
use mpi_trace::{Concurrency, ConcurrencyPage};
use serde_json::{Value, json};

use crate::job::WaitJob;
use crate::usage::ProcessUsage;

const VERSION: u32 = 1;
/// Greatest number of marks of a rank: reading the kernel's counts takes about 0.1 ms each.
const N_MARKS_MAX: usize = 1_000;

/// Attempts to read all levels at one moment.
const N_READS: usize = 100;

/// Counts up to a moment.
#[derive(Debug)]
pub(crate) struct CountedUntil {
    at_ns: u64,
    blocked_ns: u64,
    usage: ProcessUsage,
    kernel: Option<KernelNote>,
    /// Levels of the host, on its lowest rank.
    concurrency: Option<Concurrency>,
}

/// Moments that the program has marked with `MPI_Pcontrol`, by its level.
#[derive(Debug, Default)]
pub(crate) struct Marks(Mutex<Vec<(c_int, CountedUntil)>>);

impl CountedUntil {
    /// Reads all counts, those of the page only if this rank is the lowest of its host.
    pub(crate) fn now(blocked_ns: u64, page: Option<&ConcurrencyPage<'_>>) -> Self {
        let (at_ns, concurrency) = match page {
            Some(page) => {
                let (at_ns, concurrency) = levels_now(page);
                (at_ns, Some(concurrency))
            }
            None => (monotonic_ns(), None),
        };
        let kernel = mpi_job::kernel_of(std::process::id());
        Self { at_ns, blocked_ns, usage: ProcessUsage::now(), kernel, concurrency }
    }

    /// Returns the differences to an earlier moment as an object.
    fn since(&self, earlier: &Self) -> Value {
        let usage = self.usage.since(&earlier.usage);
        let kernel = |count: fn(&KernelNote) -> u64| {
            let between = self.kernel.as_ref().zip(earlier.kernel.as_ref());
            between.map(|(now, then)| seconds(count(now).saturating_sub(count(then))))
        };
        let levels = self.concurrency.as_ref().zip(earlier.concurrency.as_ref()).map(|(now, then)| levels(then, now));
        json!({
            "run_seconds": seconds(self.at_ns - earlier.at_ns),
            "blocked_seconds": seconds(self.blocked_ns - earlier.blocked_ns),
            "user_seconds": usage.user_seconds, "system_seconds": usage.system_seconds,
            "ready_seconds": kernel(|note| note.waited_ns), "stolen_seconds": kernel(|note| note.stolen_ns),
            "voluntary_switches": usage.n_voluntary_switches, "involuntary_switches": usage.n_involuntary_switches,
            "minor_faults": usage.n_minor_faults, "major_faults": usage.n_major_faults, "tlp_seconds": levels,
        })
    }
}

impl WaitJob {
    fn counted(&self) -> CountedUntil {
        CountedUntil::now(self.tallies.blocked_ns(), self.page.filter(|_| self.members.own == 0).as_ref())
    }

    /// Notes all counts at a moment that the program marks. There is a limit of marks; later ones are left out.
    pub(crate) fn mark(&self, level: c_int) {
        let mut marks = self.marks.0.lock().unwrap_or_else(PoisonError::into_inner);
        if marks.len() < N_MARKS_MAX {
            marks.push((level, self.counted()));
        }
    }
}

/// Writes the totals of this rank from Init's return until now. The file is there whole or not at all.
pub(crate) fn write(job: &WaitJob) -> io::Result<()> {
    let folder = &job.settings.folder;
    let path = folder.join(format!("wait-{}.jsonl", job.rank));
    let beside = folder.join(format!(".wait-{}.jsonl", job.rank));
    let text: String = lines(job).iter().map(|line| format!("{line}\n")).collect();
    fs::create_dir_all(folder)?;
    fs::write(&beside, text)?;
    fs::rename(&beside, &path)
}

fn lines(job: &WaitJob) -> Vec<Value> {
    let ended = job.counted();
    let head = json!({
        "format": "foretop-wait", "version": VERSION, "rank": job.rank, "ranks": job.members.n_ranks(),
        "host": mpi_job::host_name(), "mode": job.mode.name(), "processor": job.processor,
    });
    let calls = job.tallies.each().into_iter().map(|(operation, tally)| {
        json!({
            "call": operation.name(), "calls": tally.n_calls, "bytes": tally.n_bytes,
            "seconds": seconds(tally.total_ns), "blocked_seconds": seconds(tally.blocked_ns),
        })
    });
    let marks = job.marks.0.lock().unwrap_or_else(PoisonError::into_inner);
    let marks = marks.iter().map(|(level, until)| {
        let mut line = until.since(&job.began);
        line["level"] = (*level).into();
        line
    });
    [head].into_iter().chain(calls).chain(marks).chain([ended.since(&job.began)]).collect()
}

/// Reads the time at each level, and the moment at which it was read.
fn levels_now(page: &ConcurrencyPage<'_>) -> (u64, Concurrency) {
    let made_ns = page.header().made_ns;
    let read = || {
        let at_ns = monotonic_ns();
        (at_ns, page.concurrency(at_ns))
    };
    // A rank that changes the levels after the clock was read adds time beyond that moment.
    let is_exact =
        |(at_ns, read): &(u64, Concurrency)| read.levels_ns.iter().sum::<u64>() == at_ns.saturating_sub(made_ns);
    (0..N_READS).map(|_| read()).find(is_exact).unwrap_or_else(read)
}

/// Seconds at each level between two moments.
fn levels(began: &Concurrency, ended: &Concurrency) -> Vec<f64> {
    let between = began.levels_ns.iter().zip(&ended.levels_ns);
    between.map(|(began, ended)| seconds(ended.saturating_sub(*began))).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
