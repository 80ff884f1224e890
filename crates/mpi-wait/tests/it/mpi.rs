//! Programs get from waiting ranks what they get from the library alone, and ranks that wait take no time.

use std::os::unix::fs::DirBuilderExt;

use mpi_job::{Access, ConcurrencyFile, Folder};
use mpi_trace::{Subject, WaitKind, WaitMode};
use mpi_tree::{Between, Forest, Grain, Host, Layout, Order, Rule, Shape, Tree, Wake};

use serde_json::Value;

use crate::program::{WaitedProgram, call};

const MODES: [&str; 3] = ["library", "yield", "block"];
/// Calls of `answers.c` whose numbers are the same on all ranks.
const COUNTED: [(&str, u64); 5] =
    [("MPI_Waitsome", 0), ("MPI_Sendrecv", 12), ("MPI_Mprobe", 3), ("MPI_Alltoallw", 3), ("MPI_Scan", 3)];

/// The program checks each answer itself.
#[track_caller]
fn check_answers(library: &'static str, source: &str, n_ranks: u32, modes: &[&str]) -> WaitedProgram {
    let program = WaitedProgram::compiled(library, source);
    for mode in modes {
        let ended = program.succeed(n_ranks, mode, &[]);
        assert!(ended.stdout.contains("all is right"), "{mode}: {}", ended.stdout);
    }
    program
}

#[track_caller]
fn check_c(library: &'static str, n_ranks: u32) {
    let program = check_answers(library, "answers.c", n_ranks, &MODES);
    for rank in 0..n_ranks {
        let report = program.report(rank);
        assert_eq!((&report[0]["mode"], &report[0]["rank"]), (&"block".into(), &rank.into()));
        for (name, n_calls) in COUNTED {
            let counted = &call(&report, name).unwrap()["calls"];
            assert!(n_calls == 0 || counted == n_calls, "{name}: {counted}");
        }
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn answers_statuses_and_errors_are_those_of_open_mpi() {
    check_c("openmpi", 4);
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn answers_statuses_and_errors_are_those_of_mpich() {
    check_c("mpich", 3);
}

#[test]
#[ignore = "needs MPICH 5: scripts/test.sh mpi"]
fn answers_statuses_and_errors_are_those_of_the_standard_abi() {
    check_c("standard", 3);
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn programs_in_fortran_get_answers_of_open_mpi() {
    for source in ["answers.f90", "answers_f08.f90"] {
        let program = check_answers("openmpi", source, 3, &["block"]);
        assert_eq!(call(&program.report(0), "MPI_Recv").unwrap()["calls"], 6, "{source}");
    }
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn programs_in_fortran_get_answers_of_mpich() {
    for source in ["answers.f90", "answers_f08.f90"] {
        let program = check_answers("mpich", source, 3, &["block"]);
        assert_eq!(call(&program.report(0), "MPI_Recv").unwrap()["calls"], 6, "{source}");
    }
}

/// All ranks but one wait in each kind of call, while that one computes.
#[track_caller]
fn check_idle(library: &'static str) {
    let program = WaitedProgram::compiled(library, "waiting.c");
    program.succeed(8, "block", &["400"]);
    for rank in 0..8 {
        let report = program.report(rank);
        let totals = report.last().unwrap();
        let seconds = |key: &str| totals[key].as_f64().unwrap();
        let run = seconds("run_seconds");
        assert!(run > 4.0 * 0.4, "{totals}");
        let marks: Vec<&Value> = report.iter().filter(|object| !object["level"].is_null()).collect();
        assert!(marks.len() == 5 && marks.iter().zip(0..).all(|(mark, level)| mark["level"] == level), "{marks:?}");
        assert!(marks.is_sorted_by_key(|mark| mark["run_seconds"].as_f64().unwrap()));
        let levels = &totals["tlp_seconds"];
        if rank == 0 {
            assert!(seconds("blocked_seconds") < 0.5 * run, "{totals}");
            let levels: Vec<f64> = levels.as_array().unwrap().iter().map(|level| level.as_f64().unwrap()).collect();
            let sum: f64 = levels.iter().sum();
            assert!((sum - run).abs() < 1e-6 && levels.len() == 9, "{levels:?} are not {run}");
            assert!(levels[1] > 0.5 * run, "{levels:?}, {run}");
        } else {
            let taken = seconds("user_seconds") + seconds("system_seconds");
            assert!(taken < 0.01 * run, "rank {rank} took {taken} of {run}");
            assert!(levels.is_null() && seconds("blocked_seconds") > 0.5 * run, "{totals}");
        }
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn seven_ranks_that_wait_take_no_time_under_open_mpi() {
    check_idle("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn seven_ranks_that_wait_take_no_time_under_mpich() {
    check_idle("mpich");
}

#[track_caller]
fn check_dead(library: &'static str) {
    let program = WaitedProgram::compiled(library, "killed.c");
    std::fs::DirBuilder::new().mode(0o700).create(program.job()).unwrap();
    let ended = program.run(2, &["mpi_wait"], &[], &[("FORETOP_MPI_WAIT", "block")]);
    assert!(!ended.is_well, "{}", ended.stdout);
    let file = ConcurrencyFile::open(&Folder::open(&program.job()).unwrap(), Access::Read).unwrap();
    let page = file.page().unwrap();
    assert_eq!((page.n_ranks(), page.header().mode), (2, WaitMode::Block));
    assert_eq!((page.state(0).kind, page.state(0).awaited), (WaitKind::Receiving, Some(1)));
    assert_eq!(file.dead().unwrap(), [1]);
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn a_rank_that_is_killed_while_it_runs_is_found_under_open_mpi() {
    check_dead("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn a_rank_that_is_killed_while_it_runs_is_found_under_mpich() {
    check_dead("mpich");
}

#[track_caller]
fn check_threads(library: &'static str) {
    check_answers(library, "threads.c", 2, &["block"]);
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn several_threads_wait_under_open_mpi() {
    check_threads("openmpi");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn several_threads_wait_under_mpich() {
    check_threads("mpich");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn ranks_bind_themselves_to_the_cores_that_are_asked_for() {
    let program = WaitedProgram::compiled("openmpi", "waiting.c");
    let two = std::thread::available_parallelism().unwrap().get().min(2);
    for (placing, expected) in [("blocked", [0, 0, 1, 1]), ("cyclic", [0, 1, 0, 1])] {
        let settings = [("FORETOP_MPI_PROCESSORS", two.to_string()), ("FORETOP_MPI_PLACING", placing.to_owned())];
        let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
        let ended = program.run(4, &["mpi_wait"], &["1"], &settings);
        assert!(ended.is_well && ended.stderr.is_empty(), "{}", ended.stderr);
        let on: Vec<u64> = (0..4).map(|rank| program.report(rank)[0]["processor"].as_u64().unwrap()).collect();
        // The cores may have any numbers.
        let is_second: Vec<bool> = on.iter().map(|core| *core != on[0]).collect();
        assert_eq!(is_second, expected.map(|at| two == 2 && at == 1), "{placing}: {on:?}");
    }
    let ended = program.run(2, &["mpi_wait"], &["1"], &[("FORETOP_MPI_PROCESSORS", "2000")]);
    assert!(ended.is_well && ended.stderr.contains("FORETOP_MPI_PROCESSORS: ranks of this host may use"));
    assert_eq!((ended.stderr.lines().count(), &program.report(1)[0]["processor"]), (1, &Value::Null));
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn a_mode_that_is_not_there_is_named_once_and_the_program_runs() {
    let program = WaitedProgram::compiled("mpich", "waiting.c");
    let ended = program.run(2, &["mpi_wait"], &["1"], &[("FORETOP_MPI_WAIT", "spin")]);
    assert!(ended.is_well && ended.stderr.contains("`spin`") && ended.stderr.lines().count() == 1, "{}", ended.stderr);
    assert_eq!(program.report(0)[0]["mode"], "library");
}

/// Reductions, messages of objects and matched probes of a program that nobody here compiled.
#[test]
#[ignore = "needs Open MPI and mpi4py: scripts/test.sh mpi"]
fn a_program_in_python_gets_its_answers() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/answers.py");
    let program = WaitedProgram::words("openmpi", &["/usr/bin/python3", path.to_str().unwrap()]);
    let ended = program.succeed(3, "block", &[]);
    assert!(ended.stdout.contains("all is right"), "{}", ended.stdout);
}

/// Relaxation of a grid that is the same on any number of ranks. `scripts/test.sh` builds the program.
#[track_caller]
fn check_sor(library: &'static str) {
    let tested = std::env::var_os("FORETOP_MPI_TESTED").expect("scripts/test.sh says where the programs are");
    let path = std::path::PathBuf::from(tested).join(library).join("debug/foretop-miniapp");
    let program = WaitedProgram::words(library, &[path.to_str().unwrap()]);
    let mut sums = Vec::new();
    for (n_ranks, preloaded, mode) in
        [(2, [].as_slice(), "library"), (2, &["mpi_wait"], "yield"), (4, &["mpi_wait"], "block")]
    {
        let arguments = ["sor", "--points", "60", "--iterations", "40", "--format", "json"];
        let ended = program.run(n_ranks, preloaded, &arguments, &[("FORETOP_MPI_WAIT", mode)]);
        assert!(ended.is_well, "{mode}: {}{}", ended.stdout, ended.stderr);
        let of_sor = ended.stdout.lines().find(|line| line.contains("miniapp.sor")).unwrap();
        sums.push(serde_json::from_str::<Value>(of_sor).unwrap()["checksum"].clone());
    }
    assert!(sums.iter().all(|sum| sum.is_string() && *sum == sums[0]), "{sums:?}");
}

#[test]
#[ignore = "needs the programs for Open MPI: scripts/test.sh mpi"]
fn relaxation_has_the_same_checksum_under_open_mpi() {
    check_sor("openmpi");
}

#[test]
#[ignore = "needs the programs for MPICH: scripts/test.sh mpi"]
fn relaxation_has_the_same_checksum_under_mpich() {
    check_sor("mpich");
}

/// A tree file for ranks of one host.
fn trees(n_ranks: u32) -> String {
    let hosts = [Host { name: "h0".into(), cluster: None, ranks: (0..n_ranks).collect() }];
    let layout = Layout {
        shape: Shape::Binomial,
        grain: Grain::Rank,
        inside: None,
        between: Between::Reduce,
        order: Order::Fixed,
        wake: Wake::Futex,
    };
    let rule = Rule { operation: None, bytes_max: None, tree: 0 };
    let trees = vec![Tree::make("all", &hosts, &layout)];
    Forest { epoch: 0, hosts: hosts.to_vec(), trees, rules: vec![rule] }.to_text()
}

/// Number of calls that the tracer recorded on a rank.
fn n_recorded(program: &WaitedProgram, rank: u32) -> usize {
    let end = format!(".{rank}.ftrace");
    let mut paths =
        std::fs::read_dir(program.folder().join("foretop-trace")).unwrap().map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.to_str().unwrap().ends_with(&end)).expect("the tracer left a file");
    let mut reader = mpi_trace::file::Reader::new(std::io::BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    let mut n_calls = 0;
    while let Some(part) = reader.part().unwrap() {
        if let mpi_trace::file::Part::Events { events, .. } = part {
            n_calls += events.iter().filter(|event| matches!(event.subject, Subject::Call { .. })).count();
        }
    }
    n_calls
}

#[track_caller]
fn check_between(library: &'static str, source: &str) {
    let program = WaitedProgram::compiled(library, source);
    let file = program.folder().join("trees.toml");
    std::fs::write(&file, trees(3)).unwrap();
    let settings = [
        ("FORETOP_MPI_WAIT", "block"),
        ("FORETOP_MPI_TREE", file.to_str().unwrap()),
        ("FORETOP_MPI_EMULATED_HOSTS", "1"),
        ("FORETOP_MPI_RING", "65536"),
    ];
    let ended = program.run(3, &["mpi_tracer", "mpi_wait", "mpi_coll"], &[], &settings);
    assert!(ended.is_well && ended.stderr.is_empty(), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("all is right"), "{}", ended.stdout);
    let report = program.report(1);
    let n_counted: u64 = report.iter().filter_map(|object| object["calls"].as_u64()).sum();
    // Init and Finalize are not counted.
    assert_eq!(n_recorded(&program, 1) as u64, n_counted + 2);
    let trees = std::fs::read_to_string(program.folder().join("foretop-trace/coll-1.jsonl")).unwrap();
    assert!(trees.contains("\"tree\":\"all\"") && trees.contains("\"operation\":\"allreduce\""), "{trees}");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn between_tracer_and_trees_each_call_is_recorded_and_counted_once_under_open_mpi() {
    check_between("openmpi", "answers.c");
    check_between("openmpi", "answers.f90");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn between_tracer_and_trees_each_call_is_recorded_and_counted_once_under_mpich() {
    check_between("mpich", "answers.c");
    check_between("mpich", "answers_f08.f90");
}
