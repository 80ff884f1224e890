//! The kernels of `examples/sim/kernels` on real MPI libraries and on the simulator, and what becomes of programs that
//! go wrong.

mod launched;

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use testkit::launch::{Program, preloaded};

use crate::kernel::n_rounds;
use crate::{done, refused};

/// Each with a number of ranks that it takes.
const KERNELS: [(&str, u32); 9] =
    [("lu", 4), ("mg", 4), ("bt", 4), ("sp", 4), ("cg", 4), ("ft", 3), ("is", 3), ("ep", 2), ("master-worker", 3)];

const LIBRARIES: [&str; 2] = ["openmpi", "mpich"];

const MACHINE: &str = "examples/sim/cluster.toml";

/// A folder with all kernels.
fn built(library: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sim/kernels/build.sh");
    let status = Command::new(build).arg(library).arg(folder.path()).status().unwrap();
    assert!(status.success(), "the kernels do not build with {library}");
    folder
}

#[test]
#[ignore = "needs Open MPI and MPICH: make test"]
fn kernels_check_themselves_and_have_the_same_result_with_both_libraries_and_simulated() {
    let folders = LIBRARIES.map(|library| (library, built(library)));
    let sums = folders.each_ref().map(|(library, folder)| {
        KERNELS.map(|(name, n_ranks)| {
            let file = folder.path().join(name);
            let ended = Program::words(library, &[file.to_str().unwrap()]).run(n_ranks, &["2", "1000"], &[]);
            let line = ended.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
            assert!(ended.is_well && line.contains(": verified, "), "{name}: {}{}", ended.stdout, ended.stderr);
            // What follows is the time.
            line.rsplit_once(", ").unwrap().0.to_owned()
        })
    });
    assert_eq!(sums[0], sums[1]);
    for (library, folder) in &folders {
        let simulated = KERNELS.map(|(name, n_ranks)| {
            let file = folder.path().join(name);
            let n_ranks = n_ranks.to_string();
            let words = ["run", "-n", &n_ranks, "--machine", MACHINE, "--", file.to_str().unwrap(), "2", "1000"];
            let told = done(&words);
            let line = told.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.rsplit_once(", ").unwrap_or_default().0.to_owned()
        });
        assert_eq!(simulated, sums[0], "{library}");
    }
}

/// Each with the ranks that its sizes are of, and the numbers of ranks among which they are cut up.
const WHOLE: [(&str, &str, [u32; 3]); 8] = [
    ("lu", "whole=2", [1, 2, 4]),
    ("mg", "whole=2", [1, 2, 4]),
    ("ft", "whole=2", [1, 2, 4]),
    ("is", "whole=2", [1, 2, 4]),
    ("ep", "whole=2", [1, 2, 4]),
    ("bt", "whole=4", [1, 4, 9]),
    ("sp", "whole=4", [1, 4, 9]),
    ("cg", "whole=4", [1, 4, 16]),
];
/// Kernels whose data are cut up without a trace. The faces of BT and SP and the blocks of CG go by the number of
/// ranks.
const WITHOUT_TRACE: [&str; 5] = ["lu", "mg", "ft", "is", "ep"];

#[test]
#[ignore = "needs Open MPI and MPICH: make test"]
fn kernels_of_a_whole_are_cut_up_among_any_number_of_ranks_that_divides_it() {
    for library in LIBRARIES {
        let folder = built(library);
        for (name, whole, ranks) in WHOLE {
            let file = folder.path().join(name);
            let program = Program::words(library, &[file.to_str().unwrap()]);
            // Faces of BT and SP then divide among 4 and 9 ranks.
            let times = if ["bt", "sp"].contains(&name) { "times=9" } else { "times=2" };
            // Ranks of MPICH spin, and on few cores many of them take seconds.
            let ranks = if library == "mpich" { &ranks[..2] } else { &ranks[..] };
            let sums = ranks.iter().map(|&n_ranks| {
                let ended = program.run(n_ranks, &["1", "1000", whole, times], &[]);
                let line = ended.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
                assert!(ended.is_well && line.contains(": verified, "), "{name} {n_ranks}: {line}{}", ended.stderr);
                line.rsplit_once(", ").unwrap().0.to_owned()
            });
            let sums: Vec<String> = sums.collect();
            if WITHOUT_TRACE.contains(&name) {
                assert!(sums.iter().all(|sum| *sum == sums[0]), "{library}: {sums:?}");
            }
        }
    }
}

/// Nanoseconds of computing on all ranks of a simulated run.
fn computing_ns(file: &Path, n_ranks: u32, words: &[&str]) -> f64 {
    let (n_ranks, result) = (n_ranks.to_string(), file.with_extension("jsonl"));
    let run =
        ["run", "-n", &n_ranks, "--machine", MACHINE, "--compute", "none", "--out", result.to_str().unwrap(), "--"];
    done(&[&run[..], &[file.to_str().unwrap()], words].concat());
    let ranks = done(&["show", result.to_str().unwrap(), "--csv", "sim.rank"]);
    std::fs::remove_file(result).unwrap();
    let mut lines = ranks.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let column = lines.next().unwrap().iter().position(|name| *name == "computing_ns").unwrap();
    lines.map(|cells| cells[column].parse::<f64>().unwrap()).sum()
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn ranks_that_share_a_whole_compute_as_long_together_as_those_that_it_is_of() {
    let folder = built("openmpi");
    for (name, whole, ranks) in WHOLE {
        let times = if ["bt", "sp"].contains(&name) { "times=9" } else { "times=2" };
        let file = folder.path().join(name);
        let all = ranks.map(|n_ranks| computing_ns(&file, n_ranks, &["8", "1000000", whole, times]));
        // Stretches differ from the mean by up to a quarter, each at random.
        assert!(all.iter().all(|one| (one / all[0] - 1.0).abs() < 0.1), "{name}: {all:?}");
    }
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn kernels_whose_sizes_do_not_divide_end_with_what_would() {
    let folder = built("openmpi");
    for (name, n_ranks, words, told) in [
        ("ep", 3, &["whole=2"][..], "ep: 8192 do not divide among 3 parts: use times=3 or whole=3"),
        ("bt", 4, &["whole=1"], "bt: 750 do not divide among 4 parts: use times=2 or whole=4"),
        ("lu", 3, &["whole=2", "times=3", "sleep"], ""),
        ("ft", 3, &["whole=2"], "use times=3 or whole=3"),
        ("cg", 1, &["whole=2"], "whole=2 is no square"),
        ("mg", 2, &["times=3"], "use powers of two"),
        ("is", 1, &["whole=0"], "`whole=0` is no number"),
        ("master-worker", 2, &["times=x"], "`times=x` is no number"),
    ] {
        let file = folder.path().join(name);
        let program = Program::words("openmpi", &[file.to_str().unwrap()]);
        let ended = program.run(n_ranks, &[&["1", "0"], words].concat(), &[]);
        assert_eq!(ended.is_well, told.is_empty(), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{name}: {}", ended.stderr);
    }
}

#[test]
#[ignore = "needs Open MPI and MPICH: make test"]
fn what_each_library_has_of_its_own_is_there_when_it_is_simulated() {
    for (library, source) in LIBRARIES.iter().flat_map(|library| ["faces.c", "faces.f90"].map(|name| (*library, name)))
    {
        let program = Program::compiled(library, &source_of(source));
        let ended = program.run(3, &[], &[]);
        assert!(ended.is_well && ended.stdout.matches("all is well").count() == 3, "{source}: {}", ended.stderr);
        let file = program.folder.path().join("program");
        let [plain, traced] = ["plain.jsonl", "traced.jsonl"].map(|name| program.folder.path().join(name));
        let trace = program.folder.path().join("trace");
        let run = ["run", "-n", "3", "--machine", MACHINE, "--compute", "none"];
        for (result, more) in [(&plain, &[][..]), (&traced, &["--trace", trace.to_str().unwrap()])] {
            let out = ["--out", result.to_str().unwrap(), "--", file.to_str().unwrap()];
            let told = done(&[&run[..], more, &out].concat());
            assert_eq!(told.matches("all is well").count(), 3, "{library} {source}: {told}");
        }
        let times = [&plain, &traced].map(|result| done(&["show", result.to_str().unwrap(), "--csv", "sim.rank"]));
        assert_eq!(times[0], times[1], "a tracer changes no time");
    }
}

#[test]
#[ignore = "needs MPICH: make test"]
fn a_program_for_mpich_that_goes_wrong_ends_as_any_other() {
    let program = Program::compiled("mpich", &source_of("wrong.c"));
    let file = program.folder.path().join("program");
    for (how, wanted) in [
        ("deadlock", "in MPI_Recv at"),
        ("abort", "aborted with status 3"),
        ("collective", "its collective call 2 on this communicator is MPI_B"),
        ("truncate", "it failed: MPI_ERR_TRUNCATE: message truncated"),
        ("file", "MPI_File_open was called, and files are not simulated"),
        ("later", "MPI_Isendrecv was called, and what MPI 4 brought is not simulated"),
    ] {
        let told = refused(1, &["run", "-n", "2", "--machine", MACHINE, "--", file.to_str().unwrap(), how]);
        assert!(told.contains(wanted), "{how}: {told}");
    }
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn tags_of_a_program_that_are_declared_unique_leave_no_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let tags = program(folder.path(), "tags");
    let none = ["--compute", "none"];
    assert!(n_rounds(&folder, "run", &none, &tags) > 0);
    assert_eq!(n_rounds(&folder, "run", &[&none[..], &["--unique-tags"]].concat(), &tags), 0);
}

fn source_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Compiles a program of `tests/programs`.
fn program(folder: &Path, name: &str) -> String {
    let source = source_of(name).with_extension("c");
    let file = folder.join(name);
    assert!(Command::new("mpicc.openmpi").arg("-o").arg(&file).arg(source).status().unwrap().success());
    file.to_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn calls_of_all_kinds_give_what_mpi_says_and_the_same_times_each_run() {
    let folder = tempfile::tempdir().unwrap();
    let calls = program(folder.path(), "calls");
    let results = ["sequential", "nmp", "nmp+cep+det"].map(|protocol| {
        let result = folder.path().join(protocol).with_extension("jsonl").to_str().unwrap().to_owned();
        let setting = ["--compute", "none", "--protocol", protocol, "--out", &result];
        let told = done(&[&["run", "-n", "8", "--machine", MACHINE], &setting[..], &["--", &calls]].concat());
        assert_eq!(told.matches("all is well").count(), 8, "{told}");
        result
    });
    let ranks = results.each_ref().map(|result| done(&["show", result, "--csv", "sim.rank"]));
    assert_eq!(ranks[0].lines().count(), 9);
    assert_eq!(ranks, [&ranks[0]; 3].map(Clone::clone));
    let shown = done(&["show", &results[0]]);
    assert!(shown.contains("8 ranks take ") && shown.contains("MPI_Allreduce by recursivedoubling"), "{shown}");
}

#[test]
#[ignore = "needs Open MPI and mpi4py: make test"]
fn a_program_that_loads_the_library_by_itself_runs_as_it_is() {
    let code = "\
from mpi4py import MPI
world = MPI.COMM_WORLD
all = world.allgather({'rank': world.rank})
assert all == [{'rank': rank} for rank in range(world.size)]
assert MPI.Query_thread() == MPI.THREAD_SERIALIZED and MPI.Is_thread_main()
assert world.Split_type(MPI.COMM_TYPE_SHARED).size == 3
print('all is well')
";
    let told = done(&["run", "-n", "3", "--machine", MACHINE, "--", "/usr/bin/python3", "-c", code]);
    assert_eq!(told.matches("all is well").count(), 3, "{told}");
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn a_program_does_without_functions_that_the_library_lacks() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/mpi-tracer/tests/programs/optional.c");
    let program = Program::compiled("openmpi", &source);
    let file = program.folder.path().join("program");
    let printed = done(&["run", "-n", "2", "--machine", MACHINE, "--", file.to_str().unwrap()]);
    assert_eq!(printed.matches("0 0 0\n").count(), 2, "{printed}");
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn programs_that_go_wrong_end_with_rank_call_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = program(folder.path(), "wrong");
    for (how, wanted) in [
        ("deadlock", "in MPI_Recv at"),
        ("exit", "without MPI_Finalize"),
        ("crash", "ended by signal 6"),
        ("abort", "aborted with status 3"),
        ("collective", "its collective call 2 on this communicator is MPI_B"),
        ("truncate", "it failed: MPI_ERR_TRUNCATE: message truncated"),
        ("root", "is MPI_Bcast with root 1, and that of rank 0 is MPI_Bcast with root 0"),
        ("buffer", "ended with status 33"),
        ("memory", "MPI_Win_allocate_shared was called, and memory that ranks reach without a call is not simulated"),
        ("file", "MPI_File_open was called, and files are not simulated"),
    ] {
        let told = refused(1, &["run", "-n", "2", "--machine", MACHINE, "--", &wrong, how]);
        assert!(told.contains(wanted), "{how}: {told}");
    }
    let result = folder.path().join("deadlock.jsonl").to_str().unwrap().to_owned();
    refused(1, &["run", "-n", "2", "--machine", MACHINE, "--out", &result, "--", &wrong, "deadlock"]);
    assert!(std::fs::read_to_string(&result).unwrap().contains("a message of rank 0 with tag 7"));
    let told = done(&["run", "-n", "2", "--machine", MACHINE, "--", &wrong, "leak"]);
    assert!(told.contains("rank 1 never received a message of rank 0 with tag 5, 4 bytes"), "{told}");
    assert!(told.contains("rank 1: messages never received 1, requests never completed 1"), "{told}");
    let told = done(&["run", "-n", "2", "--machine", MACHINE, "--", &wrong, "fork"]);
    assert!(told.contains("rank 1: processes forked 1, which are not simulated"), "{told}");
}

#[test]
#[ignore = "needs Open MPI and MPICH: make test"]
fn traces_of_real_runs_are_replayed_to_their_end_by_every_protocol() {
    let folder = built("openmpi");
    for (name, n_ranks) in KERNELS {
        let file = folder.path().join(name);
        let program = Program::words("openmpi", &[file.to_str().unwrap()]);
        let ended = program.run(n_ranks, &["2", "1000"], &[("LD_PRELOAD", &preloaded(&["mpi_tracer"]))]);
        assert!(ended.is_well, "{name}: {}{}", ended.stdout, ended.stderr);
        let trace = program.folder.path().join("foretop-trace");
        let words = ["replay", trace.to_str().unwrap(), "--machine", "examples/sim/cluster.toml", "--protocol"];
        let tables = ["sequential", "nmp+cep+det"].map(|protocol| {
            let shown = done(&[&words[..], &[protocol]].concat());
            assert!(shown.contains(&format!("{n_ranks} ranks take ")) && !shown.contains(" never "), "{name}: {shown}");
            // What comes before is of the protocol.
            shown.split_once("\n\nrank ").unwrap().1.to_owned()
        });
        assert_eq!(tables[0], tables[1], "{name}");
    }
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn a_tracer_sees_simulated_time_and_changes_none() {
    let folder = built("openmpi");
    let [kernel, trace, plain, traced, replayed] = ["mg", "trace", "plain.jsonl", "traced.jsonl", "replayed.jsonl"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let times = |words: &[&str], result: &str, program: &[&str]| {
        done(&[words, &["--machine", MACHINE, "--out", result], program].concat());
        done(&["show", result, "--csv", "sim.rank"])
    };
    let run = ["run", "-n", "4", "--compute", "none"];
    let program = ["--", &kernel, "2", "1000"];
    let recorded = times(&[&run[..], &["--trace", &trace]].concat(), &traced, &program);
    assert_eq!(times(&run, &plain, &program), recorded);
    // Between two calls passes what the kernel says that it computes, and its looks at the clock.
    let replayed = times(&["replay", &trace], &replayed, &[]);
    let computing = [&recorded, &replayed].map(|csv| {
        let column = csv.lines().next().unwrap().split(',').position(|name| name == "computing_ns").unwrap();
        let cells = csv.lines().skip(1).map(|line| line.split(',').nth(column).unwrap());
        cells.map(|cell| cell.parse::<u64>().unwrap()).collect::<Vec<_>>()
    });
    let more = computing[1].iter().zip(&computing[0]).map(|(replayed, recorded)| replayed - recorded);
    assert_eq!(more.collect::<Vec<_>>(), [50; 4], "{computing:?}");
}

#[test]
#[ignore = "needs Open MPI: make test"]
fn recorded_compute_times_are_replayed_to_the_nanosecond() {
    let folder = built("openmpi");
    let [kernel, times] = ["lu", "lu.compute"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let run = |n_ranks: &'static str, compute: String, steps: &'static str| {
        ["run", "-n", n_ranks, "--machine", MACHINE, "--compute", &compute, "--", &kernel, steps, "1000"]
            .map(str::to_owned)
    };
    let line = |words: [String; 11]| {
        let told = done(&words.each_ref().map(String::as_str));
        told.lines().find(|line| line.starts_with("lu: verified")).unwrap_or_default().to_owned()
    };
    let recorded = line(run("4", format!("record={times}"), "2"));
    assert!(!recorded.is_empty());
    for _ in 0..2 {
        assert_eq!(line(run("4", format!("replay={times}"), "2")), recorded);
    }
    for (n_ranks, steps, status, told) in [
        ("2", "2", 2, "is of 4 ranks, and not of 2"),
        ("4", "9", 1, "lu+0x"),
        ("4", "1", 1, "compute times were recorded: record them anew"),
    ] {
        let words = run(n_ranks, format!("replay={times}"), steps);
        let error = refused(status, &words.each_ref().map(String::as_str));
        assert!(error.contains(told), "{error}");
    }
}
