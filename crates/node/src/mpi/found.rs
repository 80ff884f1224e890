//! Content of a job's folder at a moment.

use std::collections::BTreeSet;

use mpi_job::{Folder, Process, RingFile};
use mpi_trace::file::Head;
use mpi_tree::Forest;
use units::{Rank, Timestamp};

use crate::api;

/// Rings that are read of a job: a thousand ranks with calls, stages and two threads each.
const N_RINGS_MAX: usize = 4096;

/// Content of a job's folder at a moment.
pub(super) struct Found {
    pub(super) heads: Vec<Head>,
    pub(super) rings: Vec<RingFile>,
    /// The trees in force.
    pub(super) forest: Option<Forest>,
    pub(super) problems: Vec<String>,
    pub(super) is_running: bool,
}

impl Found {
    pub(super) fn look(folder: &Folder) -> Self {
        let mut problems = Vec::new();
        let mut rings = Vec::new();
        match folder.rings() {
            Err(error) => problems.push(text::with_causes(&error)),
            Ok(found) => {
                let n_left_out = found.len().saturating_sub(N_RINGS_MAX);
                if n_left_out > 0 {
                    problems.push(format!("{n_left_out} rings beyond the first {N_RINGS_MAX} are not read"));
                }
                for ring in found.into_iter().take(N_RINGS_MAX) {
                    match ring {
                        Ok(ring) => rings.push(ring),
                        Err(error) => problems.push(text::with_causes(&error)),
                    }
                }
            }
        }
        let heads = folder.heads().unwrap_or_else(|error| {
            problems.push(text::with_causes(&error));
            Vec::new()
        });
        let forest = match folder.tree() {
            Ok(text) => text.and_then(|text| {
                Forest::parse(&text).inspect_err(|error| problems.push(format!("tree.toml: {error}"))).ok()
            }),
            Err(error) => {
                problems.push(text::with_causes(&error));
                None
            }
        };
        let processes: BTreeSet<Process> = rings.iter().map(RingFile::process).collect();
        let is_running = processes.into_iter().any(Process::is_running);
        Self { heads, rings, forest, problems, is_running }
    }

    pub(super) fn has_rings(&self) -> bool {
        !self.rings.is_empty()
    }

    pub(super) fn about(&self, job: &str, now: Timestamp) -> api::MpiJob {
        let headers = || self.rings.iter().map(|ring| &ring.header);
        let ranks: BTreeSet<Rank> = headers().map(|header| header.rank).collect();
        let began_ns = headers().map(|header| header.reading.monotonic_ns).min().unwrap_or(0);
        let age = std::time::Duration::from_nanos(clock::monotonic_ns().saturating_sub(began_ns));
        let said = |what: fn(&Head) -> &String| self.heads.iter().map(what).find(|text| !text.is_empty()).cloned();
        let n_ranks = self.heads.iter().map(|head| head.n_ranks).chain(headers().map(|header| header.n_ranks)).max();
        api::MpiJob {
            job: job.to_owned(),
            program: said(|head| &head.program),
            library: said(|head| &head.library),
            n_ranks: n_ranks.unwrap_or(0),
            ranks: ranks.into_iter().collect(),
            since: now - age,
            is_running: self.is_running,
            trees: self.forest.iter().flat_map(|forest| &forest.trees).map(|tree| tree.name.clone()).collect(),
            n_records: self.rings.iter().map(|ring| ring.ring().n_written()).fold(0, u64::saturating_add),
            problems: self.problems.clone(),
        }
    }
}
