//! A process's part in a run under MPI: the world, and ends that all ranks come to together.

use std::panic;
use std::process;

use clock::Stopwatch;
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::environment::{self, Threading, Universe};
use mpi::topology::{Color, Communicator, SimpleCommunicator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use units::Rank;

use program::Failure;

use crate::ending::Ending;
use crate::header::{Header, Offset, Placement, allowed_cpus, host_name, transport};
use crate::measurement::Measurement;
use crate::survey::ClockQuality;
use crate::work::Calibration;

/// MPI, begun; it is ended when this is dropped.
pub struct Session {
    world: SimpleCommunicator,
    // Last, since it must outlive all communicators.
    _universe: Universe,
}

impl Session {
    /// Begins MPI, for calls from one thread. A panic on any rank ends all of them, since the others would wait for
    /// ever.
    ///
    /// # Errors
    /// When MPI was begun before in this process.
    pub fn start() -> Result<Self, Failure> {
        let (universe, _) = environment::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| Failure::work("MPI was begun already in this process"))?;
        let world = universe.world();
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            told(info);
            abort();
        }));
        Ok(Self { world, _universe: universe })
    }

    /// Returns the communicator of all ranks.
    #[must_use]
    pub fn world(&self) -> &SimpleCommunicator {
        &self.world
    }

    /// Returns this process's position among all ranks.
    #[must_use]
    pub fn rank(&self) -> Rank {
        rank_of(&self.world)
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        n_ranks_of(&self.world)
    }

    /// Whether this is rank 0, which reads, writes and reports for all.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Waits until all ranks have come here. Collective.
    pub fn wait_for_all(&self) {
        self.world.barrier();
    }

    /// Returns the ranks of this rank's host, by its name: not all libraries hold ranks that share no memory to be on
    /// one host. Collective.
    #[must_use]
    pub fn host(&self) -> SimpleCommunicator {
        let mine = host_name();
        let names: Vec<String> = broadcast(&self.world, gather(&self.world, &mine).as_ref());
        let first = names.iter().position(|name| *name == mine).expect("this rank told its name");
        let colour = Color::with_value(mpi_count(first));
        self.world.split_by_color(colour).expect("a colour that is not undefined has a communicator")
    }

    /// Brings all ranks to the same end: where one failed, all fail, with the words of the lowest rank that did.
    /// Collective.
    ///
    /// # Errors
    /// That failure, on all ranks; one of them is to tell it.
    pub fn agree<T>(&self, mine: Result<T, Failure>) -> Result<T, Ending> {
        let me = self.world.rank();
        let candidate = if mine.is_err() { me } else { i32::MAX };
        let mut failing = i32::MAX;
        self.world.all_reduce_into(&candidate, &mut failing, SystemOperation::min());
        if failing == i32::MAX {
            return mine.map_err(|failure| Ending { failure, is_mine_to_tell: true });
        }
        let words = (me == failing).then(|| mine.err()).flatten();
        let failure = broadcast_from(&self.world, failing, words.as_ref());
        Err(Ending { failure, is_mine_to_tell: me == failing })
    }

    /// Lets rank 0 find something out, such as the content of a file, and broadcasts it. Collective.
    ///
    /// # Errors
    /// What rank 0 failed with, on all ranks.
    pub fn first_finds<T: Serialize + DeserializeOwned>(
        &self,
        find: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Ending> {
        let found = if self.is_first() { find().map(Some) } else { Ok(None) };
        let found = self.agree(found)?;
        Ok(broadcast(&self.world, found.as_ref()))
    }

    /// Returns the head of a run's results, the same on all ranks. Collective.
    #[must_use]
    pub fn header(
        &self,
        measurement: &dyn Measurement,
        arguments: Vec<String>,
        seed: u64,
        clock: &Stopwatch,
    ) -> Header {
        let transport = transport(|name| std::env::var(name).ok());
        Header { transport, ..Header::of(measurement, library(), arguments, seed, self.placements(clock)) }
    }

    /// Returns the placement of every rank, the same on all ranks: surveys clocks, calibrates work, compares clocks
    /// with rank 0's. Collective.
    ///
    /// Ranks of a host calibrate at the same time, as they will work.
    fn placements(&self, clock: &Stopwatch) -> Vec<Placement> {
        self.world.barrier();
        let calibration = Calibration::measure();
        let quality = ClockQuality::survey(clock);
        let mine = Placement {
            rank: self.rank(),
            host: host_name(),
            cpus: allowed_cpus(),
            clock: quality,
            calibration,
            offset: Offset::to_first(&self.world, clock),
        };
        let all = gather(&self.world, &mine);
        broadcast(&self.world, all.as_ref())
    }
}

/// Returns the name that the library gives itself, in one line. May be called before MPI is begun.
#[must_use]
pub fn library() -> String {
    let version = environment::library_version().unwrap_or_else(|_| "a library without a readable name".to_owned());
    let first = version.lines().next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('\0').to_owned()
}

/// Ends all ranks at once with exit status 1.
fn abort() -> ! {
    if environment::is_initialized() && !environment::is_finalized() {
        SimpleCommunicator::world().abort(1);
    }
    process::exit(1);
}

/// Returns this process's position in `ranks`.
#[must_use]
pub fn rank_of(ranks: &impl Communicator) -> Rank {
    Rank::try_from(ranks.rank()).expect("MPI counts ranks from 0")
}

/// Returns the number of `ranks`.
#[must_use]
pub fn n_ranks_of(ranks: &impl Communicator) -> u32 {
    u32::try_from(ranks.size()).expect("a communicator has a size")
}

/// Returns each rank's value on rank 0, in the order of ranks; `None` elsewhere. Collective.
pub fn gather<T: Serialize + DeserializeOwned>(ranks: &SimpleCommunicator, mine: &T) -> Option<Vec<T>> {
    let bytes = encoded(mine);
    let length = mpi_count(bytes.len());
    let root = ranks.process_at_rank(0);
    if ranks.rank() != 0 {
        root.gather_into(&length);
        root.gather_varcount_into(&bytes[..]);
        return None;
    }
    let mut lengths = vec![0; ranks.size() as usize];
    root.gather_into_root(&length, &mut lengths[..]);
    let starts: Vec<i32> =
        lengths.iter().scan(0, |next, &length| Some(std::mem::replace(next, *next + length))).collect();
    let mut all = vec![0_u8; lengths.iter().sum::<i32>() as usize];
    {
        let mut parts = mpi::datatype::PartitionMut::new(&mut all[..], &lengths[..], &starts[..]);
        root.gather_varcount_into_root(&bytes[..], &mut parts);
    }
    let of_rank = |(&start, &length): (&i32, &i32)| decoded(&all[start as usize..(start + length) as usize]);
    Some(starts.iter().zip(&lengths).map(of_rank).collect())
}

/// Returns rank 0's value on all ranks; others give `None`. Collective.
///
/// # Panics
/// When rank 0 gives none.
pub fn broadcast<T: Serialize + DeserializeOwned>(ranks: &SimpleCommunicator, mine: Option<&T>) -> T {
    broadcast_from(ranks, 0, mine)
}

fn broadcast_from<T: Serialize + DeserializeOwned>(ranks: &SimpleCommunicator, root: i32, mine: Option<&T>) -> T {
    let mut bytes =
        if ranks.rank() == root { encoded(mine.expect("the root has something to tell")) } else { Vec::new() };
    let mut length = mpi_count(bytes.len());
    let process = ranks.process_at_rank(root);
    process.broadcast_into(&mut length);
    bytes.resize(length as usize, 0);
    process.broadcast_into(&mut bytes[..]);
    decoded(&bytes)
}

/// Returns a length as MPI counts it. Messages between ranks are small, so that a length always fits.
fn mpi_count(length: usize) -> i32 {
    i32::try_from(length).expect("what ranks tell each other is below 2 GiB")
}

fn encoded<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("values of a run have no keys but text")
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).expect("another rank of the same program encoded this")
}
