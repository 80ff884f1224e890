//! What only root can bring about: memory without room, a processor without a counter that can be trusted.

use std::path::Path;
use std::process::Command;

use mpi_trace::RingKind;
use mpi_trace::file::{Clock, Note};

use crate::program::Program;

/// Where the kernel says what it tells the time by.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Mounts are those of this process alone: whoever runs this has made a namespace for it.
#[track_caller]
fn mount(arguments: &[&str], at: &Path) {
    assert!(Command::new("mount").args(arguments).arg(at).status().unwrap().success(), "mount {arguments:?}");
}

#[test]
#[ignore = "needs root and MPICH: scripts/test.sh root"]
fn without_room_for_a_ring_the_program_runs_on() {
    let program = Program::compiled("mpich", "calls.c");
    let memory = program.folder().join("memory");
    std::fs::create_dir(&memory).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=64k", "none"], &memory);
    let job = memory.join("job");
    let ended = program.run(2, &[], &[("FORETOP_MPI_JOB", job.to_str().unwrap())]);
    let told = ended.stderr;
    assert!(ended.is_well, "{told}");
    let n_told = told.lines().filter(|line| line.starts_with("foretop: nothing more is recorded")).count();
    assert_eq!(n_told, 2, "{told}");
    assert!(told.contains("cannot find room for") && told.contains("No space left on device"), "{told}");
}

#[test]
#[ignore = "needs root and MPICH: scripts/test.sh root"]
fn where_the_kernel_does_not_trust_the_counter_neither_do_records() {
    let program = Program::compiled("mpich", "calls.c");
    let source = program.folder().join("source");
    std::fs::write(&source, "hpet\n").unwrap();
    mount(&["--bind", source.to_str().unwrap()], Path::new(CLOCK_SOURCE));
    program.succeed(2, &[], &[]);
    let unmounted = Command::new("umount").arg(CLOCK_SOURCE).status().unwrap();
    assert!(unmounted.success());
    let trace = program.trace(0);
    let clocks = trace.notes.iter().filter_map(|note| match note {
        Note::Ring(ring) if ring.kind == RingKind::Calls => Some((ring.clock, ring.monotonic_ns)),
        _ => None,
    });
    let [(clock, made_ns)] = clocks.collect::<Vec<_>>()[..] else { panic!("one thread") };
    assert_eq!(clock, Clock::Monotonic);
    let (_, events) = trace.events.first_key_value().unwrap();
    // The ring was made when `MPI_Init` was over.
    let [_init, later @ ..] = &events[..] else { panic!("a program calls MPI_Init") };
    assert!(later.len() > 30 && later.iter().all(|event| event.end >= event.start && event.start > made_ns));
}
