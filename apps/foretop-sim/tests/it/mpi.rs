//! The kernels of `examples/sim/kernels` on real MPI libraries.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use testkit::launch::{Program, preloaded};

use crate::done;

/// Each with a number of ranks that it takes.
const KERNELS: [(&str, u32); 9] =
    [("lu", 4), ("mg", 4), ("bt", 4), ("sp", 4), ("cg", 4), ("ft", 3), ("is", 3), ("ep", 2), ("master-worker", 3)];

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
fn kernels_check_themselves_and_have_the_same_result_with_both_libraries() {
    let sums = ["openmpi", "mpich"].map(|library| {
        let folder = built(library);
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
            assert!(shown.contains(&format!("{n_ranks} ranks take ")) && !shown.contains(" left "), "{name}: {shown}");
            // What comes before is of the protocol.
            shown.split_once("\n\nrank ").unwrap().1.to_owned()
        });
        assert_eq!(tables[0], tables[1], "{name}");
    }
}
