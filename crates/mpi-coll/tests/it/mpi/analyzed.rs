//! Analyses of calls on several communicators, and of calls without stages.

use mpi_analysis::{analyzers, calls_without_stages};
use mpi_trace::Operation;

use super::{hosts, layout};
use crate::program::{Program, forest};

/// On one host, and between clusters, where large calls go in pieces.
#[track_caller]
fn check_alternate(library: &'static str, n_ranks: u32) {
    let program = Program::compiled(library, "alternate.c");
    for n_hosts in [1, 2] {
        program.write("trees.toml", &forest(0, &hosts(n_hosts, n_ranks / n_hosts), &layout()));
        let ended = program.run(n_ranks, &["mpi_coll", "mpi_tracer"], &[], &[]);
        assert!(ended.is_well && ended.stderr.is_empty(), "{}{}", ended.stdout, ended.stderr);
        let recordings = mpi_job::read(&program.folder().join("foretop-trace")).unwrap();
        let analyzers = analyzers(&recordings).unwrap();
        let analysis = analyzers[0].analysis();
        let others = (analysis.n_incomplete, analysis.n_disordered, analysis.n_strangers);
        assert_eq!((analyzers.len(), analysis.n_calls, others), (1, 60, (0, 0, 0)), "{n_hosts} hosts");
        let without = calls_without_stages(&recordings).unwrap();
        assert_eq!(without.into_iter().collect::<Vec<_>>(), [(Operation::ALLREDUCE, 3)], "{n_hosts} hosts");
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn calls_on_two_communicators_over_one_tree_are_analyzed_with_open_mpi() {
    check_alternate("openmpi", 4);
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn calls_on_two_communicators_over_one_tree_are_analyzed_with_mpich() {
    check_alternate("mpich", 2);
}
