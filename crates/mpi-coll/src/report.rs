//! Calls that ran on each tree, and the reasons why the rest did not.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mpi_tree::Collective;
use units::Rank;

use crate::entry::complain;

/// The reason why a call went to the MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// Its communicator has other ranks than `MPI_COMM_WORLD`, or in another order.
    Communicator,
    /// A reduction that is not built in, or not on that type.
    Operation,
    /// It moves nothing.
    Empty,
    /// No rule of the tree file fits.
    Rule,
    /// It moves more than slots hold.
    Large,
    /// There was no room for what ranks share.
    Memory,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Communicator => "other ranks than MPI_COMM_WORLD",
            Self::Operation => "not a built-in operation on a built-in type",
            Self::Empty => "nothing to move",
            Self::Rule => "no rule fits",
            Self::Large => "too large",
            Self::Memory => "no room in shared memory",
        })
    }
}

/// The destination of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The tree of this name, of a file of this epoch.
    Tree(Arc<str>, u64),
    /// The MPI library.
    Library(Reason),
}

/// Calls that went the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) n_calls: u64,
    pub(crate) n_bytes: u64,
    /// Total time of the calls, in ticks; 0 if the library did them.
    pub(crate) ticks: u64,
}

/// Default folder of files.
const TRACE_FOLDER: &str = "foretop-trace";

/// Writes the report of a rank.
pub(crate) fn write(kind: &str, rank: Rank, lines: &str) {
    let folder = env::var_os("FORETOP_MPI_TRACE").filter(|path| !path.is_empty());
    let folder = folder.map_or_else(|| PathBuf::from(TRACE_FOLDER), PathBuf::from);
    let path = folder.join(format!("{kind}-{rank}.jsonl"));
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, lines));
    if let Err(error) = written {
        complain(&format_args!("cannot write `{}`: {error}", path.display()));
    }
}

#[derive(Debug, Default)]
pub(crate) struct Report(Mutex<BTreeMap<(Collective, Way), Tally>>);

impl Report {
    pub(crate) fn add(&self, collective: Collective, way: Way, tally: Tally) {
        let mut tallies = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let sum = tallies.entry((collective, way)).or_default();
        sum.n_calls += tally.n_calls;
        sum.n_bytes += tally.n_bytes;
        sum.ticks += tally.ticks;
    }

    /// An object of JSON for each operation and way.
    pub(crate) fn lines(&self, ns_per_tick: f64) -> String {
        self.each(|collective, way, tally| {
            let way = match way {
                Way::Tree(tree, epoch) => {
                    let time_ns = (tally.ticks as f64 * ns_per_tick).round();
                    serde_json::json!({ "operation": collective, "tree": &**tree, "epoch": epoch, "calls": tally.n_calls,
                        "size_bytes": tally.n_bytes, "time_ns": time_ns })
                }
                Way::Library(reason) => {
                    serde_json::json!({ "operation": collective, "reason": reason.to_string(), "calls": tally.n_calls })
                }
            };
            format!("{way}\n")
        })
    }

    /// The same as a table.
    pub(crate) fn table(&self, ns_per_tick: f64) -> String {
        self.each(|collective, way, tally| match way {
            Way::Tree(tree, epoch) => {
                let each_us = tally.ticks as f64 * ns_per_tick / tally.n_calls as f64 / 1000.0;
                format!(
                    "{collective:<10} {:>10} calls  tree {tree}, epoch {epoch}: {each_us:.2} us each\n",
                    tally.n_calls
                )
            }
            Way::Library(reason) => format!("{collective:<10} {:>10} calls  MPI library: {reason}\n", tally.n_calls),
        })
    }

    fn each(&self, mut line: impl FnMut(&str, &Way, &Tally) -> String) -> String {
        let tallies = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tallies.iter().map(|((collective, way), tally)| line(collective.name(), way, tally)).collect()
    }
}
