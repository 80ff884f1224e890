//! Sorts of growing size, short of memory.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use kernel_study::Answer;
use kernel_study::machine::{Lost, Sort, sort_times, swapping};
use program::Failure;
use units::ByteCount;
use workload::ShortGroup;

use super::Bench;
use super::eye::{Eye, Seen};
use super::job::{Job, Jobs, Sorted};
use super::tool::tool;
use crate::command::failed;

const RANKS: &[u64] = &[1, 2, 3, 4, 6, 8, 11];
const QUICK_RANKS: &[u64] = &[1];
/// The memory of each rank. What a rank of either library has beside its numbers is some 25 MiB.
const MEMORY: ByteCount = ByteCount::new(96 << 20);
/// The sizes of the numbers of each rank, in MiB.
const MIB: [u64; 8] = [8, 16, 24, 32, 40, 48, 56, 64];
const QUICK_MIB: [u64; 2] = [1, 3];
/// The swap of each rank, which has its numbers, what it sends and what it receives at once.
const SWAP: ByteCount = ByteCount::new(192 << 20);

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
    let vm = kernel::find("vm").map_err(failed)?;
    let jobs = Jobs::new();
    let mut eye = Eye::open()?;
    let library = jobs.library(bench.scratch)?;
    let (ranks, sizes) = if bench.is_quick { (QUICK_RANKS, &QUICK_MIB[..]) } else { (RANKS, &MIB[..]) };
    let most = ranks.iter().max().copied().unwrap_or(1);
    let _swap = Swap::on(bench.scratch.join("swap"), SWAP.bytes() * most)?;
    eye.turn(&[vm], &[])?;
    let mut sorts = Vec::new();
    for &n_ranks in ranks {
        let group = ShortGroup::of_memory(MEMORY.bytes() * n_ranks).map_err(Failure::of)?;
        for mib in sizes {
            let job = Job { library, is_tcp: false, n_ranks, size: ByteCount::new((mib << 20) * n_ranks) };
            bench.go_on()?;
            // What happened until now is not this sort's.
            eye.turn(&[vm], &[])?;
            let seen = eye.watch(Duration::from_secs(5), || jobs.run(job, bench.scratch, Some(&group)))?;
            sorts.push(of(job, seen)?);
        }
    }
    let conditions = format!(
        "{library}; a control group with {MEMORY} for each rank, and swap in a file; sorts of more than 90 s are given up. Counts are of the sort's processes, in the kernel"
    );
    let after = |answer: fn(&[Sort], String) -> Answer| answer(&sorts, conditions.clone());
    Ok(vec![after(sort_times), after(swapping)])
}

fn of(job: Job, seen: Seen<Result<Result<Sorted, Lost>, Failure>>) -> Result<Sort, Failure> {
    let [n_page_ins, n_page_outs, n_reactivations, n_faults] =
        ["IntPageIn", "IntPageOut", "IntReactivation", "PageFaults"].map(|point| seen.count(point));
    let took_ns = match seen.done? {
        Ok(sorted) => {
            let ranks = sorted.ranks(["start_ns", "end_ns"])?;
            Ok(ranks.iter().map(|[start, end]| end - start).max().unwrap_or(0))
        }
        Err(lost) => Err(lost),
    };
    let (n_ranks, size_bytes) = (job.n_ranks, job.size.bytes());
    Ok(Sort { n_ranks, size_bytes, took_ns, n_page_ins, n_page_outs, n_reactivations, n_faults })
}

/// A file that is swapped to, until this is dropped.
pub struct Swap(PathBuf);

impl Swap {
    pub fn on(path: PathBuf, size_bytes: u64) -> Result<Self, Failure> {
        // Pages of a file with holes cannot be swapped to.
        let cannot = |what: &str, why: &str| Failure::work(format!("cannot {what} `{}`: {why}", path.display()));
        let file = fs::File::create_new(&path).map_err(|error| cannot("make", &error.to_string()))?;
        let made = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size_bytes);
        made.map_err(|error| cannot("make room in", &error.to_string()))?;
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(private).map_err(|error| cannot("keep private", &error.to_string()))?;
        for program in ["mkswap", "swapon"] {
            tool(program, [path.as_path()])?;
        }
        Ok(Self(path))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        if tool("swapoff", [self.0.as_path()]).is_ok() {
            // It goes with the scratch folder otherwise.
            let _ = fs::remove_file(&self.0);
        }
    }
}
