//! Programs in C and Fortran, compiled with a library's wrapper and run under its launcher with the collectives
//! preloaded.

use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_tree::{Forest, Host, Layout, Rule, Tree};
use tempfile::TempDir;

/// A program, compiled for one library.
pub(crate) struct Program {
    library: &'static str,
    /// With what it leaves.
    pub(crate) folder: TempDir,
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) is_well: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Program {
    /// Compiles a source of `tests/programs`.
    pub(crate) fn compiled(library: &'static str, source: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let compiler = if source.ends_with(".c") { "mpicc" } else { "mpifort" };
        let mut command = Command::new(format!("{compiler}.{library}"));
        // A Fortran compiler leaves modules where it runs.
        let compiled = command.args(["-o", "program"]).arg(path).current_dir(&folder).output().unwrap();
        assert!(compiled.status.success(), "{source}: {}", String::from_utf8_lossy(&compiled.stderr));
        Self { library, folder }
    }

    /// Writes a tree file.
    pub(crate) fn write(&self, name: &str, forest: &Forest) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, forest.to_text()).unwrap();
        path
    }

    /// Runs it over the trees of `trees.toml`, each rank on the host that the file says.
    pub(crate) fn run(
        &self,
        n_ranks: u32,
        preloaded: &[&str],
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Ended {
        let mut command = Command::new(format!("mpiexec.{}", self.library));
        command.args(["-n", &n_ranks.to_string()]).current_dir(self.folder.path());
        let preloaded: Vec<String> = preloaded.iter().map(|name| library(name)).collect();
        let preloaded = preloaded.join(":");
        let trees = self.folder.path().join("trees.toml");
        let ours = [
            ("LD_PRELOAD", preloaded.as_str()),
            ("FORETOP_MPI_TREE", trees.to_str().unwrap()),
            ("FORETOP_MPI_EMULATED_HOSTS", "1"),
        ];
        let environment = ours.iter().chain(environment);
        if self.library == "openmpi" {
            // The launcher refuses root and more ranks than cores unless told that they are meant.
            command.args(["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
            environment.for_each(|(name, value)| {
                command.args(["-x", &format!("{name}={value}")]);
            });
        } else {
            environment.for_each(|(name, value)| {
                command.args(["-genv", name, value]);
            });
        }
        let output = command.arg("./program").args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended { is_well: output.status.success(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// What a rank wrote of the ways that its calls took.
    pub(crate) fn report(&self, rank: u32) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("foretop-trace/coll-{rank}.jsonl"))).unwrap()
    }
}

/// All operations over one tree.
pub(crate) fn forest(epoch: u64, hosts: &[Host], layout: &Layout) -> Forest {
    let rule = Rule { operation: None, bytes_max: None, tree: 0 };
    Forest { epoch, hosts: hosts.to_vec(), trees: vec![Tree::make("all", hosts, layout)], rules: vec![rule] }
}

/// A library beside the tests, which cargo builds with them.
fn library(name: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    let path = tests.with_file_name(format!("lib{name}.so"));
    assert!(path.exists(), "`{}` is not there: scripts/test.sh builds it", path.display());
    path.to_str().unwrap().to_owned()
}
