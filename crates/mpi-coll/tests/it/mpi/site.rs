//! What programs get from conditional allreduces, and of long messages between sites, with both libraries.

use std::path::Path;

use mpi_tree::{Between, Grain, Host, Layout, Order, Shape, Wake};
use testkit::launch;

use crate::program::{Program, forest};

const COLL: &[&str] = &["mpi_coll"];

/// Two clusters with two hosts each where there are four ranks.
fn hosts(n_ranks: u32, is_cyclic: bool) -> Vec<Host> {
    let cluster = |rank: u32| if is_cyclic { rank % 2 } else { rank * 2 / n_ranks };
    let host =
        |rank| Host { name: format!("h{rank}"), cluster: Some(format!("c{}", cluster(rank))), ranks: vec![rank] };
    (0..n_ranks).map(host).collect()
}

fn layout(between: Between) -> Layout {
    let (shape, grain, order) = (Shape::Binomial, Grain::Host, Order::Fixed);
    Layout { shape, grain, inside: None, between, order, wake: Wake::Both }
}

/// A program that is linked with the library, and needs no tree file.
#[track_caller]
fn check_linked(library: &'static str, source: &str, n_ranks: u32, arguments: &[&str], settings: &str) -> String {
    let ours = std::env::current_exe().unwrap().parent().unwrap().to_str().unwrap().to_owned();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let include = root.join("../../include");
    let flags = [
        format!("-I{}", include.display()),
        format!("-L{ours}"),
        "-lmpi_coll".into(),
        format!("-Wl,-rpath,{ours}"),
        "-lm".into(),
    ];
    let program = launch::Program::linked(library, &root.join("tests/programs").join(source), &flags);
    let path = program.folder.path().join("conditional.toml");
    std::fs::write(&path, settings).unwrap();
    let ended = program.run(n_ranks, arguments, &[("FORETOP_MPI_CONDITIONAL", path.to_str().unwrap())]);
    assert!(ended.is_well && ended.stdout.contains("answers are right"), "{}{}", ended.stdout, ended.stderr);
    std::fs::read_to_string(program.folder.path().join("foretop-trace/conditional-0.jsonl")).unwrap()
}

#[track_caller]
fn check_condar(library: &'static str, n_ranks: u32) {
    let settings = "format = 1\ncheck = 7\npatience = \"300ms\"\n";
    let report = check_linked(library, "condar.c", n_ranks, &["with-faults"], settings);
    let of_solves = report.lines().next().unwrap();
    assert!(of_solves.contains("\"cluster\":\"0\"") && of_solves.contains("\"differing\":0"), "{report}");
    assert!(!of_solves.contains("\"checked\":0") && !of_solves.contains("\"local\":0"), "{report}");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn conditional_allreduces_answer_and_fail_as_they_should_with_open_mpi() {
    check_condar("openmpi", 4);
    check_linked("openmpi", "condar.f90", 2, &[], "format = 1\n");
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn conditional_allreduces_answer_and_fail_as_they_should_with_mpich() {
    check_condar("mpich", 2);
    check_linked("mpich", "condar.f90", 2, &[], "format = 1\n");
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn sums_that_a_file_names_are_conditional_in_a_program_that_knows_nothing_of_it() {
    let program = Program::compiled("openmpi", "named.c");
    program.write("trees.toml", &forest(0, &hosts(4, false), &layout(Between::AllToAll)));
    let plain = program.run(4, &[], &[], &[]);
    assert!(plain.is_well && plain.stdout.matches("none partial").count() == 4, "{}{}", plain.stdout, plain.stderr);
    let call = "[[call]]\noperation = \"sum\"\nsign = \"nonnegative\"\ncondition = \"greater\"\nconstant = 0.01\n";
    let path = program.folder().join("conditional.toml");
    std::fs::write(&path, format!("format = 1\n{call}")).unwrap();
    let named = [("FORETOP_MPI_CONDITIONAL", path.to_str().unwrap())];
    let conditional = program.run(4, COLL, &[], &named);
    assert!(conditional.is_well && conditional.stderr.is_empty(), "{}{}", conditional.stdout, conditional.stderr);
    assert_eq!(conditional.stdout.matches("some of them partial").count(), 4, "{}", conditional.stdout);
    let n_sums = |stdout: &str| stdout.split(' ').nth(2).map(str::to_owned);
    assert_eq!(n_sums(&conditional.stdout), n_sums(&plain.stdout));
    // Of all sums of the program, conditional ones and those before and after, each collector has written.
    let traced = program.run(4, &["mpi_coll", "mpi_tracer"], &[], &named);
    assert!(traced.is_well, "{}{}", traced.stdout, traced.stderr);
    let recordings = mpi_job::read(&program.folder().join("foretop-trace")).unwrap();
    let analysis = mpi_analysis::analyzers(&recordings).unwrap()[0].analysis();
    let counts = std::fs::read_to_string(program.folder().join("foretop-trace/conditional-0.jsonl")).unwrap();
    let counts: serde_json::Value = serde_json::from_str(counts.lines().next().unwrap()).unwrap();
    assert!(analysis.operations["MPI_Allreduce"] >= counts["calls"].as_u64().unwrap(), "{:?}", analysis.operations);
    assert_eq!((analysis.n_incomplete, analysis.n_disordered, analysis.n_strangers), (0, 0, 0));
    std::fs::write(&path, format!("format = 1\n{}", call.replace("nonnegative", "any"))).unwrap();
    let refused = program.run(4, COLL, &[], &named);
    assert!(refused.is_well && refused.stdout.matches("none partial").count() == 4, "{}", refused.stdout);
    assert_eq!(refused.stderr.matches("no allreduce is conditional").count(), 1, "{}", refused.stderr);
}

/// The program compares each call with the library's own.
#[track_caller]
fn check_large(library: &'static str, n_ranks: u32) {
    let program = Program::compiled(library, "large.c");
    for (between, is_cyclic) in [(Between::AllToAll, false), (Between::AllToAll, true), (Between::Reduce, false)] {
        program.write("trees.toml", &forest(0, &hosts(n_ranks, is_cyclic), &layout(between)));
        let ended = program.run(n_ranks, COLL, &[], &[]);
        assert!(ended.is_well && ended.stdout.contains("ranks agree"), "{between:?}: {}{}", ended.stdout, ended.stderr);
        for operation in ["allreduce", "bcast", "reduce"] {
            let taken = format!("{{\"calls\":6,\"epoch\":0,\"operation\":\"{operation}\"");
            assert!(program.report(0).contains(&taken), "{operation}: {}", program.report(0));
        }
    }
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn long_messages_go_between_sites_with_open_mpi() {
    check_large("openmpi", 4);
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn long_messages_go_between_sites_with_mpich() {
    check_large("mpich", 2);
}

/// The shortest sums between two sites that are 10 ms apart: of 8 bytes, and of 160 kB, which are 12.8 ms on the wire.
#[track_caller]
fn check_far(library: &'static str, n_ranks: u32) {
    let program = Program::compiled(library, "far.c");
    let link = "latency = \"10ms\"\nbandwidth = \"100 Mbit/s\"\n";
    let sites = format!(
        "format = 1\n[[site]]\nname = \"c0\"\nhosts = [\"x\"]\n[[site]]\nname = \"c1\"\nhosts = [\"y\"]\n\
        [[link]]\nfrom = \"c0\"\nto = \"c1\"\n{link}[[link]]\nfrom = \"c1\"\nto = \"c0\"\n{link}"
    );
    let path = program.folder().join("sites.toml");
    let far = [("FORETOP_MPI_WAN", path.to_str().unwrap())];
    for (between, n_ways) in [(Between::AllToAll, 1.0), (Between::Reduce, 2.0)] {
        program.write("trees.toml", &forest(0, &hosts(n_ranks, false), &layout(between)));
        std::fs::write(&path, &sites).unwrap();
        let ended = program.run(n_ranks, COLL, &[], &far);
        assert!(ended.is_well && ended.stderr.is_empty(), "{between:?}: {}{}", ended.stdout, ended.stderr);
        let shortest: Vec<f64> = ended.stdout.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [short, long] = shortest[..] else { panic!("{}", ended.stdout) };
        assert!(short >= 10_000.0 * n_ways && long >= 10_000.0 * n_ways + 12_800.0, "{between:?}: {}", ended.stdout);
    }
    std::fs::write(&path, sites.replace("c1", "c2")).unwrap();
    let refused = program.run(n_ranks, COLL, &[], &far);
    assert!(refused.is_well, "{}", refused.stderr);
    assert_eq!(refused.stderr.matches("no call goes over a tree").count(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("sites.toml`: no site has the host"), "{}", refused.stderr);
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn messages_between_sites_of_one_machine_are_never_early_with_open_mpi() {
    check_far("openmpi", 4);
}

#[test]
#[ignore = "needs MPICH: scripts/test.sh mpi"]
fn messages_between_sites_of_one_machine_are_never_early_with_mpich() {
    check_far("mpich", 2);
}
