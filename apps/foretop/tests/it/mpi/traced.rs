//! Messages of `foretop mpi trace` about programs that it cannot trace, or that end before their time.

use testkit::launch;

use crate::command::{Ended, end_of, foretop, run};

use super::{mpi, programs};

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

/// Ten rounds of a ring and a sum, under the launcher beside Python.
#[track_caller]
fn check_environment(path: &str, abi: &str) {
    let code = "\
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    print('ABI', MPI._handleof(world))
for _ in range(10):
    world.Sendrecv(bytearray(100), 1 - world.rank, 7, bytearray(200), MPI.ANY_SOURCE, MPI.ANY_TAG)
sum = array('d', [world.rank + 1.0])
world.Allreduce(MPI.IN_PLACE, sum)
assert sum[0] == 3.0
";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("traces").to_str().unwrap().to_owned();
    let environment = launch::standard_environment();
    let python = environment.join("bin/python");
    let trace = ["mpi", "trace", "-n", "2", "--out", &out, "--", python.to_str().unwrap(), "-c", code];
    let ended = end_of(
        foretop()
            .env("FORETOP_MPI_PROGRAMS", programs("openmpi"))
            .env("PYTHONPATH", environment.join(path))
            .args(trace),
    );
    assert!(ended.status == 0 && ended.stderr.contains("traced 2 of 2 ranks"), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("none lost") && ended.stdout.contains(abi), "{}{}", ended.stdout, ended.stderr);
    let shown = run(&["mpi", "trace", "show", &out]).output();
    for (call, n_calls, n_bytes) in [("MPI_Sendrecv", "20", "2000"), ("MPI_Allreduce", "2", "16")] {
        let words = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = words.into_iter().find(|words| words.first() == Some(&call)).expect(&shown);
        assert_eq!((row[2], row[row.len() - 2], row[row.len() - 1]), (n_calls, n_bytes, "0"), "{shown}");
    }
    assert!(shown.contains("matched: 20 messages, 1 collective call; unmatched: 0 sends, 0 receives"), "{shown}");
}

#[test]
#[ignore = "needs MPICH 5 and mpi4py: scripts/test.sh mpi"]
fn python_of_a_virtual_environment_is_traced_under_its_own_launcher() {
    check_environment("", "ABI 1140850688");
}

#[test]
#[ignore = "needs MPICH 5 and mpi4py: scripts/test.sh mpi"]
fn python_with_the_standard_abi_is_traced() {
    check_environment("abi", "ABI 257");
}
