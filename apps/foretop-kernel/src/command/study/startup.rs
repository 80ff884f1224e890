//! Messages until all ranks of a program are there.

use std::time::Duration;

use kernel::Traced;
use kernel_study::Answer;
use kernel_study::machine::{Startup, opening, startup};
use program::Failure;
use units::ByteCount;

use super::Bench;
use super::eye::Eye;
use super::job::{Job, Jobs};
use crate::command::failed;

const RANKS: &[u64] = &[1, 2, 3, 4, 6, 8, 11];
const QUICK_RANKS: &[u64] = &[1, 2];
const N_ROUNDS: usize = 3;
/// Numbers of a sort whose start alone is of interest.
const SIZE: ByteCount = ByteCount::new(64 << 10);

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
    let ipc = kernel::find("ipc").map_err(failed)?;
    let jobs = Jobs::new();
    let mut eye = Eye::open()?;
    let (libraries, missing): (Vec<_>, Vec<_>) = jobs.libraries(bench.scratch).partition(Result::is_ok);
    let libraries: Vec<&str> = libraries.into_iter().flatten().collect();
    let mut missing: Vec<String> = missing.into_iter().filter_map(Result::err).collect();
    if libraries.is_empty() {
        return Err(Failure::work(missing.join("; ")));
    }
    eye.turn(&[ipc], &[(ipc, "Send")])?;
    let mut starts = Vec::new();
    let (ranks, n_rounds) = if bench.is_quick { (QUICK_RANKS, 1) } else { (RANKS, N_ROUNDS) };
    for (library, is_tcp) in libraries.into_iter().flat_map(|library| [(library, false), (library, true)]) {
        for &n_ranks in ranks {
            let job = Job { library, is_tcp, n_ranks, size: SIZE };
            let rounds = (0..n_rounds).map(|_| {
                bench.go_on()?;
                watched(job, bench, &jobs, &mut eye)
            });
            match rounds.collect::<Result<Vec<Startup>, Failure>>() {
                Ok(mut rounds) => {
                    rounds.sort_by_key(|round| round.n_messages);
                    let opens_ns = rounds.iter().flat_map(|round| round.opens_ns.clone()).collect();
                    starts.push(Startup { opens_ns, ..rounds.swap_remove(rounds.len() / 2) });
                }
                Err(failure) => missing.push(format!("{} with {n_ranks} ranks: {}", called(job), failure.message)),
            }
        }
    }
    let without: String = missing.iter().map(|why| format!("; without {why}")).collect();
    let of_messages = format!(
        "sends through sockets, each traced in the kernel, from the start of the launcher until all ranks are there (the sort's stamp `start`); what ranks say by shared memory has no socket \
         and is not in it; the median of {n_rounds} rounds{without}"
    );
    let of_opens = format!(
        "a file of {SIZE} by MPI-IO, until all ranks have it open; the median of {n_rounds} rounds of the mean of the ranks; more ranks than processors take turns"
    );
    Ok(vec![startup(&starts, of_messages), opening(&starts, of_opens)])
}

fn called(job: Job) -> String {
    format!("{}, {}", job.library, if job.is_tcp { "TCP" } else { "shared memory" })
}

fn watched(job: Job, bench: &Bench, jobs: &Jobs, eye: &mut Eye) -> Result<Startup, Failure> {
    let began_ns = clock::monotonic_ns();
    let seen = eye.watch(Duration::from_secs(10), || jobs.run(job, bench.scratch, None))?;
    let sorted = seen.done?.map_err(|_| Failure::work("it took too long"))?;
    let ranks = sorted.ranks(["start_ns", "inopen_ns", "inpsync_ns"])?;
    let ready_ns = ranks.iter().map(|[at, ..]| *at).min().unwrap_or(began_ns);
    let before = |event: &&Traced| event.end_ns <= ready_ns && event.returned > 0;
    let sent = || seen.traced.iter().filter(before);
    let open_ns: u64 = ranks.iter().map(|[_, open, wait]| open + wait).sum();
    Ok(Startup {
        library: called(job),
        n_ranks: job.n_ranks,
        n_messages: sent().count() as u64,
        n_bytes: sent().map(|event| event.returned.max(0).cast_unsigned()).sum(),
        took_ns: ready_ns.saturating_sub(began_ns),
        opens_ns: vec![open_ns as f64 / ranks.len().max(1) as f64],
    })
}
