//! `foretop sim kernel`.

use std::path::PathBuf;
use std::process::Command;

use crate::{done, refused, sim};

fn compiled(folder: &tempfile::TempDir, code: &str) -> String {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (source, kernel) = (folder.path().join("kernel.c"), folder.path().join("kernel.so"));
    std::fs::write(&source, code).unwrap();
    let status = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-O1", "-shared", "-fPIC", "-I", "examples/sim/user", "-o"])
        .args([&kernel, &source])
        .current_dir(root)
        .status();
    assert!(status.unwrap().success());
    kernel.to_str().unwrap().to_owned()
}

#[test]
fn a_kernel_runs_on_more_ranks_than_there_could_be_processes() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(&folder, include_str!("../../../../examples/sim/user/ring.c"));
    let shown = done(&["kernel", "-n", "2000", "--machine", "examples/sim/dragonfly.toml", "--", &kernel, "3"]);
    assert!(shown.contains("2000 ranks take ") && shown.contains("; 6000 messages, "), "{shown}");
}

#[test]
fn collective_calls_give_what_mpi_says() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(&folder, include_str!("../programs/collectives.c"));
    for n_ranks in ["1", "2", "7", "16"] {
        let told = done(&["kernel", "-n", n_ranks, "--machine", "examples/sim/cluster.toml", "--", &kernel]);
        for algorithm in ["MPI_Scan by recursive-doubling", "MPI_Gatherv by linear", "MPI_Scatter by binomial"] {
            assert!(told.contains(algorithm), "{told}");
        }
    }
}

#[test]
fn the_machine_file_names_algorithms_of_single_calls() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(&folder, include_str!("../programs/collectives.c"));
    let file = folder.path().join("machine.toml");
    let machine = include_str!("../../../../examples/sim/cluster.toml");
    let table = "[[collective]]\ncall = 'scatter'\nalgorithm = 'linear'\n";
    std::fs::write(&file, format!("{machine}\n{table}")).unwrap();
    let words = ["kernel", "-n", "7", "--machine", file.to_str().unwrap(), "--", &kernel];
    let told = done(&words);
    assert!(told.contains("MPI_Scatter by linear") && told.contains("MPI_Gather by binomial"), "{told}");
    assert!(told.contains("scatter by linear; else MPICH's, by its rules"), "{told}");
    std::fs::write(&file, format!("{machine}\n{}", table.replace("linear", "ring"))).unwrap();
    let told = refused(2, &words);
    assert!(told.contains("`scatter` has no algorithm `ring`: write linear, binomial"), "{told}");
}

#[test]
fn calls_go_over_the_trees_of_a_file_beside_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(&folder, include_str!("../programs/collectives.c"));
    let (file, trees) = (folder.path().join("machine.toml"), folder.path().join("tree.toml"));
    let machine = include_str!("../../../../examples/sim/cluster.toml");
    let table = |call| format!("[[collective]]\ncall = '{call}'\nalgorithm = 'tree.toml'\n");
    std::fs::write(&file, format!("{machine}\n{}{}", table("scatter"), table("gather"))).unwrap();
    let text = "format = 1\n[[host]]\nname = 'a'\nranks = '0-2'\n[[host]]\nname = 'b'\nranks = '3-6'\n\
                [[tree]]\nname = 'all'\n[[tree.node]]\nname = 'of-b'\nhost = 'b'\ncontributors = ['3-6']\n\
                [[tree.node]]\nname = 'top'\nhost = 'a'\ncontributors = ['0-2', 'of-b']\n\
                [[rule]]\noperation = '*'\ntree = 'all'\n";
    std::fs::write(&trees, text).unwrap();
    let words = |n_ranks| ["kernel", "-n", n_ranks, "--machine", file.to_str().unwrap(), "--", &kernel];
    let told = done(&words("7"));
    assert!(told.contains("MPI_Scatter by tree") && told.contains("MPI_Gather by tree"), "{told}");
    assert!(told.contains("scatter by tree.toml; gather by tree.toml; else MPICH's"), "{told}");
    let told = refused(2, &words("8"));
    assert!(told.contains("the tree file `tree.toml` of `scatter` does not fit"), "{told}");
    std::fs::remove_file(&trees).unwrap();
    let told = refused(2, &words("7"));
    assert!(told.contains("cannot read the tree file `tree.toml` of `scatter`: No such file"), "{told}");
}

#[test]
fn a_kernel_in_rust_runs_as_one_in_c_does() {
    let folder = tempfile::tempdir().unwrap();
    let [in_c, in_rust] = ["kernel.so", "ring.so"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    compiled(&folder, include_str!("../../../../examples/sim/user/ring.c"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sim/user/ring.rs");
    let built = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args(["--edition", "2024", "--crate-type", "cdylib", "-C", "panic=abort", "-O", "-o", &in_rust, source])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run =
        |kernel: &str| done(&["kernel", "-n", "200", "--machine", "examples/sim/dragonfly.toml", "--", kernel, "3"]);
    assert!(run(&in_c).contains("; 600 messages, "));
    let told = run(&in_rust);
    assert!(told.contains("MPI_Allreduce by recursive-doubling"), "{told}");
}

#[test]
fn tags_that_are_declared_unique_leave_no_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(&folder, include_str!("../programs/tags.c"));
    assert!(n_rounds(&folder, "kernel", &[], &kernel) > 0);
    assert_eq!(n_rounds(&folder, "kernel", &["--unique-tags"], &kernel), 0);
}

/// Rounds of the protocol that a program takes.
pub fn n_rounds(folder: &tempfile::TempDir, command: &str, more: &[&str], program: &str) -> u64 {
    let result = folder.path().join(format!("rounds{}.jsonl", more.len())).to_str().unwrap().to_owned();
    let words = [command, "-n", "5", "--machine", "examples/sim/cluster.toml", "--protocol", "nmp+cep+det"];
    done(&[&words[..], more, &["--out", &result, "--", program]].concat());
    let csv = done(&["show", &result, "--csv", "sim.run"]);
    let at = csv.lines().next().unwrap().split(',').position(|name| name == "n_rounds").unwrap();
    csv.lines().nth(1).unwrap().split(',').nth(at).unwrap().parse().unwrap()
}

#[test]
fn a_sweep_over_ranks_shows_from_where_on_more_do_not_help() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(&folder, include_str!("../../../../examples/sim/user/heat.c"));
    let result = folder.path().join("swept.jsonl").to_str().unwrap().to_owned();
    let machine = ["sweep", "--machine", "examples/sim/dragonfly.toml"];
    let swept = ["--ranks", "4,64,512", "--latency", "20", "--out", &result, "--", &kernel, "1024", "2"];
    done(&[&machine[..], &swept].concat());
    let csv = done(&["show", &result, "--csv", "sim.point"]);
    let column = |name: &str| -> Vec<u64> {
        let at = csv.lines().next().unwrap().split(',').position(|known| known == name).unwrap();
        csv.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    assert_eq!(column("n_ranks"), [4, 64, 512]);
    let spans_ns = column("span_ns");
    assert!(spans_ns[1] < spans_ns[0] && spans_ns[2] > spans_ns[1], "{spans_ns:?}");
    let told = refused(2, &[&machine[..], &["trace", "--ranks", "4"]].concat());
    assert!(told.contains("--ranks"), "{told}");
}

#[test]
fn a_deadlock_is_told_with_who_waits_for_whom() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(
        &folder,
        "#include <mpi.h>\nint main(void) { int me; MPI_Comm_rank(MPI_COMM_WORLD, &me); \
         return MPI_Recv(&me, 1, MPI_INT, 1 - me, 7, MPI_COMM_WORLD, 0); }",
    );
    let ended = sim(&["kernel", "-n", "2", "--machine", "examples/sim/cluster.toml", "--", &kernel]);
    let told = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert!(told.contains("rank 1 waits since 0 ns for a message of rank 0 with tag 7"), "{told}");
}

#[test]
fn what_is_no_kernel_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = compiled(&folder, "#include <mpi.h>\nint calls; int main(void) { return calls++; }");
    let told = refused(2, &["kernel", "-n", "2", "--machine", "examples/sim/cluster.toml", "--", &kernel]);
    assert!(told.contains("share its variables calls"), "{told}");
    let told = refused(2, &["kernel", "-n", "2", "--machine", "examples/sim/cluster.toml", "--", "Cargo.toml"]);
    assert!(told.contains("is no kernel: it is not a shared object"), "{told}");
}
