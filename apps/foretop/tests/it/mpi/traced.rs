//! Messages of `foretop mpi trace` about programs that it cannot trace, or that end before their time.

use crate::command::{Ended, run};

use super::mpi;

/// Traces a program in Python under Open MPI.
fn traced(more: &[&str], code: &str) -> (tempfile::TempDir, Ended) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("traces").to_str().unwrap().to_owned();
    let launch = ["trace", "-n", "2", "--mpi", "openmpi", "--out", &out];
    let ended = mpi("openmpi", &[&launch[..], more, &["--", "/usr/bin/python3", "-c", code]].concat());
    (folder, ended)
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn a_tree_file_for_another_number_of_ranks_is_refused_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree.toml").to_str().unwrap().to_owned();
    run(&["mpi", "tree", "make", "--ranks", "3", "--out", &tree]).output();
    let (_, ended) = traced(&["--tree", &tree], "print('started')");
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("the trees are for 3 ranks, but the job has 2"), "{}", ended.stderr);
}

#[test]
#[ignore = "needs Open MPI and mpi4py: scripts/test.sh mpi"]
fn ranks_that_end_without_finalize_are_named() {
    let (_folder, ended) = traced(&[], "from mpi4py import MPI; import os; MPI.COMM_WORLD.Barrier(); os._exit(0)");
    assert!(ended.stderr.contains("ended without MPI_Finalize: rank 0 (after MPI_"), "{}", ended.stderr);
    let (_folder, ended) = traced(&[], "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()");
    assert!(!ended.stderr.contains("without MPI_Finalize"), "{}", ended.stderr);
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn calls_by_addresses_are_traced_if_they_are_the_process_own_and_are_named_otherwise() {
    let code = |handle: &str| {
        format!(
            "import ctypes; ctypes.CDLL('libmpi.so.40', mode=ctypes.RTLD_GLOBAL); mpi = ctypes.CDLL({handle}); \
             mpi.MPI_Init(None, None); mpi.MPI_Finalize()"
        )
    };
    let (_folder, ended) = traced(&[], &code("None"));
    assert!(ended.status == 0 && ended.stderr.contains("traced 2 of 2 ranks"), "{}", ended.stderr);
    let (_folder, ended) = traced(&[], &code("'libmpi.so.40'"));
    assert!(ended.status == 0 && ended.stderr.contains("through a handle of dlopen"), "{}", ended.stderr);
}
