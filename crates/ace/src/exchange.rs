//! One exchange of an emulated application, over and over, between buffers that are there from the start.
//!
//! Buffers are written to when they are made, so that no exchange meets a page that the kernel has yet to find.

use clock::Stopwatch;
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::point_to_point::{Destination, Source};
use mpi::request::{self, Request};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi_run::{n_ranks_of, rank_of};
use mpi_trace::Mode;
use program::Failure;
use units::Rank;

use crate::pattern::{Direction, Pattern, Rounds, Step};

/// An allreduce sums floating-point numbers of this size, the last of a message by its first bytes.
const NUMBER_BYTES: usize = size_of::<f64>();

/// This rank's part in an exchange.
pub(crate) struct Exchange<'a> {
    ranks: &'a SimpleCommunicator,
    kind: Kind,
}

enum Kind {
    Messages(Messages),
    Collective(Collective),
}

/// Messages to and from single ranks.
struct Messages {
    mode: Mode,
    steps: Vec<Step>,
    outbox: Vec<u8>,
    /// One for each step that receives, in their order.
    inboxes: Vec<Vec<u8>>,
}

/// A call that all ranks make.
struct Collective {
    pattern: Pattern,
    outbox: Vec<u8>,
    inbox: Vec<u8>,
    numbers: Vec<f64>,
    sums: Vec<f64>,
}

impl<'a> Exchange<'a> {
    /// Buffers for messages of up to `size_max` bytes between `ranks`.
    ///
    /// # Errors
    /// When there is not so much memory.
    pub(crate) fn prepare(
        ranks: &'a SimpleCommunicator,
        pattern: Pattern,
        mode: Mode,
        seed: u64,
        size_max: u64,
    ) -> Result<Self, Failure> {
        let n_ranks = n_ranks_of(ranks);
        let kind = if pattern.is_collective() {
            Kind::Collective(Collective::prepare(pattern, n_ranks, rank_of(ranks), size_max)?)
        } else {
            Kind::Messages(Messages::prepare(mode, &pattern.rounds(n_ranks, seed), rank_of(ranks), size_max)?)
        };
        Ok(Self { ranks, kind })
    }

    /// The ranks that take part.
    #[must_use]
    pub(crate) fn ranks(&self) -> &'a SimpleCommunicator {
        self.ranks
    }

    /// Returns the other rank of each step, in the order in which [`Exchange::run`] notes their ends; none for a
    /// collective.
    #[must_use]
    pub(crate) fn peers(&self) -> Vec<Option<Rank>> {
        match &self.kind {
            Kind::Messages(messages) => messages.steps.iter().map(|step| Some(step.peer)).collect(),
            Kind::Collective(_) => vec![None],
        }
    }

    /// Exchanges messages of `size` bytes, and notes when each step was through. Collective over the ranks.
    pub(crate) fn run(&mut self, size: usize, clock: &Stopwatch, ends_ns: &mut [u64]) {
        match &mut self.kind {
            Kind::Messages(messages) => messages.run(self.ranks, size, clock, ends_ns),
            Kind::Collective(collective) => {
                collective.run(self.ranks, size);
                ends_ns[0] = clock.elapsed_ns();
            }
        }
    }
}

impl Messages {
    fn prepare(mode: Mode, rounds: &Rounds, rank: Rank, size_max: u64) -> Result<Self, Failure> {
        let mut steps = rounds.steps(rank);
        if mode == Mode::NonBlocking {
            // Receives are posted first, so that no message comes unexpected.
            steps.sort_by_key(|step| step.direction == Direction::Send);
        }
        let n_receives = steps.iter().filter(|step| step.direction == Direction::Receive).count();
        let inboxes = (0..n_receives).map(|_| buffer(size_max)).collect::<Result<_, _>>()?;
        Ok(Self { mode, steps, outbox: buffer(size_max)?, inboxes })
    }

    fn run(&mut self, ranks: &SimpleCommunicator, size: usize, clock: &Stopwatch, ends_ns: &mut [u64]) {
        match self.mode {
            Mode::Blocking | Mode::Synchronous => self.run_in_rounds(ranks, size, clock, ends_ns),
            Mode::NonBlocking => self.run_at_once(ranks, size, clock, ends_ns),
        }
    }

    fn run_in_rounds(&mut self, ranks: &SimpleCommunicator, size: usize, clock: &Stopwatch, ends_ns: &mut [u64]) {
        let mut inboxes = self.inboxes.iter_mut();
        for (step, end) in self.steps.iter().zip(ends_ns) {
            let peer = ranks.process_at_rank(mpi_rank(step.peer));
            match (step.direction, self.mode) {
                (Direction::Receive, _) => {
                    let inbox = inboxes.next().expect("an inbox for each receive");
                    peer.receive_into_with_tag(&mut inbox[..size], step.tag);
                }
                (Direction::Send, Mode::Synchronous) => peer.synchronous_send_with_tag(&self.outbox[..size], step.tag),
                (Direction::Send, _) => peer.send_with_tag(&self.outbox[..size], step.tag),
            }
            *end = clock.elapsed_ns();
        }
    }

    fn run_at_once(&mut self, ranks: &SimpleCommunicator, size: usize, clock: &Stopwatch, ends_ns: &mut [u64]) {
        let Self { steps, outbox, inboxes, .. } = self;
        let outbox = &outbox[..size];
        let (receives, sends) = steps.split_at(inboxes.len());
        request::scope(|scope| {
            let mut requests: Vec<Request<'_, [u8], _>> = Vec::with_capacity(steps.len());
            for (step, inbox) in receives.iter().zip(inboxes) {
                let peer = ranks.process_at_rank(mpi_rank(step.peer));
                requests.push(peer.immediate_receive_into_with_tag(scope, &mut inbox[..size], step.tag));
            }
            for step in sends {
                let peer = ranks.process_at_rank(mpi_rank(step.peer));
                requests.push(peer.immediate_send_with_tag(scope, outbox, step.tag));
            }
            for (request, end) in requests.into_iter().zip(ends_ns) {
                request.wait_without_status();
                *end = clock.elapsed_ns();
            }
        });
    }
}

impl Collective {
    fn prepare(pattern: Pattern, n_ranks: u32, rank: Rank, size_max: u64) -> Result<Self, Failure> {
        let (out, inward) = collective_bytes(pattern, n_ranks, rank, size_max);
        let n_numbers = if pattern == Pattern::Allreduce { (size_max as usize).div_ceil(NUMBER_BYTES) } else { 0 };
        Ok(Self {
            pattern,
            outbox: buffer(out)?,
            inbox: buffer(inward)?,
            numbers: numbers(n_numbers)?,
            sums: numbers(n_numbers)?,
        })
    }

    fn run(&mut self, ranks: &SimpleCommunicator, size: usize) {
        let n_ranks = ranks.size() as usize;
        let root = ranks.process_at_rank(0);
        let is_root = ranks.rank() == 0;
        let (out, inward) = (&self.outbox, &mut self.inbox);
        match self.pattern {
            Pattern::Scatter if is_root => root.scatter_into_root(&out[..size * n_ranks], &mut inward[..size]),
            Pattern::Scatter => root.scatter_into(&mut inward[..size]),
            Pattern::Gather if is_root => root.gather_into_root(&out[..size], &mut inward[..size * n_ranks]),
            Pattern::Gather => root.gather_into(&out[..size]),
            Pattern::Allgather => ranks.all_gather_into(&out[..size], &mut inward[..size * n_ranks]),
            Pattern::Alltoall => ranks.all_to_all_into(&out[..size * n_ranks], &mut inward[..size * n_ranks]),
            _ => {
                let n_numbers = size.div_ceil(NUMBER_BYTES);
                ranks.all_reduce_into(&self.numbers[..n_numbers], &mut self.sums[..n_numbers], SystemOperation::sum());
            }
        }
    }
}

/// Memory that this rank's buffers take, those of ping-pong included, which go before the exchange runs on its own.
#[must_use]
pub(crate) fn n_buffer_bytes(pattern: Pattern, n_ranks: u32, rank: Rank, seed: u64, size_max: u64) -> u64 {
    let own = if pattern == Pattern::Allreduce {
        2 * size_max
    } else if pattern.is_collective() {
        let (out, inward) = collective_bytes(pattern, n_ranks, rank, size_max);
        out + inward
    } else {
        let steps = pattern.rounds(n_ranks, seed).steps(rank);
        let n_receives = steps.iter().filter(|step| step.direction == Direction::Receive).count() as u64;
        (1 + n_receives) * size_max
    };
    own + size_max
}

/// Returns the numbers of bytes that a rank sends from and receives into.
fn collective_bytes(pattern: Pattern, n_ranks: u32, rank: Rank, size_max: u64) -> (u64, u64) {
    let all = size_max * u64::from(n_ranks);
    let of_root = if rank == 0 { all } else { 0 };
    match pattern {
        Pattern::Scatter => (of_root, size_max),
        Pattern::Gather => (size_max, of_root),
        Pattern::Allgather => (size_max, all),
        Pattern::Alltoall => (all, all),
        _ => (0, 0),
    }
}

/// MPI's ranks are signed, and this came from one of them.
pub(super) fn mpi_rank(rank: Rank) -> i32 {
    i32::try_from(rank).expect("a rank of MPI")
}

fn buffer(n_bytes: u64) -> Result<Vec<u8>, Failure> {
    filled(n_bytes as usize, 0x5A)
}

/// Ones, whose sums stay finite.
fn numbers(count: usize) -> Result<Vec<f64>, Failure> {
    filled(count, 1.0)
}

fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, Failure> {
    let mut buffer = Vec::new();
    let n_bytes = count.saturating_mul(size_of::<T>());
    buffer
        .try_reserve_exact(count)
        .map_err(|_| Failure::work(format!("there is no memory for a buffer of {n_bytes} bytes")))?;
    buffer.resize(count, value);
    Ok(buffer)
}
