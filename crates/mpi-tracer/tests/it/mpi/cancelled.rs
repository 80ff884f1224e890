//! Receives that are called off.

use mpi_trace::{Matching, Timeline};

use crate::program::Program;

/// In C and Fortran.
const SOURCES: [&str; 2] = ["cancel.c", "cancel.f90"];

/// Six messages that come in are matched, and the receives that were called off are not among those without a message.
#[track_caller]
fn check_cancelled(library: &'static str, sources: &[&str]) {
    for source in sources {
        let program = Program::compiled(library, source);
        program.succeed(2, &[], &[]);
        let recordings = mpi_job::read(&program.folder().join("foretop-trace")).unwrap();
        let matching = Matching::of(&Timeline::of(&recordings));
        let unmatched = (matching.n_unreceived, matching.n_unsent, matching.n_contradicted);
        assert_eq!((matching.messages.len(), unmatched), (6, (0, 0, 0)), "{library}, {source}");
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn receives_that_are_called_off_shift_no_message_of_open_mpi() {
    check_cancelled("openmpi", &SOURCES);
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn receives_that_are_called_off_shift_no_message_of_mpich() {
    check_cancelled("mpich", &SOURCES);
}

#[test]
#[ignore = "needs MPICH 5: scripts/test.sh mpi"]
fn receives_that_are_called_off_shift_no_message_of_the_standard_abi() {
    check_cancelled("standard", &SOURCES[..1]);
}
