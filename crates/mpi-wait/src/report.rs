//! The totals of a rank, as `wait-RANK.jsonl`: `docs/formats/mpi-concurrency.md`.

use std::fs;
use std::io;

use clock::monotonic_ns;
use mpi_trace::Concurrency;
use serde_json::{Value, json};

use crate::job::WaitJob;
use crate::settings::word;
use crate::usage::ProcessUsage;

const VERSION: u32 = 1;

/// Writes the totals of this rank from Init's return until now. The file is there whole or not at all.
pub(crate) fn write(job: &WaitJob) -> io::Result<()> {
    let folder = &job.settings.folder;
    let path = folder.join(format!("wait-{}.jsonl", job.rank));
    let beside = folder.join(format!(".wait-{}.jsonl", job.rank));
    let text: String = lines(job, monotonic_ns()).iter().map(|line| format!("{line}\n")).collect();
    fs::create_dir_all(folder)?;
    fs::write(&beside, text)?;
    fs::rename(&beside, &path)
}

fn lines(job: &WaitJob, now_ns: u64) -> Vec<Value> {
    let head = json!({
        "format": "foretop-wait", "version": VERSION, "rank": job.rank, "ranks": job.members.n_ranks(),
        "host": mpi_job::host_name(), "mode": word(job.mode), "processor": job.processor,
    });
    let calls = job.tallies.each().into_iter().map(|(operation, tally)| {
        json!({
            "call": operation.name(), "calls": tally.n_calls, "bytes": tally.n_bytes,
            "seconds": seconds(tally.total_ns), "blocked_seconds": seconds(tally.blocked_ns),
        })
    });
    let usage = ProcessUsage::now().since(&job.began.usage);
    let tlp = job.page.zip(job.began.concurrency.as_ref());
    let tlp = tlp.map(|(page, began)| levels(began, &page.concurrency(now_ns)));
    let totals = json!({
        "run_seconds": seconds(now_ns - job.began.at_ns), "blocked_seconds": seconds(job.tallies.blocked_ns()),
        "user_seconds": usage.user_seconds, "system_seconds": usage.system_seconds,
        "voluntary_switches": usage.n_voluntary_switches, "involuntary_switches": usage.n_involuntary_switches,
        "minor_faults": usage.n_minor_faults, "major_faults": usage.n_major_faults, "tlp_seconds": tlp,
    });
    [head].into_iter().chain(calls).chain([totals]).collect()
}

/// Seconds at each level between two moments.
fn levels(began: &Concurrency, ended: &Concurrency) -> Vec<f64> {
    let between = began.levels_ns.iter().zip(&ended.levels_ns);
    between.map(|(began, ended)| seconds(ended.saturating_sub(*began))).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
