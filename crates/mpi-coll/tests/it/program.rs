//! Programs over trees, each rank on the host that the tree file says.

use std::path::{Path, PathBuf};

use mpi_tree::{Forest, Host, Layout, Rule, Tree};
use testkit::launch::{self, Ended};

/// A program, compiled for one library.
pub(crate) struct Program(launch::Program);

impl Program {
    /// Compiles a source of `tests/programs`.
    #[track_caller]
    pub(crate) fn compiled(library: &'static str, source: &str) -> Self {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        Self(launch::Program::compiled(library, &programs.join(source)))
    }

    /// Where it runs, with what it leaves.
    pub(crate) fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// Writes a tree file.
    pub(crate) fn write(&self, name: &str, forest: &Forest) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, forest.to_text()).unwrap();
        path
    }

    /// Runs it over the trees of `trees.toml`.
    #[track_caller]
    pub(crate) fn run(
        &self,
        n_ranks: u32,
        preloaded: &[&str],
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Ended {
        let (preloaded, trees) = (launch::preloaded(preloaded), self.folder().join("trees.toml"));
        let ours = [
            ("LD_PRELOAD", preloaded.as_str()),
            ("FORETOP_MPI_TREE", trees.to_str().unwrap()),
            ("FORETOP_MPI_EMULATED_HOSTS", "1"),
        ];
        self.0.run(n_ranks, arguments, &[&ours, environment].concat())
    }

    /// What a rank wrote of the ways that its calls took.
    pub(crate) fn report(&self, rank: u32) -> String {
        std::fs::read_to_string(self.folder().join(format!("foretop-trace/coll-{rank}.jsonl"))).unwrap()
    }
}

/// All operations over one tree.
pub(crate) fn forest(epoch: u64, hosts: &[Host], layout: &Layout) -> Forest {
    let rule = Rule { operation: None, bytes_max: None, tree: 0 };
    Forest { epoch, hosts: hosts.to_vec(), trees: vec![Tree::make("all", hosts, layout)], rules: vec![rule] }
}
