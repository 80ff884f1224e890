//! `foretop mpi` with the real programs, of both MPI libraries, under their launchers.
//!
//! `scripts/test.sh` builds the programs and says where they are in `FORETOP_MPI_TESTED`: a folder for each library.

mod traced;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mpi_job::{Folder, RingFile};
use mpi_trace::{Cursor, RingHeader, RingKind};
use mpi_tree::Forest;
use testkit::{PATIENCE, launch, wait_until};

use crate::command::{Ended, end_of, foretop, run};

/// The shortest run of each program that says anything.
const RUNS: [(&str, &[&str]); 4] = [
    ("ace", &["-n", "2", "--load", "50", "--size", "4KiB", "--iterations", "20", "--quick"]),
    ("comb", &["-n", "2", "--quick", "--size", "1KiB", "--method", "pww", "--cycles", "7"]),
    ("miniapp", &["gsum", "-n", "2", "--calls", "100"]),
    ("noise", &["-n", "2", "--work", "1ms", "--time", "200ms"]),
];

fn programs(library: &str) -> PathBuf {
    let tested = std::env::var_os("FORETOP_MPI_TESTED").expect("scripts/test.sh says where the programs are");
    PathBuf::from(tested).join(library).join("debug")
}

fn mpi(library: &str, arguments: &[&str]) -> Ended {
    end_of(foretop().env("FORETOP_MPI_PROGRAMS", programs(library)).args(["mpi"]).args(arguments))
}

#[track_caller]
fn check_runs(library: &str) {
    for (name, arguments) in RUNS {
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("result.jsonl");
        let result = result.to_str().unwrap();
        let ended = mpi(library, &[&[name], arguments, &["--mpi", library, "--quiet", "--out", result]].concat());
        assert_eq!(ended.status, 0, "{name}: {}\n{}", ended.stdout, ended.stderr);

        let shown = run(&["mpi", "show", result]).output();
        assert_eq!(shown.trim_end(), ended.stdout.trim_end(), "{name}");

        let drawn = run(&["mpi", "plot", result]).output();
        assert!(drawn.lines().count() > 0, "{name} has no pictures");
        for path in drawn.lines() {
            let picture = std::fs::read_to_string(path).unwrap();
            assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{path}");
        }
    }
}

#[test]
#[ignore = "needs the programs for Open MPI: scripts/test.sh builds them"]
fn open_mpi_runs_are_shown_and_drawn() {
    check_runs("openmpi");
}

#[test]
#[ignore = "needs the programs for MPICH: scripts/test.sh builds them"]
fn mpich_runs_are_shown_and_drawn() {
    check_runs("mpich");
}

/// Who is late and by how much: by more than the other rank waits for a core where tests run side by side.
const LATE: &str = "1:40ms";

/// Makes a tree, runs sums over it of which a rank is late on purpose, and asks for the culprit.
#[track_caller]
fn check_late_rank_is_found(library: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (tree, traces) = (path("tree.toml"), path("traces"));
    run(&["mpi", "tree", "make", "--ranks", "2", "--epoch", "1", "--out", &tree]).output();
    let program = programs(library).join("foretop-miniapp");
    let sums = ["gsum", "--calls", "50", "--straggler", LATE, "--quiet"];
    let launch = ["trace", "-n", "2", "--tree", &tree, "--out", &traces, "--", program.to_str().unwrap()];
    let ended = mpi(library, &[&launch[..], &sums].concat());
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("traced 2 of 2 ranks") && ended.stderr.contains("none lost"), "{}", ended.stderr);

    let taken = std::fs::read_to_string(path("traces/coll-0.jsonl")).unwrap();
    assert!(taken.lines().any(|line| line.contains("\"allreduce\"") && line.contains("\"tree\":\"tree\"")), "{taken}");
    let told = run(&["mpi", "analyze", &traces]).output();
    let (_, last) = told.split_once("last to arrive").expect("who was last");
    assert!(last.lines().nth(1).is_some_and(|line| line.starts_with("rank 1 ")), "{told}");
}

#[test]
#[ignore = "needs the programs for Open MPI: scripts/test.sh builds them"]
fn a_late_rank_under_open_mpi_is_found() {
    check_late_rank_is_found("openmpi");
}

#[test]
#[ignore = "needs the programs for MPICH: scripts/test.sh builds them"]
fn a_late_rank_under_mpich_is_found() {
    check_late_rank_is_found("mpich");
}

/// Records that were ever written to some of a job's rings.
fn n_records(job: &Path, is_wanted: impl Fn(&RingHeader) -> bool) -> u64 {
    let rings = Folder::open(job).and_then(|folder| folder.rings()).unwrap_or_default();
    let written = |ring: RingFile| {
        let mut records = Vec::new();
        ring.ring().read(&mut Cursor::default(), usize::MAX, &mut records) + records.len() as u64
    };
    rings.into_iter().flatten().filter(|ring| is_wanted(&ring.header)).map(written).sum()
}

/// Lets a program that waits for this file end, also when a check fails.
struct Stop<'a>(&'a str);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        std::fs::write(self.0, "").expect("the program's folder is there");
    }
}

/// Changes the tree and the level of a job while it runs, and lets it be adapted.
#[track_caller]
fn check_changes_while_it_runs(library: &'static str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sum_until.c");
    let program = launch::Program::compiled(library, &source);
    let path = |name: &str| program.folder.path().join(name).to_str().unwrap().to_owned();
    let (tree, next, job, stop) = (path("tree.toml"), path("next.toml"), path("job"), path("stop"));
    let make = ["mpi", "tree", "make", "--ranks", "4", "--epoch", "1"];
    run(&[&make[..], &["--out", &tree]].concat()).output();
    run(&[&make[..], &["--inside", "2", "--out", &next]].concat()).output();
    let preloaded = launch::preloaded(&["mpi_tracer", "mpi_coll"]);
    let environment = [("LD_PRELOAD", preloaded.as_str()), ("FORETOP_MPI_TREE", &tree), ("FORETOP_MPI_JOB", &job)];
    let wait_for = |what: &str, condition: &dyn Fn() -> bool| {
        wait_until(what, PATIENCE, || condition().then_some(()));
    };
    let count = |kind| n_records(Path::new(&job), |header| header.kind == kind);
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| program.run(4, &[&stop], &environment));
        let until_checked = Stop(&stop);
        wait_for("stages are recorded", &|| count(RingKind::Stages) > 0);

        run(&["mpi", "tree", "apply", &next, &job]).output();
        let applied = Forest::parse(&std::fs::read_to_string(path("job/tree.toml")).unwrap()).unwrap();
        assert_eq!(applied.epoch, 2);
        let of_next = || n_records(Path::new(&job), |header| header.tree == applied.id_of(0));
        wait_for("the tree is in use", &|| of_next() > 0);

        run(&["mpi", "trace", "level", &job, "calls"]).output();
        let after = |n_calls| {
            let from = count(RingKind::Calls);
            wait_for("the program goes on", &|| count(RingKind::Calls) > from + n_calls);
            count(RingKind::Stages)
        };
        // Each rank may be in a call that it began before.
        assert_eq!(after(40), after(400), "stages are recorded at the level of calls");
        run(&["mpi", "trace", "level", &job, "trees"]).output();
        let before = count(RingKind::Stages);
        wait_for("stages are recorded again", &|| count(RingKind::Stages) > before);

        let told = run(&["mpi", "tree", "adapt", &job, "--every", "300ms"]).output();
        // Whether there is something to try depends on what took how long.
        assert!(told.contains("nothing is left to try; a call takes "), "{told}");

        drop(until_checked);
        let ended = ended.join().unwrap();
        assert!(ended.is_well && ended.stdout == "all is right\n", "{}{}", ended.stdout, ended.stderr);
    });
    let taken = |rank: u32| {
        let lines = std::fs::read_to_string(path(&format!("foretop-trace/coll-{rank}.jsonl"))).unwrap();
        // How many calls, and over trees of which epoch.
        lines.lines().map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
    };
    assert!(taken(0).len() >= 2, "{:?}", taken(0));
    (1..4).for_each(|rank| assert_eq!(taken(rank), taken(0), "ranks changed trees at different calls"));
}

#[test]
#[ignore = "needs Open MPI: scripts/test.sh mpi"]
fn trees_and_levels_change_while_a_program_runs() {
    check_changes_while_it_runs("openmpi");
}

/// Runs sums over a tree of which a rank is late on purpose, and watches who comes last meanwhile.
#[track_caller]
fn check_late_rank_is_watched(library: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (tree, traces) = (path("tree.toml"), path("traces"));
    run(&["mpi", "tree", "make", "--ranks", "2", "--epoch", "1", "--out", &tree]).output();
    let sums = programs(library).join("foretop-miniapp");
    let mut command = foretop();
    command.args(["mpi", "trace", "-n", "2", "--tree", &tree, "--out", &traces, "--", sums.to_str().unwrap()]);
    command.args(["gsum", "--calls", "1000000", "--straggler", LATE, "--quiet"]);
    let mut program = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = format!("trace-{:x}-", program.id());
    // The first 50 warm up, and nobody is late in them.
    let n_calls_min = 150;
    let told = wait_until("calls were watched", PATIENCE, || {
        let jobs = run(&["mpi", "trace", "jobs"]).stdout;
        let job = jobs.lines().find_map(|line| line.split(' ').next().filter(|job| job.starts_with(&begin)))?;
        let watch = ["mpi", "watch", job, "--monitor", "load-balance", "--once", "--json"];
        let told: serde_json::Value = serde_json::from_str(&run(&watch).stdout).ok()?;
        (told["result"][0]["n_calls"].as_u64()? >= n_calls_min).then_some(told)
    });
    assert!(Command::new("kill").args(["-INT", &program.id().to_string()]).status().unwrap().success());
    program.wait().unwrap();
    assert_eq!(told["result"][0]["last"][0]["from"], "rank 1", "{told}");
}

#[test]
#[ignore = "needs the programs for Open MPI: scripts/test.sh builds them"]
fn a_late_rank_is_named_while_it_runs() {
    check_late_rank_is_watched("openmpi");
}

#[test]
#[ignore = "needs the programs for Open MPI: scripts/test.sh builds them"]
fn a_study_of_trees_is_made_once_and_then_only_shown() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let study = |pairs: &str| {
        let words =
            ["study", "trees", "--quick", "-n", "2", "--rounds", "1", "--pairs", pairs, "--mpi", "openmpi", "--out"];
        mpi("openmpi", &[&words[..], &[out.to_str().unwrap()]].concat())
    };
    let first = study("1");
    assert_eq!(first.status, 0, "{}\n{}", first.stdout, first.stderr);
    for told in ["57", "the MPI library, yielding", "flat over hosts, waiting by futex", "Table 3", "four trees"] {
        assert!(first.stdout.contains(told), "{told} is not in: {}", first.stdout);
    }
    let report = std::fs::read_to_string(out.join("report.md")).unwrap();
    let pathmap = "topology-1-4b-first-pathmap.svg";
    assert!(report.contains(&format!("]({pathmap})")) && out.join(pathmap).exists(), "{report}");

    let again = study("1");
    assert!(again.stderr.contains("0 runs are left") && !again.stderr.contains("pairs are left"), "{}", again.stderr);
    assert_eq!(again.stdout, first.stdout);
    study("2").check_failed(2, "of a study with other settings");
}

#[test]
#[ignore = "needs the programs for Open MPI: scripts/test.sh builds them"]
fn a_study_of_sites_is_made_once_and_then_only_shown() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let study = |iterations: &str| {
        let words = ["study", "wan", "--quick", "--iterations", iterations, "--mpi", "openmpi", "--out"];
        mpi("openmpi", &[&words[..], &[out.to_str().unwrap()]].concat())
    };
    let first = study("5");
    assert_eq!(first.status, 0, "{}\n{}", first.stdout, first.stderr);
    let line = |start: &str| {
        let found = first.stdout.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("{start} is not in: {}", first.stdout))
    };
    // No answer comes before what it needs has crossed the WAN, twice or once.
    let iteration_ms = |start: &str| {
        let cells: Vec<&str> = line(start).split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        cells[4].strip_suffix(" ms").unwrap_or_else(|| panic!("{cells:?}")).parse::<f64>().unwrap()
    };
    assert!(iteration_ms("sequential") >= 64.0 && iteration_ms("all to all (worst case)") >= 59.0);
    // In the best case only the last one of 20 needs anything.
    let results = std::fs::read_to_string(out.join("study.jsonl")).unwrap();
    let of_best = results.lines().filter(|line| line.contains("wan.answered") && line.contains(r#""case":"best""#));
    assert_eq!(of_best.filter(|line| line.contains(r#""calls":20"#) && line.contains(r#""local":19"#)).count(), 5);
    assert!(line("random       Blade").contains("4388 of 15015 (29.2 %)"));
    line("constant  383.8 s");
    line("of the WAN, noise could hide at most");
    let report = std::fs::read_to_string(out.join("report.md")).unwrap();
    let latencies = "latency-conditional-frosty.svg";
    assert!(report.contains(&format!("]({latencies})")) && out.join(latencies).exists(), "{report}");

    let again = study("5");
    assert!(again.stderr.contains("0 runs are left"), "{}", again.stderr);
    assert_eq!(again.stdout, first.stdout);
    study("6").check_failed(2, "of a study with other settings");
}

#[test]
#[ignore = "needs the programs for MPICH: scripts/test.sh builds them"]
fn a_program_of_another_library_is_not_started() {
    // With nothing in PATH, no other program than the one in this folder can be found, nor any launcher.
    let mut command = foretop();
    command.env("FORETOP_MPI_PROGRAMS", programs("mpich")).env("PATH", "");
    let ended = end_of(command.args(["mpi", "ace", "--mpi", "openmpi"]));
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.contains("openmpi"), "{}", ended.stderr);
}

#[test]
fn words_for_the_launcher_are_checked() {
    for (words, told) in [(["-n", "0"], "`0` is not a number of ranks"), (["--mpi", "lam"], "openmpi or mpich")] {
        let ended = run(&[&["mpi", "comb"], &words[..]].concat());
        assert_eq!(ended.status, 2);
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn a_file_of_something_else_is_no_result() {
    for command in ["show", "plot"] {
        let ended = run(&["mpi", command, "Cargo.toml"]);
        assert_eq!(ended.status, 1);
        assert!(ended.stderr.contains("Cargo.toml, line 1:"), "{}", ended.stderr);
    }
}

#[test]
#[ignore = "needs Open MPI and MPICH: make test"]
fn a_kernel_of_either_library_answers_alike_at_all_ratios_with_ranks_that_sleep() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sim/kernels/build.sh");
    for library in ["openmpi", "mpich"] {
        let folder = tempfile::tempdir().unwrap();
        assert!(Command::new(&kernels).arg(library).arg(folder.path()).status().unwrap().success());
        let mut command = foretop();
        command.env("FORETOP_MPI_PROGRAMS", programs(library)).current_dir(&folder);
        command.args(["mpi", "overdecompose", "--wait", "block", "--processors", "1", "--ratios", "1,2"]);
        command.args(["--repeat", "2", "--answer", "verified, sum ([0-9a-fA-F]+)", "--time", r"([0-9.]+) s\n"]);
        command.args(["--", "./ft", "2", "100000", "spin", "whole=2"]);
        let ended = end_of(&mut command);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        assert!(ended.stdout.starts_with(&format!("MPI: {library}")), "{}", ended.stdout);
        let of_two = ended.stdout.lines().find(|line| line.starts_with("2:1")).unwrap();
        assert_eq!(of_two.split_whitespace().take(3).collect::<Vec<_>>(), ["2:1", "2", "2"], "{}", ended.stdout);
        assert!(!ended.stdout.contains("Runs that do not count"), "{}", ended.stdout);
    }
}
