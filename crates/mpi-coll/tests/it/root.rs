//! What only root can bring about: memory without room. MPI libraries need room in `/dev/shm` themselves, so that the
//! job's folder lies elsewhere.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use mpi_tree::{Between, Grain, Host, Layout, Order, Shape, Wake};

use crate::program::{Program, forest};

/// Mounts are those of this process alone: whoever runs this has made a namespace for it.
#[track_caller]
fn mount_memory(at: &Path) {
    std::fs::create_dir(at).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(at).status().unwrap();
    assert!(mounted.success());
}

fn fill(folder: &Path) {
    let mut file = std::fs::File::create(folder.join("filling")).unwrap();
    while file.write(&[7; 4096]).is_ok() {}
}

#[test]
#[ignore = "needs root and MPICH: scripts/test.sh root"]
fn in_full_memory_the_program_runs_on_under_both_libraries() {
    let program = Program::compiled("mpich", "trouble.c");
    let hosts = [Host { name: "h0".into(), cluster: None, ranks: vec![0, 1] }];
    let (shape, grain, between) = (Shape::Flat, Grain::Host, Between::Reduce);
    let layout = Layout { shape, grain, inside: None, between, order: Order::Fixed, wake: Wake::Both };
    program.write("trees.toml", &forest(0, &hosts, &layout));
    let memory = program.folder().join("memory");
    mount_memory(&memory);
    // At first there is room for small files, then for nothing.
    for what in ["calls go to the MPI library", "no call goes over a tree"] {
        let job = memory.join("job");
        let ended =
            program.run(2, &["mpi_coll", "mpi_tracer"], &["sums"], &[("FORETOP_MPI_JOB", job.to_str().unwrap())]);
        let told = ended.stderr;
        assert!(ended.is_well && ended.stdout == "all is right\n", "{}{told}", ended.stdout);
        let n_told = |what: &str| told.lines().filter(|line| line.starts_with(&format!("foretop: {what}"))).count();
        assert_eq!((n_told(what), n_told("nothing more is recorded of this rank")), (1, 2), "{told}");
        assert_eq!(told.lines().count(), 3, "{told}");
        std::fs::remove_dir_all(&job).unwrap();
        fill(&memory);
    }
}
