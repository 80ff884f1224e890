//! Programs in C and Fortran, compiled with an MPI library's wrapper and run under its launcher with libraries of ours
//! preloaded.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A program for one MPI library, in a folder of its own.
#[derive(Debug)]
pub struct Program {
    library: &'static str,
    words: Vec<String>,
    /// Where it runs.
    pub folder: TempDir,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Whether the launcher says that all went well.
    pub is_well: bool,
    /// What all ranks printed.
    pub stdout: String,
    /// Likewise of their complaints, and the launcher's.
    pub stderr: String,
}

impl Program {
    /// Compiles a source for `openmpi` or `mpich`.
    ///
    /// # Panics
    /// If it does not compile.
    #[must_use]
    #[track_caller]
    pub fn compiled(library: &'static str, source: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (compiler, flag) = match source.extension().is_some_and(|kind| kind == "c") {
            true => ("mpicc", "-pthread"),
            // Buffers of several types are passed to one procedure, which FORTRAN 77 does not have words for.
            false => ("mpifort", "-fallow-argument-mismatch"),
        };
        let program = folder.path().join("program");
        let mut command = Command::new(format!("{compiler}.{library}"));
        // A Fortran compiler leaves modules where it runs.
        let command = command.args(["-w", flag, "-o"]).arg(&program).arg(source).current_dir(&folder);
        let compiled = command.output().unwrap();
        assert!(compiled.status.success(), "{}: {}", source.display(), text(&compiled.stderr));
        Self { library, words: vec![program.to_str().unwrap().to_owned()], folder }
    }

    /// One that is there already.
    ///
    /// # Panics
    /// If there is no room for its folder.
    #[must_use]
    pub fn words(library: &'static str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { library, words, folder: tempfile::tempdir().unwrap() }
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// If the launcher is not there.
    #[must_use]
    pub fn run(&self, n_ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        let mut command = Command::new(format!("mpiexec.{}", self.library));
        command.args(["-n", &n_ranks.to_string()]).current_dir(&self.folder);
        if self.library == "openmpi" {
            // The launcher refuses root and more ranks than cores unless told that they are meant.
            command.args(["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
            for (name, value) in environment {
                command.args(["-x", &format!("{name}={value}")]);
            }
        } else {
            for (name, value) in environment {
                command.args(["-genv", name, value]);
            }
        }
        let output = command.args(&self.words).args(arguments).output().unwrap();
        Ended { is_well: output.status.success(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

/// Libraries of ours as `LD_PRELOAD` takes them. They are beside the tests, where cargo builds them.
///
/// # Panics
/// If one is not there.
#[must_use]
#[track_caller]
pub fn preloaded(names: &[&str]) -> String {
    let tests = std::env::current_exe().unwrap();
    let path = |name: &&str| -> PathBuf {
        let path = tests.with_file_name(format!("lib{name}.so"));
        assert!(path.exists(), "`{}` is not there: scripts/test.sh builds it", path.display());
        path
    };
    names.iter().map(|name| path(name).into_os_string().into_string().unwrap()).collect::<Vec<_>>().join(":")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
