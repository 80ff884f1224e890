//! Known properties of communicators, types and persistent requests, by the words that the program holds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpi_abi::{Failed, Handle, Mpi};
use mpi_trace::CollectiveCall;

use crate::arguments::CallArguments;
use crate::members::JobMembers;
use crate::site::ArgumentPlace;

/// Bits of a communicator's hash in the page.
const ID_BITS: u32 = 40;

/// A communicator, as far as waits depend on it.
#[derive(Debug)]
pub(crate) struct CommMembers {
    /// Hash of its members: the same on all of them.
    id: u64,
    /// Positions on this host of the ranks that messages are for; `None` for ranks elsewhere.
    peers: Vec<Option<u32>>,
    /// Positions of the other members on this host: those behind this rank first.
    pub(crate) others: Vec<u32>,
    /// Whether it has members elsewhere.
    pub(crate) is_spread: bool,
    /// Own rank in it.
    pub(crate) rank: i32,
    /// Collective calls so far, on all communicators of the same members.
    n_calls: Arc<AtomicU64>,
}

/// A word that the program holds, and whether it is Fortran's: those are different words for the same thing.
type Key = (usize, bool);

/// All that is known. Handles that the program gives up are forgotten.
#[derive(Debug, Default)]
pub(crate) struct KnownHandles {
    communicators: Mutex<BTreeMap<Key, Arc<CommMembers>>>,
    counters: Mutex<BTreeMap<u64, Arc<AtomicU64>>>,
    sizes: Mutex<BTreeMap<Key, u64>>,
    /// Positions of those whom persistent requests send to.
    prepared: Mutex<BTreeMap<Key, u32>>,
}

impl CommMembers {
    /// Returns the position on this host of a rank; `None` if it is elsewhere, or no rank.
    pub(crate) fn peer(&self, rank: i32) -> Option<u32> {
        self.peers.get(usize::try_from(rank).ok()?).copied().flatten()
    }

    /// Counts a collective call of this rank.
    pub(crate) fn enter(&self) -> CollectiveCall {
        let n_calls = self.n_calls.fetch_add(1, Ordering::Relaxed);
        CollectiveCall { communicator: self.id, sequence: CollectiveCall::sequence_after(n_calls) }
    }

    /// Returns the number of ranks that messages are for.
    pub(crate) fn n_peers(&self) -> usize {
        self.peers.len()
    }
}

impl KnownHandles {
    /// Returns the communicator of a call; `None` if the call has none, or MPI refuses to describe it.
    pub(crate) fn communicator(
        &self,
        mpi: &Mpi,
        members: &JobMembers,
        arguments: &CallArguments<'_>,
    ) -> Option<Arc<CommMembers>> {
        let held = arguments.held(arguments.site.spec.comm, mpi)?;
        let key = (held, arguments.site.is_fortran);
        if let Some(known) = lock(&self.communicators).get(&key) {
            return Some(Arc::clone(known));
        }
        let comm = arguments.in_c(held, Mpi::comm_of_fortran, mpi);
        if comm == mpi.constants().comm_null {
            return None;
        }
        let learnt = Arc::new(self.learn(mpi, members, comm).ok()?);
        lock(&self.communicators).insert(key, Arc::clone(&learnt));
        Some(learnt)
    }

    fn learn(&self, mpi: &Mpi, members: &JobMembers, comm: Handle) -> Result<CommMembers, Failed> {
        let own_side = mpi.world_ranks(comm)?;
        let is_inter = mpi.is_inter(comm)?;
        let other_side = if is_inter { mpi.remote_world_ranks(comm)? } else { Vec::new() };
        // Both sides of an intercommunicator see the same two lists, in different order.
        let sides =
            [&own_side, &other_side].map(|side| mpi_job::fnv_1a(side.iter().map(|rank| rank.cast_unsigned().into())));
        let id = (sides[0] ^ if is_inter { sides[1] } else { 0 }) >> (u64::BITS - ID_BITS);
        let peers = if is_inter { &other_side } else { &own_side };
        let all = own_side.iter().chain(&other_side).map(|rank| members.position(*rank));
        let here: Vec<u32> = all.clone().flatten().collect();
        let own = here.iter().position(|at| *at as usize == members.own).unwrap_or(0);
        Ok(CommMembers {
            id,
            peers: peers.iter().map(|rank| members.position(*rank)).collect(),
            others: here.iter().skip(own + 1).chain(here.iter().take(own)).copied().collect(),
            is_spread: all.clone().any(|at| at.is_none()),
            rank: mpi.comm_rank(comm)?,
            n_calls: Arc::clone(lock(&self.counters).entry(id).or_default()),
        })
    }

    /// Returns the bytes of an element; 0 if MPI refuses to say.
    pub(crate) fn type_size(&self, mpi: &Mpi, arguments: &CallArguments<'_>, held: usize) -> u64 {
        let key = (held, arguments.site.is_fortran);
        if let Some(size) = lock(&self.sizes).get(&key) {
            return *size;
        }
        let size = mpi.type_size(arguments.in_c(held, Mpi::datatype_of_fortran, mpi)).unwrap_or(0);
        lock(&self.sizes).insert(key, size);
        size
    }

    /// Remembers whom a persistent request sends to.
    pub(crate) fn prepare(&self, mpi: &Mpi, arguments: &CallArguments<'_>, peer: Option<u32>) {
        let Some(held) = arguments.held_at(arguments.site.spec.newrequest, 0, mpi) else { return };
        let key = (held, arguments.site.is_fortran);
        let mut prepared = lock(&self.prepared);
        match peer {
            Some(peer) => prepared.insert(key, peer),
            // Another request may have had this handle.
            None => prepared.remove(&key),
        };
    }

    /// Returns the positions of those whom started requests send to.
    pub(crate) fn started(&self, mpi: &Mpi, arguments: &CallArguments<'_>) -> Vec<u32> {
        let prepared = lock(&self.prepared);
        if prepared.is_empty() {
            return Vec::new();
        }
        let n = arguments.int(arguments.site.spec.number).unwrap_or(1).max(0) as usize;
        let peer = |at| {
            let held = arguments.held_at(arguments.site.spec.requests, at, mpi)?;
            prepared.get(&(held, arguments.site.is_fortran)).copied()
        };
        (0..n).filter_map(peer).collect()
    }

    /// Forgets what the program gives up with this call: its handle may be another's afterwards.
    pub(crate) fn forget(&self, mpi: &Mpi, arguments: &CallArguments<'_>) {
        let spec = arguments.site.spec;
        let key = |place: ArgumentPlace| Some((arguments.held_at(place, 0, mpi)?, arguments.site.is_fortran));
        if let Some(key) = key(spec.comm_given_up) {
            // The same communicator may be known by a word of the other language.
            let mut communicators = lock(&self.communicators);
            communicators.remove(&key);
            communicators.retain(|(_, is_fortran), _| *is_fortran == key.1);
        }
        if spec.type_given_up.is_somewhere() {
            lock(&self.sizes).clear();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
