//! Messages until all ranks of a program are there.

use std::time::Duration;

use kernel::Traced;
use kernel_study::Answer;
use kernel_study::machine::{Startup, startup};
use program::Failure;
use units::ByteCount;

use super::Bench;
use super::eye::Eye;
use super::job::{Job, Jobs};
use crate::command::failed;

const RANKS: &[u64] = &[1, 2, 3, 4, 6, 8, 11];
const QUICK_RANKS: &[u64] = &[1, 2];
/// Numbers of a sort whose start alone is of interest.
const SIZE: ByteCount = ByteCount::new(64 << 10);

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
    let ipc = kernel::find("ipc").map_err(failed)?;
    let jobs = Jobs::new();
    let mut eye = Eye::open()?;
    let (libraries, missing): (Vec<_>, Vec<_>) = jobs.libraries(bench.scratch).partition(Result::is_ok);
    let libraries: Vec<&str> = libraries.into_iter().flatten().collect();
    let missing: Vec<String> = missing.into_iter().filter_map(Result::err).collect();
    if libraries.is_empty() {
        return Err(Failure::work(missing.join("; ")));
    }
    eye.turn(&[ipc], &[(ipc, "Send")])?;
    let mut starts = Vec::new();
    for (library, is_tcp) in libraries.into_iter().flat_map(|library| [(library, false), (library, true)]) {
        for &n_ranks in if bench.is_quick { QUICK_RANKS } else { RANKS } {
            bench.go_on()?;
            let job = Job { library, is_tcp, n_ranks, size: SIZE };
            let began_ns = clock::monotonic_ns();
            let seen = eye.watch(Duration::from_secs(10), || jobs.run(job, bench.scratch, None))?;
            let Some(sorted) = seen.done? else { continue };
            let ready_ns = sorted.ranks(["start_ns"])?.into_iter().map(|[at]| at).min().unwrap_or(began_ns);
            let before = |event: &&Traced| event.end_ns <= ready_ns && event.returned > 0;
            let sent = || seen.traced.iter().filter(before);
            starts.push(Startup {
                library: format!("{library}, {}", if is_tcp { "TCP" } else { "shared memory" }),
                n_ranks,
                n_messages: sent().count() as u64,
                n_bytes: sent().map(|event| event.returned.max(0).cast_unsigned()).sum(),
                took_ns: ready_ns.saturating_sub(began_ns),
            });
        }
    }
    let mut conditions = "sends through sockets, each traced in the kernel, from the start of the launcher until all ranks are there (the sort's stamp `start`); what ranks say by shared memory has no socket and is not in it"
        .to_owned();
    conditions.extend(missing.iter().map(|why| format!("; without {why}")));
    Ok(vec![startup(&starts, conditions)])
}
