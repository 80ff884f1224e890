//! What programs get from calls over trees, with both libraries, and that the rest goes its way as ever.

mod analyzed;
mod site;

use std::os::unix::fs::PermissionsExt;

use mpi_tree::{Between, FanIn, Grain, Host, Layout, Order, Shape, Wake};

use crate::program::{Program, forest};

const COLL: &[&str] = &["mpi_coll"];

fn hosts(n_hosts: u32, n_each: u32) -> Vec<Host> {
    let host = |host: u32| Host {
        name: format!("h{host}"),
        cluster: Some(format!("c{}", host % 2)),
        ranks: (host * n_each..(host + 1) * n_each).collect(),
    };
    (0..n_hosts).map(host).collect()
}

fn layout() -> Layout {
    Layout {
        shape: Shape::Binomial,
        grain: Grain::Host,
        inside: None,
        between: Between::Reduce,
        order: Order::Fixed,
        wake: Wake::Both,
    }
}

/// The program compares each call with the library's own.
#[track_caller]
fn check_agrees(program: &Program, hosts: &[Host], layout: &Layout, [n_rounds, n_communicators]: [&str; 2]) {
    program.write("trees.toml", &forest(0, hosts, layout));
    let n_ranks = hosts.iter().map(|host| host.ranks.len() as u32).sum();
    let ended = program.run(n_ranks, COLL, &[n_rounds, n_communicators], &[]);
    assert!(ended.is_well && ended.stderr.is_empty(), "{layout:?}: {}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("ranks agree"), "{}", ended.stdout);
    let report = program.report(0);
    for operation in ["allreduce", "barrier", "bcast", "gather", "reduce", "scatter"] {
        assert!(report.contains(&format!("\"operation\":\"{operation}\",\"size_bytes\"")), "{operation}: {report}");
    }
    assert!(report.contains("other ranks than MPI_COMM_WORLD"), "{report}");
}

/// With two ranks, and with four where `n_each` is 2.
#[track_caller]
fn check_layouts(library: &'static str, n_each: u32, amount: [&str; 2]) {
    let program = Program::compiled(library, "agree.c");
    for (n_hosts, layout) in [
        (1, layout()),
        (2, Layout { grain: Grain::Rank, ..layout() }),
        (2, Layout { between: Between::AllToAll, wake: Wake::Futex, ..layout() }),
    ] {
        check_agrees(&program, &hosts(n_hosts, n_each * 2 / n_hosts), &layout, amount);
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn calls_over_trees_agree_with_open_mpi() {
    check_layouts("openmpi", 2, ["20", "1000"]);
}

// Its ranks do not let others run while they wait, so that each comparison takes milliseconds where ranks share
// processors.
#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn calls_over_trees_agree_with_mpich() {
    check_layouts("mpich", 1, ["10", "40"]);
}

#[test]
#[ignore = "needs MPICH 5: scripts/test.sh mpi"]
fn calls_over_trees_agree_with_the_standard_abi() {
    check_layouts("standard", 1, ["10", "40"]);
}

#[track_caller]
fn check_shapes(library: &'static str) {
    let program = Program::compiled(library, "agree.c");
    for (n_ranks, shape) in [(8, Shape::Flat), (16, Shape::Binomial), (8, Shape::KWay(FanIn::new(2).unwrap()))] {
        let layout = Layout { shape, inside: FanIn::new(2), ..layout() };
        check_agrees(&program, &hosts(4, n_ranks / 4), &layout, ["1", "2"]);
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn each_shape_agrees_with_open_mpi_at_8_and_16_ranks() {
    check_shapes("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn each_shape_agrees_with_mpich_at_8_and_16_ranks() {
    check_shapes("mpich");
}

#[track_caller]
fn check_fortran(library: &'static str) {
    let program = Program::compiled(library, "sums.f90");
    program.write("trees.toml", &forest(0, &hosts(2, 1), &layout()));
    let ended = program.run(2, COLL, &[], &[]);
    assert!(ended.is_well && ended.stdout.contains("all sums are right"), "{}{}", ended.stdout, ended.stderr);
    let report = program.report(1);
    for counted in
        ["\"calls\":3,\"epoch\":0,\"operation\":\"allreduce\"", "\"calls\":2,\"epoch\":0,\"operation\":\"bcast\""]
    {
        assert!(report.contains(counted), "{counted}: {report}");
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn calls_from_fortran_are_taken_with_open_mpi() {
    check_fortran("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn calls_from_fortran_are_taken_with_mpich() {
    check_fortran("mpich");
}

/// Ranks of one call name different functions. Open MPI 4 has no counts of 64 bits.
#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn counts_of_32_and_64_bits_meet_in_one_call() {
    for (source, operations) in [
        ("counts.c", ["allreduce", "bcast", "gather", "reduce", "scatter"].as_slice()),
        ("counts.f90", &["allreduce", "bcast"]),
    ] {
        let program = Program::compiled("mpich", source);
        program.write("trees.toml", &forest(0, &hosts(2, 1), &layout()));
        let ended = program.run(2, COLL, &[], &[]);
        assert!(ended.is_well && ended.stdout.contains("all is right"), "{}{}", ended.stdout, ended.stderr);
        let report = program.report(1);
        for operation in operations {
            let taken = format!("{{\"calls\":50,\"epoch\":0,\"operation\":\"{operation}\"");
            assert!(report.contains(&taken), "{operation}: {report}");
        }
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn in_either_order_with_the_tracer_calls_are_recorded_once_and_taken() {
    let program = Program::compiled("openmpi", "agree.c");
    program.write("trees.toml", &forest(0, &hosts(2, 1), &layout()));
    let mut reports = Vec::new();
    for preloaded in [["mpi_coll", "mpi_tracer"], ["mpi_tracer", "mpi_coll"]] {
        let ended = program.run(2, &preloaded, &["3", "40"], &[]);
        assert!(ended.is_well && ended.stderr.is_empty(), "{}{}", ended.stdout, ended.stderr);
        reports.push((n_calls(&program), program.report(0).lines().count()));
    }
    assert!(reports[0].0 > 1000, "{reports:?}");
    assert_eq!(reports[0], reports[1]);
}

/// Calls that rank 0's trace file has of all operations.
fn n_calls(program: &Program) -> usize {
    let entries = std::fs::read_dir(program.folder().join("foretop-trace")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.to_str().unwrap().ends_with(".0.ftrace")).expect("the tracer left a file");
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = mpi_trace::file::Reader::new(file).unwrap();
    let mut n_calls = 0;
    while let Some(part) = reader.part().unwrap() {
        if let mpi_trace::file::Part::Events { events, .. } = part {
            n_calls += events.iter().filter(|event| matches!(event.subject, mpi_trace::Subject::Call { .. })).count();
        }
    }
    n_calls
}

/// Puts a second file in force while the program makes calls of one operation.
#[track_caller]
fn check_epochs(library: &'static str, operation: &str) {
    let program = Program::compiled(library, "epochs.c");
    program.write("trees.toml", &forest(1, &hosts(2, 1), &layout()));
    let next = program.write("next.toml", &forest(2, &hosts(1, 2), &layout()));
    let job = program.folder().join("job");
    let job = job.to_str().unwrap();
    let ended = program.run(2, COLL, &[next.to_str().unwrap(), operation], &[("FORETOP_MPI_JOB", job)]);
    assert!(ended.is_well && ended.stderr.is_empty(), "{}{}", ended.stdout, ended.stderr);
    let epochs = |rank| {
        let report = program.report(rank);
        let each = report.lines().filter(|line| line.contains(&format!("\"operation\":\"{operation}\"")));
        // Both begin with how many calls, and say of which epoch.
        each.map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
    };
    assert!(epochs(0).len() == 2 && epochs(0)[1].contains("\"epoch\":2"), "{:?}", epochs(0));
    assert_eq!(epochs(0), epochs(1), "ranks changed at different calls");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn another_tree_comes_into_force_on_all_ranks_while_the_program_sums() {
    check_epochs("openmpi", "allreduce");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn another_tree_comes_into_force_in_a_program_that_only_broadcasts() {
    check_epochs("mpich", "bcast");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn another_tree_comes_into_force_in_a_program_that_only_reduces() {
    check_epochs("openmpi", "reduce");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn a_file_for_another_job_is_told_once_and_the_program_runs() {
    let program = Program::compiled("openmpi", "agree.c");
    let ended = program.run(2, COLL, &["1", "1"], &[]);
    assert!(ended.is_well && ended.stderr.contains("trees.toml`: No such file"), "{}", ended.stderr);
    program.write("trees.toml", &forest(0, &hosts(2, 2), &layout()));
    let ended = program.run(2, COLL, &["1", "1"], &[]);
    assert!(ended.is_well && ended.stdout.contains("ranks agree"), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("no call goes over a tree") && ended.stderr.contains("4 ranks"), "{}", ended.stderr);
}

/// Runs `trouble.c`, four ranks on two hosts.
fn trouble(library: &'static str) -> Program {
    let program = Program::compiled(library, "trouble.c");
    program.write("trees.toml", &forest(0, &hosts(2, 2), &layout()));
    program
}

/// Without a limit of time: ranks that wait for ever are seen by whoever waits for this test.
#[track_caller]
fn check_dead_rank(library: &'static str) {
    let program = trouble(library);
    for (how, who) in [("kill", "1"), ("kill", "2"), ("exit", "0")] {
        let ended = program.run(4, COLL, &[how, who], &[]);
        // MPICH's launcher takes a rank that exits without a word for one that is done, with or without us.
        assert!(!ended.is_well || (how, library) == ("exit", "mpich"), "{how} {who}: {}", ended.stderr);
        assert!(!ended.stdout.contains("right"), "{how} {who}: {}{}", ended.stdout, ended.stderr);
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn a_rank_that_dies_in_a_call_ends_the_job_under_open_mpi() {
    check_dead_rank("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn a_rank_that_dies_in_a_call_ends_the_job_under_mpich() {
    check_dead_rank("mpich");
}

#[track_caller]
fn check_no_room(library: &'static str) {
    let program = trouble(library);
    let stale = program.folder().join("job/coll-0-0-0.seg");
    for (who, what, way) in [
        ("0", "calls go to the MPI library", "\"reason\":\"no room in shared memory\""),
        ("1", "stages are not recorded", "\"tree\":\"all\""),
    ] {
        // What a dead job left under the same name is of another size.
        std::fs::create_dir_all(stale.parent().unwrap()).unwrap();
        std::fs::set_permissions(stale.parent().unwrap(), std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::write(&stale, [7; 4096]).unwrap();
        let job = stale.parent().unwrap().to_str().unwrap();
        let ended = program.run(4, COLL, &["full", who], &[("FORETOP_MPI_JOB", job)]);
        assert!(ended.is_well && ended.stdout == "all is right\n", "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.starts_with(&format!("foretop: {what}: cannot find room for ")), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        for rank in 0..4 {
            let report = program.report(rank);
            assert!(report.lines().count() == 1 && report.contains(way), "rank {rank}: {report}");
        }
        assert!(!stale.exists());
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn without_room_all_ranks_do_without_under_open_mpi() {
    check_no_room("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn without_room_all_ranks_do_without_under_mpich() {
    check_no_room("mpich");
}

/// Bytes that the ranks of a host share: the goal is a megabyte for the tree, and another for what it records.
#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn eight_ranks_of_a_host_share_two_megabytes() {
    let program = Program::compiled("openmpi", "start.c");
    program.write("trees.toml", &forest(0, &hosts(1, 8), &Layout { shape: Shape::Flat, ..layout() }));
    let ended = program.run(8, COLL, &["maps"], &[]);
    let bytes: Vec<u64> = ended.stdout.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [segments, ring_of_one] = bytes[..] else { panic!("{}{}", ended.stdout, ended.stderr) };
    assert!((500_000..=1_000_000).contains(&segments), "{segments}");
    assert!((500_000..=1_000_000).contains(&(8 * ring_of_one)), "{ring_of_one}");
}

#[track_caller]
fn check_threads(library: &'static str) {
    let program = trouble(library);
    let ended = program.run(4, COLL, &["threads"], &[]);
    assert!(ended.is_well && ended.stdout == "all is right\n", "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
    let report = program.report(3);
    assert!(report.contains("\"calls\":900") && !report.contains("reason"), "{report}");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn threads_call_on_communicators_of_their_own_under_open_mpi() {
    check_threads("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn threads_call_on_communicators_of_their_own_under_mpich() {
    check_threads("mpich");
}

#[track_caller]
fn check_large(library: &'static str) {
    let program = Program::compiled(library, "trouble.c");
    program.write("trees.toml", &forest(0, &hosts(2, 1), &layout()));
    let ended = program.run(2, COLL, &["large"], &[]);
    assert!(ended.is_well && ended.stdout == "all is right\n", "{}{}", ended.stdout, ended.stderr);
    let report = program.report(0);
    assert!(report.contains("{\"calls\":1,\"operation\":\"bcast\",\"reason\":\"too large\"}"), "{report}");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn two_gibibytes_go_to_open_mpi() {
    check_large("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn two_gibibytes_go_to_mpich() {
    check_large("mpich");
}
