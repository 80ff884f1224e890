//! Calls of a real MPI program with the tracer.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mpi_job::Folder;
use testkit::{PATIENCE, launch, wait_until};

use crate::kernel;

/// Made at the end also when a check fails, so that a program that waits for it comes to its end.
struct Go(PathBuf);

impl Go {
    fn give(&self) {
        std::fs::write(&self.0, "").expect("the program's folder is there");
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        self.give();
    }
}

/// A folder for rings, which goes with this.
struct Job(PathBuf);

impl Drop for Job {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn check_each_call_counts(library: &'static str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/messages.c");
    let program = launch::Program::compiled(library, &source);
    let job = Job(mpi_job::root().join(format!("messages-{library}-{}", std::process::id())));
    let path = job.0.to_str().unwrap();
    let tracer = launch::preloaded(&["mpi_tracer"]);
    let environment = [("LD_PRELOAD", tracer.as_str()), ("FORETOP_MPI_JOB", path)];
    let go = Go(program.folder.path().join("go"));
    let out = tempfile::tempdir().unwrap();
    let n_rings = || Folder::open(&job.0).and_then(|folder| folder.rings()).map_or(0, |rings| rings.len());
    let files = || std::fs::read_dir(&out).unwrap().flatten().map(|entry| entry.path());

    std::thread::scope(|scope| {
        let go = go;
        let ended = scope.spawn(|| program.run(2, &[program.folder.path().join("go").to_str().unwrap()], &environment));
        wait_until("both ranks have rings", PATIENCE, || (n_rings() == 2).then_some(()));
        let node = format!("tree:{}", std::process::id());
        let mut record = Command::new(env!("CARGO_BIN_EXE_foretop-kernel"));
        record
            .args([
                "record",
                "mpi",
                "--source",
                "proc",
                "--node",
                &node,
                "--interval",
                "50ms",
                "--for",
                "2min",
                "--out",
            ])
            .arg(out.path());
        let mut record = record.stdout(Stdio::null()).spawn().unwrap();
        wait_until("it is recorded", PATIENCE, || files().next());
        go.give();
        let ended = ended.join().unwrap();
        assert!(Command::new("kill").args(["-INT", &record.id().to_string()]).status().unwrap().success());
        assert!(record.wait().unwrap().success());
        assert!(ended.is_well, "{}{}", ended.stdout, ended.stderr);
    });

    let file = files().find(|path| path.extension().is_some_and(|kind| kind == "kernel")).unwrap();
    let sum = |field: &str| -> u64 {
        let output = kernel(&["extract", file.to_str().unwrap(), "MPI Summary", field]);
        let csv = String::from_utf8(output.stdout).unwrap();
        csv.lines().skip(1).map(|line| line.parse::<u64>().unwrap()).sum()
    };
    let of = |point: &str| ["count", "returned"].map(|figure| sum(&format!("{point}.{figure}")));
    // A rank sends 500 times, and both do 20 times at once and exchange 7 times. None of it is what was sent to nobody.
    let bytes = 500 * 100 + 2 * (20 * 5_000 + 7 * 65_536);
    assert_eq!((of("Send"), of("Receive")), ([554, bytes], [554, bytes]));
    assert_eq!((sum("Wait.count"), of("Collective")), (40, [10, 2 * 4 * 4]));
    assert_eq!(sum("lost"), 0);
}

#[test]
#[ignore = "needs Open MPI and MPICH; scripts/kernel.sh test runs it"]
fn each_call_of_a_traced_program_counts_in_its_process_tree() {
    // One after the other: both are of this process's tree.
    ["openmpi", "mpich"].into_iter().for_each(check_each_call_counts);
}
