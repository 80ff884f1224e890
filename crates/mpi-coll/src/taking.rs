//! Choice of the calls that are taken, and the places of their data in the program.

use std::sync::Arc;

use mpi_abi::{Failed, Handle};
use mpi_tree::Collective;
use units::Rank;

use crate::arguments::{Arguments, Buffer};
use crate::combine::Combine;
use crate::communicator::Communicator;
use crate::engine::operation;
use crate::entry::abort;
use crate::job::Job;
use crate::report::{Reason, Tally, Way};

/// A call that was carried out.
pub(crate) struct Done;

/// A call that may be taken.
pub(crate) struct Taking<'a> {
    pub(crate) collective: Collective,
    pub(crate) arguments: &'a Arguments,
    pub(crate) combine: Option<Combine>,
    pub(crate) n_bytes: usize,
    pub(crate) is_root: bool,
}

impl Job {
    /// Carries out a call, or returns the reason why it is for the library; nothing if the library is to report what
    /// is wrong with it.
    pub(crate) fn take(&self, collective: Collective, arguments: &Arguments) -> Result<Option<Reason>, Done> {
        let (send, receive) = (&arguments.send, &arguments.receive);
        let datatype = self.mpi.datatype(send.datatype);
        let op = self.mpi.op(arguments.op);
        let combine = match collective {
            Collective::Allreduce | Collective::Reduce => {
                let combine = datatype.zip(op).and_then(|(datatype, op)| crate::combine::combine(op, datatype));
                if combine.is_none() {
                    return Ok(Some(Reason::Operation));
                }
                combine
            }
            _ => None,
        };
        let Some(communicator) = self.communicator(arguments.comm) else { return Ok(Some(Reason::Communicator)) };
        let n_ranks = self.members.len();
        // Whatever is wrong with arguments, the library says.
        if usize::try_from(arguments.root).map_or(true, |root| root >= n_ranks) {
            return Ok(None);
        }
        let is_root = arguments.root as Rank == self.rank;
        let own = match collective {
            Collective::Gather if is_root => receive,
            Collective::Scatter if !is_root => receive,
            _ => send,
        };
        let n_bytes = match (collective, datatype) {
            (Collective::Barrier, _) => 0,
            (Collective::Allreduce | Collective::Reduce, Some(datatype)) => {
                usize::try_from(send.count).unwrap_or(0).saturating_mul(datatype.extent_bytes)
            }
            _ => match own.n_bytes(self.mpi) {
                Ok(Some(n_bytes)) => n_bytes,
                _ => return Ok(None),
            },
        };
        if n_bytes == 0 && collective != Collective::Barrier {
            return Ok(Some(Reason::Empty));
        }
        let began = self.tracer.map(|tracer| tracer.begin(operation(collective)));
        let start = self.ticks.now();
        let taking = Taking { collective, arguments, combine, n_bytes, is_root };
        match communicator.carry(self, &taking) {
            Ok(way @ Way::Tree(..)) => {
                let ticks = self.ticks.now().saturating_sub(start);
                self.report.add(collective, way, Tally { n_calls: 1, n_bytes: n_bytes as u64, ticks });
            }
            Ok(Way::Library(reason)) => return Ok(Some(reason)),
            Err(error) => abort(self.mpi, &text::with_causes(&error)),
        }
        if let (Some(tracer), Some(began)) = (self.tracer, began) {
            let root = match collective {
                Collective::Allreduce | Collective::Barrier => -1,
                _ => arguments.root,
            };
            tracer.end(operation(collective), arguments.comm, root, n_bytes as u64, began);
        }
        Err(Done)
    }

    /// Returns what is known of a communicator; none if its ranks are not those of `MPI_COMM_WORLD`.
    pub(crate) fn communicator(&self, comm: Handle) -> Option<Arc<Communicator>> {
        if let Some(known) = self.communicators().get(&comm) {
            return known.clone();
        }
        let is_like_world = self.mpi.is_congruent(comm, self.mpi.constants().comm_world).unwrap_or(false)
            && !self.mpi.is_inter(comm).unwrap_or(true);
        let new = is_like_world.then(|| Arc::new(Communicator::new(comm)));
        self.communicators().insert(comm, new.clone());
        new
    }
}

impl Taking<'_> {
    /// Gives the program what it gets.
    pub(crate) fn deliver(&self, job: &Job, output: &Buffer, received: &[u8]) -> Result<(), Failed> {
        if self.combine.is_some() && !received.is_empty() {
            // SAFETY: the program passed it to be written, with a built-in type.
            unsafe { output.set_elements(received) };
            return Ok(());
        }
        // SAFETY: the program passed it to be written.
        unsafe { output.write(job.mpi, self.arguments.comm, received) }
    }

    /// Returns the data that this rank brings, the number of bytes that it gets, and the buffer where these go.
    pub(crate) fn buffers(&self, job: &Job) -> Result<(Vec<u8>, usize, Buffer), Failed> {
        let (mpi, n, comm) = (job.mpi, self.n_bytes, self.arguments.comm);
        let Arguments { send, receive, .. } = *self.arguments;
        let in_place = mpi.constants().in_place;
        let n_ranks = job.members.len();
        let nothing = (Vec::new(), 0, receive);
        // SAFETY: MPI says which buffers a rank passes to be read and written in such a call, and of what length.
        let buffers = unsafe {
            match self.collective {
                Collective::Barrier => nothing,
                Collective::Allreduce | Collective::Reduce => {
                    let from = if send.address == in_place { receive } else { send };
                    let gets = self.collective == Collective::Allreduce || self.is_root;
                    (from.elements(n), if gets { n } else { 0 }, receive)
                }
                Collective::Bcast if self.is_root => (send.read(mpi, comm, n)?, 0, send),
                Collective::Bcast => (Vec::new(), n, send),
                Collective::Gather if self.is_root => {
                    let all = receive.times(n_ranks);
                    let own = if send.address == in_place {
                        let rank = job.rank as usize;
                        all.read(mpi, comm, n * n_ranks)?[rank * n..(rank + 1) * n].to_vec()
                    } else {
                        send.read(mpi, comm, n)?
                    };
                    (own, n * n_ranks, all)
                }
                Collective::Gather => (send.read(mpi, comm, n)?, 0, send),
                Collective::Scatter if self.is_root => {
                    let all = send.times(n_ranks).read(mpi, comm, n * n_ranks)?;
                    if receive.address != in_place {
                        let rank = job.rank as usize;
                        receive.write(mpi, comm, &all[rank * n..(rank + 1) * n])?;
                    }
                    (all, 0, receive)
                }
                Collective::Scatter => (Vec::new(), n, receive),
            }
        };
        Ok(buffers)
    }
}
