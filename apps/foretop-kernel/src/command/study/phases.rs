//! A sort whose stamps lie over what processors and memory did meanwhile.

use std::io::BufWriter;
use std::time::Duration;

use kernel_study::Answer;
use kernel_study::machine::phases;
use program::Failure;
use record::{Format, Output};
use units::ByteCount;
use workload::ShortGroup;

use super::Bench;
use super::eye::Eye;
use super::job::{Job, Jobs};
use super::sort::Swap;
use crate::command::failed;
use crate::command::files::input;

const N_RANKS: u64 = 2;
/// The size of the numbers of both ranks: together with what a rank has beside them, more than its memory.
const SIZE: ByteCount = ByteCount::new(64 << 20);
const QUICK_SIZE: ByteCount = ByteCount::new(4 << 20);
const SWAP: ByteCount = ByteCount::new(128 << 20);
const MEMORY: ByteCount = ByteCount::new(96 << 20);
const INTERVAL: Duration = Duration::from_millis(100);
/// Stays beside the page.
const MERGED: &str = "phases.sort-merge";

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
    let jobs = Jobs::new();
    let mut eye = Eye::open()?;
    let library = jobs.library(bench.scratch)?;
    let size = if bench.is_quick { QUICK_SIZE } else { SIZE };
    let _swap = Swap::on(bench.scratch.join("swap"), SWAP.bytes())?;
    let group = ShortGroup::of_memory(MEMORY.bytes()).map_err(Failure::of)?;
    let find = |name| kernel::find(name).map_err(failed);
    eye.turn(&[find("cpu")?, find("vm")?], &[])?;
    let job = Job { library, is_tcp: false, n_ranks: N_RANKS, size };
    let (sorted, kernel) = eye.record(bench.scratch, INTERVAL, || jobs.run(job, bench.scratch, Some(&group)))?;
    let sorted = sorted?.map_err(|lost| Failure::work(format!("the sort was lost: {lost:?}")))?;
    let merged = bench.out.join(MERGED);
    let file = std::fs::File::create(&merged).map_err(Failure::of)?;
    let inputs = vec![input("kernel".to_owned(), &kernel)?, input("sort".to_owned(), &sorted.file()?)?];
    let mut output = Output::new(Format::Own, BufWriter::new(file)).map_err(Failure::of)?;
    record_view::merge(inputs, &["start_ns".to_owned(), "at_ns".to_owned()], &mut output).map_err(Failure::of)?;
    output.finish().map_err(Failure::of)?;
    let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
    let conditions = format!(
        "{library}, {N_RANKS} ranks, {size}, {MEMORY} of memory for all; pulled every {} ms; processors are those of the whole host, faults those of the sort. The file {MERGED} has all of it",
        INTERVAL.as_millis()
    );
    let read = || {
        let file = std::fs::File::open(&merged).map_err(record::Error::Read)?;
        Ok(record::read(std::io::BufReader::new(file))?)
    };
    Ok(vec![phases(read, conditions, n_processors).map_err(Failure::of)?])
}
