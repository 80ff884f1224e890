//! The kernels of `examples/sim/kernels` on real MPI libraries.

use std::path::Path;
use std::process::Command;

use testkit::launch::Program;

/// Each with a number of ranks that it takes.
const KERNELS: [(&str, u32); 9] =
    [("lu", 4), ("mg", 4), ("bt", 4), ("sp", 4), ("cg", 4), ("ft", 3), ("is", 3), ("ep", 2), ("master-worker", 3)];

#[test]
#[ignore = "needs Open MPI and MPICH: make test"]
fn kernels_check_themselves_and_have_the_same_result_with_both_libraries() {
    let sums = ["openmpi", "mpich"].map(|library| {
        let folder = tempfile::tempdir().unwrap();
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sim/kernels/build.sh");
        let built = Command::new(build).arg(library).arg(folder.path()).status().unwrap();
        assert!(built.success(), "the kernels do not build with {library}");
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
