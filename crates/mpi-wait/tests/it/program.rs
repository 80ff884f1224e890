//! Programs whose waiting ranks give up their core, and what the ranks leave.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::launch::{self, Ended};

/// A program, compiled for one library.
pub(crate) struct WaitedProgram(launch::Program);

impl WaitedProgram {
    /// Compiles a source of `tests/programs`.
    #[track_caller]
    pub(crate) fn compiled(library: &'static str, source: &str) -> Self {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        Self(launch::Program::compiled(library, &programs.join(source)))
    }

    /// A program that is there already.
    pub(crate) fn words(library: &'static str, words: &[&str]) -> Self {
        Self(launch::Program::words(library, words))
    }

    /// The folder that it runs in.
    pub(crate) fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// The folder of its job.
    pub(crate) fn job(&self) -> PathBuf {
        self.folder().join("job")
    }

    /// Runs it with libraries of ours.
    #[track_caller]
    pub(crate) fn run(
        &self,
        n_ranks: u32,
        preloaded: &[&str],
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Ended {
        let (preloaded, job) = (launch::preloaded(preloaded), self.job());
        let ours = [("LD_PRELOAD", preloaded.as_str()), ("FORETOP_MPI_JOB", job.to_str().unwrap())];
        self.0.run(n_ranks, arguments, &[&ours, environment].concat())
    }

    /// Runs it in a wait mode, to a good end.
    #[track_caller]
    pub(crate) fn succeed(&self, n_ranks: u32, mode: &str, arguments: &[&str]) -> Ended {
        let ended = self.run(n_ranks, &["mpi_wait"], arguments, &[("FORETOP_MPI_WAIT", mode)]);
        assert!(ended.is_well && ended.stderr.is_empty(), "{mode}: {}{}", ended.stdout, ended.stderr);
        ended
    }

    /// The objects that a rank left.
    #[track_caller]
    pub(crate) fn report(&self, rank: u32) -> Vec<Value> {
        let path = self.folder().join(format!("foretop-trace/wait-{rank}.jsonl"));
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Returns the totals of a call in a report.
pub(crate) fn call<'a>(report: &'a [Value], name: &str) -> Option<&'a Value> {
    report.iter().find(|object| object["call"] == name)
}
