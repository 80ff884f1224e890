//! Calls that move more than slots hold: between sites they go in pieces; within one the MPI library is better at them.

use std::collections::btree_map::Entry;
use std::ffi::c_int;
use std::sync::Arc;

use mpi_tree::{Collective, Forest};
use units::Rank;

use super::{State, Taking};
use crate::job::Job;
use crate::port::Trouble;
use crate::report::{Reason, Way};
use crate::site::{Large, PIECE_BYTES, Party, Sites};

/// Whether a call can go in pieces over the sites of a tree. `MPI_Pack` counts its bytes in an `int`.
pub(super) fn may_be_cut(taking: &Taking<'_>, forest: &Forest, tree: usize) -> bool {
    let is_one_block = matches!(taking.collective, Collective::Allreduce | Collective::Bcast | Collective::Reduce);
    let can_be_packed = c_int::try_from(taking.n_bytes).is_ok();
    is_one_block && can_be_packed && forest.trees[tree].sites(&forest.hosts).is_some()
}

impl State {
    pub(super) fn carry_large(&mut self, job: &Job, tree: usize, taking: &Taking<'_>) -> Result<Way, Trouble> {
        // The ring for the stages of shorter calls has the tree noted in traces, which names these calls as left out.
        self.be_ready(job, tree)?;
        let forest = Arc::clone(&self.forest);
        let sites = match self.sites.entry(tree) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let party = Party { mpi: job.mpi, comm: self.network.comm(), rank: job.rank, members: &job.members };
                let plan = forest.trees[tree].sites(&forest.hosts).expect("it may be cut");
                place.insert(Sites::new(&party, plan, PIECE_BYTES)?)
            }
        };
        let Some(sites) = sites else { return Ok(Way::Library(Reason::Memory)) };
        let (input, room, output) = taking.buffers(job)?;
        let mut received = vec![0; room];
        let extent_bytes = job.mpi.datatype(taking.arguments.send.datatype).map_or(1, |datatype| datatype.extent_bytes);
        sites.call_large(&mut Large {
            collective: taking.collective,
            root: taking.arguments.root as Rank,
            combine: taking.combine.map(|combine| (combine, extent_bytes)),
            n_bytes: taking.n_bytes,
            input: &input,
            output: &mut received,
        })?;
        taking.deliver(job, &output, &received)?;
        self.heed(job, 0)?;
        Ok(Way::Tree(forest.trees[tree].name.as_str().into(), forest.epoch))
    }
}
