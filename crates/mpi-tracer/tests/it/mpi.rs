//! What is recorded of programs in C, Fortran and Python, with both libraries, to the last call.

mod cancelled;

use mpi_job::Folder;
use mpi_trace::file::Note;
use mpi_trace::{Drain, Matching, Operation, Recording, Subject, Timeline};

use crate::program::{Program, Trace, trace_file};

/// Of `calls.c`, before and after what both ranks do.
const CALLS_OF_EACH: [&str; 2] = [
    "\
Send [0,1] 1 tag 5 24 B
Send [0,1] 1 tag 70000
Isend [0,1] 1 tag 6 8 B
Wait [0,1]
Send [0,1] 1 tag 8 5 B
",
    "\
Recv [0,1] 0 tag 5 24 B
Recv [0,1] 0 tag 70000
Irecv [0,1] any tag 6 16 B
Wait [0,1]
Mprobe [0,1] 0 tag 8
Mrecv [0,1] 0 tag 8 5 B
",
];
const CALLS_OF_BOTH: &str = "\
Iprobe [SELF] any tag 99
Sendrecv [0,1] OTHER tag 1 4 B
+ Recv [0,1] OTHER tag 1 4 B
Send [0,1] null tag 0 8589934592 B
Send [0,1] null tag 0 16 B
Barrier [0,1]
Bcast [0,1] 1 32 B
Allreduce [0,1] 8 B
Reduce [0,1] 0 16 B
Allgather [0,1] 16 B
Gather [0,1] 0 6 B
Scatterv [0,1] 0 SCATTERED B
Alltoallv [SELF] 1 B
Reduce_scatter_block [0,1] 32 B
Ibarrier [0,1]
Waitall [0,1]
Comm_split [0,1]
Comm_dup [0,1]
Barrier [0,1]
Barrier [SELF]
Comm_free [SELF]
Comm_free [0,1]
Win_create [0,1]
Win_fence [0,1]
Put [0,1] OTHER 4 B
Win_fence [0,1]
Win_free [0,1]
Send [0,1] 77 tag 5 failed
Finalize [0,1]
";

#[track_caller]
fn check_calls(library: &'static str) {
    let program = Program::compiled(library, "calls.c");
    program.succeed(2, &[], &[]);
    for (rank, own) in (0..).zip(CALLS_OF_EACH) {
        let words = [("SELF", rank), ("OTHER", 1 - rank), ("SCATTERED", if rank == 0 { 16 } else { 24 })];
        let expected =
            words.iter().fold(CALLS_OF_BOTH.to_owned(), |text, (word, number)| text.replace(word, &number.to_string()));
        let trace = program.trace(rank);
        assert_eq!(
            trace.text(),
            format!("Init [0,1]\nPcontrol [0,1] tag 7\n{own}{expected}"),
            "rank {rank}, {library}"
        );
        assert_eq!(trace.n_lost, 0);
    }
    check_names(&program.trace(0), &program.trace(1));
}

/// Ranks give the same name to the same communicator, and others to all others.
#[track_caller]
fn check_names(one: &Trace, other: &Trace) {
    let names = |trace: &Trace, is_shared: bool| -> Vec<u64> {
        let communicators = trace.notes.iter().filter_map(|note| match note {
            Note::Communicator(known) if (known.ranks.len() == 2) == is_shared => Some(known.id),
            _ => None,
        });
        communicators.collect()
    };
    let mut shared = names(one, true);
    assert_eq!(shared, names(other, true));
    shared.extend(names(one, false).iter().chain(&names(other, false)));
    // The world and its copy; each rank's own and its half.
    assert_eq!(shared.len(), 6);
    shared.sort_unstable();
    shared.dedup();
    assert_eq!(shared.len(), 6);
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn open_mpi_calls_of_c() {
    check_calls("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn mpich_calls_of_c() {
    check_calls("mpich");
}

#[test]
#[ignore = "needs MPICH 5: scripts/test.sh mpi"]
fn standard_abi_calls_of_c() {
    check_calls("standard");
}

/// Of `parts.c`. A line with a plus is a part of the call before it.
const CALLS_WITH_PARTS: &str = "\
Init [0,1]
Sendrecv [0,1] OTHER tag OWN_TAG 4 B
+ Recv [0,1] OTHER tag OTHER_TAG 4 B
Sendrecv_replace [0,1] OTHER tag 3 8 B
+ Recv [0,1] null tag -1
Recv [0,1] OTHER tag 3 8 B
Ssend_init [0,1] OTHER tag 5 4 B
Recv_init [0,1] any tag 5 16 B
Send_init [0,1] null tag 6 4 B
ROUND
ROUND
Request_free [0,1]
Send_init [0,1] null tag 7 3 B
Start [0,1]
+ Isend [0,1] null tag 7 3 B
Wait [0,1]
";
const ROUND: &str = "\
Startall [0,1]
+ Issend [0,1] OTHER tag 5 4 B
+ Irecv [0,1] any tag 5 16 B
+ Isend [0,1] null tag 6 4 B
Waitall [0,1]";
const COLLECTIVE_PARTS: &str = "\
Allreduce_init [0,1] 4 B
Start [0,1]
+ Iallreduce [0,1] 4 B
Wait [0,1]
Request_free [0,1]
";

/// By MPI 4 alone, and by rank.
const PARTITIONS: [&str; 2] = [
    "\
Psend_init [0,1] 1 tag 12 24 B
Start [0,1]
+ Isend [0,1] 1 tag 12 24 B
Pready_range [0,1]
Wait [0,1]
Request_free [0,1]
",
    "\
Precv_init [0,1] 0 tag 12 24 B
Start [0,1]
+ Irecv [0,1] 0 tag 12 24 B
Wait [0,1]
Request_free [0,1]
",
];
const EXCHANGES: &str = "\
Isendrecv [0,1] OTHER tag 10 4 B
+ Irecv [0,1] OTHER tag 10 4 B
Wait [0,1]
Isendrecv_replace [0,1] OTHER tag 11 8 B
+ Irecv [0,1] any tag 11 8 B
Wait [0,1]
";

#[track_caller]
fn check_parts(library: &'static str, is_mpi_4: bool) {
    let program = Program::compiled(library, "parts.c");
    program.succeed(2, &[], &[]);
    for rank in 0..2 {
        let other = 1 - rank;
        let words = [
            ("ROUND", ROUND),
            ("OWN_TAG", &(1 + rank).to_string()),
            ("OTHER_TAG", &(1 + other).to_string()),
            ("OTHER", &other.to_string()),
        ];
        let both = words.iter().fold(CALLS_WITH_PARTS.to_owned(), |text, (word, with)| text.replace(word, with));
        let own = if rank == 0 { "Send [0,1] 1 tag 8 4 B\n" } else { "Imrecv [0,1] 0 tag 8 8 B\nWait [0,1]\n" };
        let of_mpi_4 = EXCHANGES.replace("OTHER", &other.to_string()) + PARTITIONS[rank as usize];
        let of_mpi_4 = if is_mpi_4 { &of_mpi_4 } else { "" };
        let text = program.trace(rank).text();
        // Rank 1 asks until it is told of the message.
        let is_probe = |line: &&str| line.starts_with("Improbe [0,1]") || line.starts_with("Probe [0,1]");
        let without: String = text.lines().filter(|line| !is_probe(line)).map(|line| format!("{line}\n")).collect();
        assert_eq!(
            without,
            format!("{both}{own}{of_mpi_4}{COLLECTIVE_PARTS}Finalize [0,1]\n"),
            "rank {rank}, {library}"
        );
        assert!(rank == 0 || text.contains("Improbe [0,1] 0 tag 8\n"), "{text}");
    }
    let folder = program.folder().join("foretop-trace");
    let recordings = [0, 1].map(|rank| {
        let file = std::fs::File::open(trace_file(&folder, rank)).unwrap();
        Recording::read(std::io::BufReader::new(file)).unwrap().remove(0)
    });
    let matching = Matching::of(&Timeline::of(&recordings));
    assert_eq!(matching.messages.len(), 2 + 2 + 4 + 1 + if is_mpi_4 { 2 + 2 + 1 } else { 0 });
    assert_eq!((matching.n_unreceived, matching.n_unsent, matching.n_contradicted), (0, 0, 0));
    assert_eq!(matching.meetings.len(), 1);
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn open_mpi_parts_of_calls_are_recorded_and_matched() {
    check_parts("openmpi", false);
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn mpich_parts_of_calls_are_recorded_and_matched() {
    check_parts("mpich", true);
}

#[track_caller]
fn check_fortran(library: &'static str) {
    let own = ["Send [0,1] 1 tag 5 24 B", "Recv [0,1] 0 tag 5 24 B"];
    for source in ["calls.f", "calls.f90", "calls_f08.f90"] {
        let program = Program::compiled(library, source);
        program.succeed(2, &[], &[]);
        for (rank, own) in (0..).zip(own) {
            let expected = format!(
                "Init [0,1]\nPcontrol [0,1] tag 7\n{own}\nIrecv [0,1] null tag 4 8 B\nWait [0,1]\n\
                 Send_init [0,1] null tag 9 8 B\nStart [0,1]\n+ Isend [0,1] null tag 9 8 B\nWait [0,1]\n\
                 Sendrecv [0,1] {rank} tag 2 4 B\n+ Recv [0,1] {rank} tag 2 4 B\nAllreduce [0,1] 16 B\n\
                 Barrier [{rank}]\nFinalize [0,1]\n"
            );
            assert_eq!(program.trace(rank).text(), expected, "{source}, rank {rank}, {library}");
        }
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn open_mpi_calls_of_fortran() {
    check_fortran("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn mpich_calls_of_fortran() {
    check_fortran("mpich");
}

#[test]
#[ignore = "needs Open MPI and mpi4py: scripts/test.sh mpi"]
fn calls_of_python() {
    let code = "\
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.send({'any': 'object'}, dest=1, tag=3)
else:
    world.recv(source=MPI.ANY_SOURCE)
world.Barrier()
";
    // Debian's own, for which its package is.
    let program = Program::words("openmpi", &["/usr/bin/python3", "-c", code]);
    program.succeed(2, &[], &[]);
    let [sent, received] = [0, 1].map(|rank| program.trace(rank).text());
    assert!(sent.contains("Send [0,1] 1 tag 3") && sent.contains("Barrier") && sent.contains("Finalize"), "{sent}");
    // The library asks how long the object is before it makes room for it.
    assert!(received.contains("Mprobe [0,1] 0 tag 3\nMrecv [0,1] 0 tag 3 "), "{received}");
}

#[track_caller]
fn check_many(library: &'static str) {
    let program = Program::compiled(library, "many.c");

    program.succeed(1, &["threads"], &[]);
    let trace = program.trace(0);
    assert_eq!([10, 11, 12, 13].map(|tag| trace.n_with_tag(tag)), [100; 4]);
    // Threads that follow each other share a ring.
    assert!((2..=3).contains(&trace.events.len()), "{} rings", trace.events.len());

    program.succeed(1, &["communicators"], &[]);
    let trace = program.trace(0);
    let n = |operation| trace.events[&0].iter().filter(|event| event.operation == operation).count();
    assert_eq!([n(Operation::COMM_DUP), n(Operation::COMM_FREE), n(Operation::BARRIER)], [3000, 3000, 3]);
    let n_defined = trace.notes.iter().filter(|note| matches!(note, Note::Communicator(_))).count();
    assert_eq!(n_defined, 2 + 3, "those that nothing is called on need no definition");

    program.succeed(1, &["calls"], &[("FORETOP_MPI_RING", "32")]);
    let trace = program.trace(0);
    let tags: Vec<i32> = trace.events[&0]
        .iter()
        .filter_map(|event| match event.subject {
            Subject::Call { tag, .. } => tag,
            Subject::Part { .. } | Subject::Stage { .. } => None,
        })
        .collect();
    // 102 records were written: the oldest of 32 may have been about to be overwritten.
    assert_eq!((tags, trace.n_lost), ((70..100).collect(), 71));

    program.succeed(1, &["calls"], &[("FORETOP_MPI_LEVEL", "off")]);
    assert_eq!(program.trace(0).text(), "");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn open_mpi_threads_communicators_and_full_rings() {
    check_many("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn mpich_threads_communicators_and_full_rings() {
    check_many("mpich");
}

#[track_caller]
fn check_ends(library: &'static str) {
    for end in ["exit", "abort"] {
        let program = Program::compiled(library, "many.c");
        program.run(1, &[end], &[]);
        let text = program.trace(0).text();
        assert_eq!(text.lines().count(), 101 + usize::from(end == "abort"), "{end}, {library}: {text}");
        assert!(end != "abort" || text.ends_with("Abort [0]\n"), "{text}");
    }

    let program = Program::compiled(library, "many.c");
    let job = program.folder().join("job");
    program.run(1, &["kill"], &[("FORETOP_MPI_JOB", job.to_str().unwrap())]);
    assert!(!program.folder().join("foretop-trace").exists(), "nobody could have written it");
    let folder = Folder::open(&job).unwrap();
    assert!(!folder.is_alive().unwrap());
    let ring = folder.rings().unwrap().pop().unwrap().unwrap();
    let mut events = Vec::new();
    assert_eq!((Drain::new(ring.ring()).take(1000, &mut events), events.len()), (0, 101));
    assert_eq!(folder.definitions().unwrap()[0].1.lines().count(), 5, "head, offset, kernel and two communicators");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn open_mpi_programs_that_end_early() {
    check_ends("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn mpich_programs_that_end_early() {
    check_ends("mpich");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn a_tracer_that_cannot_record_says_so_and_the_program_runs_on() {
    let program = Program::compiled("mpich", "calls.c");
    let ended = program.run(2, &[], &[("FORETOP_MPI_JOB", "/proc/none/such")]);
    let told = ended.stderr;
    assert!(ended.is_well, "{told}");
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("foretop: nothing more is recorded")).collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains("/proc/none/such"), "{told}");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn counts_of_64_bits() {
    let program = Program::compiled("mpich", "large.c");
    program.succeed(1, &[], &[]);
    assert_eq!(program.trace(0).text(), "Init [0]\nSend [0] null tag 1 24000000000 B\nFinalize [0]\n");
}

#[track_caller]
fn check_optional(library: &'static str) {
    let plugin = Program::linked(library, "optional.c", &["-shared", "-fPIC"]);
    let load = format!("import ctypes; ctypes.CDLL('{}').main()", plugin.folder().join("program").display());
    let plugged = Program::words(library, &["/usr/bin/python3", "-c", &load]);
    for program in [Program::compiled(library, "optional.c"), plugged] {
        let own = program.run_under(&[], 1, &[], &[]).stdout;
        for preloaded in [&["mpi_tracer"][..], &["mpi_wait"], &["mpi_coll"], &["mpi_tracer", "mpi_wait", "mpi_coll"]] {
            let ended = program.run_under(preloaded, 1, &[], &[]);
            assert!(ended.is_well, "{library} {preloaded:?}: {}", ended.stderr);
            assert_eq!((ended.stdout, ended.stderr), (own.clone(), String::new()), "{library} {preloaded:?}");
        }
        assert_eq!(program.trace(0).text(), "Init [0]\nSend [0] null tag 1 8 B\nFinalize [0]\n", "{library}");
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn programs_find_no_function_that_open_mpi_has_not() {
    check_optional("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn programs_find_all_functions_that_mpich_has() {
    check_optional("mpich");
}
