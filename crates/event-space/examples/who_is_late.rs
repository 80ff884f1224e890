//! A monitor of one's own: who came last, of a job on this host, told each second.
//!
//! `cargo run -p event-space --example who_is_late -- FOLDER_OF_JOB`
#![expect(clippy::print_stdout, reason = "a program that prints what it finds")]

use std::sync::Arc;
use std::time::Duration;

use event_space::{LastOfHost, LoadBalance, PullExt, Read, Tuple};
use mpi_trace::RingKind;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = std::env::args().nth(1).ok_or("name the folder of a job")?;
    let folder = mpi_job::Folder::open(job.as_ref())?;
    let forest = mpi_tree::Forest::parse(&folder.tree()?.ok_or("the job takes no trees")?)?;
    let (tree, hosts) = (&forest.trees[0], &forest.hosts);

    let rings = folder.rings()?.into_iter().filter_map(Result::ok);
    let own = rings.filter(|ring| ring.header.kind == RingKind::Stages && ring.header.tree == forest.id_of(0));
    let read = own.fold(Read::new(4096), |read, ring| {
        let rank = ring.header.rank;
        read.and(Arc::new(ring), 0, rank)
    });
    let mut last = LastOfHost::new(tree, hosts);
    let mut monitor = LoadBalance::new(read.through(move |tuple, into: &mut Vec<Tuple>| last.take(tuple, into)));
    while folder.is_alive()? {
        clock::sleep(Duration::from_secs(1));
        monitor.step();
        println!("{:?}, {} records lost", monitor.weights, monitor.tally.n_lost);
    }
    Ok(())
}
