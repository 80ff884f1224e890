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
    /// Folder that the program runs in.
    pub folder: TempDir,
}

/// Output and status of a program that ended.
#[derive(Debug)]
pub struct Ended {
    /// Whether the launcher reports success.
    pub is_well: bool,
    /// Standard output of all ranks.
    pub stdout: String,
    /// Standard error of all ranks and of the launcher.
    pub stderr: String,
}

impl Program {
    /// Compiles a source for `openmpi`, `mpich` or `standard`, the standard ABI.
    ///
    /// # Panics
    /// If it does not compile.
    #[must_use]
    #[track_caller]
    pub fn compiled(library: &'static str, source: &Path) -> Self {
        Self::linked(library, source, &[])
    }

    /// Compiles a source likewise, with more for the compiler and the linker.
    ///
    /// # Panics
    /// If it does not compile.
    #[must_use]
    #[track_caller]
    pub fn linked(library: &'static str, source: &Path, flags: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (compiler, flag) = match source.extension().is_some_and(|kind| kind == "c") {
            true => ("mpicc", "-pthread"),
            // Buffers of several types are passed to one procedure, which FORTRAN 77 does not have words for.
            false => ("mpifort", "-fallow-argument-mismatch"),
        };
        let program = folder.path().join("program");
        let mut command = Command::new(tool(library, compiler));
        // A Fortran compiler leaves modules where it runs.
        let command = command.args(["-w", flag, "-o"]).arg(&program).arg(source).args(flags).current_dir(&folder);
        let compiled = command.output().unwrap();
        assert!(compiled.status.success(), "{}: {}", source.display(), text(&compiled.stderr));
        Self { library, words: vec![program.to_str().unwrap().to_owned()], folder }
    }

    /// Returns a program that is there already.
    ///
    /// # Panics
    /// If there is no room for its folder.
    #[must_use]
    pub fn words(library: &'static str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { library, words, folder: tempfile::tempdir().unwrap() }
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// If the launcher is not there.
    #[must_use]
    pub fn run(&self, n_ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        let mut command = Command::new(tool(self.library, "mpiexec"));
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

/// Returns the virtual environment that has MPICH 5 and mpi4py, once for MPICH's own ABI and, in its folder `abi`, once
/// for the standard ABI.
///
/// # Panics
/// If the tests were started in another way.
#[must_use]
#[track_caller]
pub fn standard_environment() -> PathBuf {
    let tested = std::env::var_os("FORETOP_MPI_TESTED").expect("scripts/test.sh makes the environment");
    Path::new(&tested).join("standard")
}

/// Returns a library's compiler or launcher. Debian has those of all its libraries beside each other.
fn tool(library: &str, name: &str) -> PathBuf {
    match (library, name) {
        ("standard", "mpicc") => standard_environment().join("bin/mpicc_abi"),
        ("standard", _) => standard_environment().join("bin").join(name),
        _ => format!("{name}.{library}").into(),
    }
}

/// Returns libraries of ours as `LD_PRELOAD` takes them. They are beside the tests, where cargo builds them.
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
