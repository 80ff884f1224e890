//! Calls of MPI programs on this host, taken from the rings that the tracer writes anyway: those of this user, and of
//! all users where it is root.

mod tally;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use kernel::control::PointState;
use kernel::{Arm, Error, GroupLimits, Node, Opener, Price, Reading, Subsystem, Traced};
use mpi_job::{JobError, Jobs, RingReader};
use mpi_trace::RingKind;
use procfs::process::Process;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use tally::{Tally, price};

/// The subsystem that is read from rings.
const NAME: &str = "mpi";

/// A fifth of what the ring of a rank holds that makes a call each 15 microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Folders are looked through for new rings once a second, and at each reading.
const N_LOOKS_BETWEEN: u32 = 10;
/// The greatest number of records of one ring at each look; 30 ms of work. More wait for the next, or are overwritten
/// and counted as lost.
const N_RECORDS_MAX: u64 = 1 << 20;
/// Rings of one user that are known at the same time. Each that is read keeps a file open.
const N_RINGS_MAX: usize = 2048;
/// One subsystem's share of the files that this process may open is one in so many.
const N_SHARES: usize = 4;

/// Whether a subsystem is read from rings, which say whose they are, so that each kind of node can be told apart.
pub fn knows(subsystem: &Subsystem) -> bool {
    subsystem.name == NAME
}

/// Opens the subsystem `mpi` itself, and leaves the others to another opener.
pub struct WithMpi {
    others: Box<dyn Opener>,
    price: Option<Price>,
}

impl WithMpi {
    /// Puts the MPI calls beside an opener of all other subsystems.
    pub fn beside(others: Box<dyn Opener>) -> Self {
        Self { others, price: None }
    }
}

impl Opener for WithMpi {
    fn open(
        &mut self,
        node: &Node,
        groups: &GroupLimits,
        subsystem: &'static Subsystem,
    ) -> Result<(Box<dyn Arm>, Price), Error> {
        if knows(subsystem) {
            let price = self.price.get_or_insert_with(|| price(Tally::new(groups, subsystem))).clone();
            let rings = Rings::below(Path::new(mpi_job::MEMORY), node, Tally::new(groups, subsystem));
            return Ok((Box::new(MpiCalls::follow(rings)), price));
        }
        self.others.open(node, groups, subsystem)
    }

    fn prepare(&mut self, groups: &GroupLimits, subsystem: &'static Subsystem) -> Result<(), Error> {
        if knows(subsystem) { Ok(()) } else { self.others.prepare(groups, subsystem) }
    }

    fn drain(&mut self, each: &mut dyn FnMut(&Node, Traced)) {
        self.others.drain(each);
    }
}

/// Rings, and a thread that reads them before they are overwritten, until this is dropped.
struct MpiCalls {
    rings: Arc<Mutex<Rings>>,
    _ends_with_this: Sender<()>,
}

impl MpiCalls {
    fn follow(rings: Rings) -> Self {
        let rings = Arc::new(Mutex::new(rings));
        let (ends, ended) = mpsc::channel();
        let read = Arc::clone(&rings);
        thread::spawn(move || {
            let mut n_looks = 0;
            loop {
                // Where there is nothing to read, a process that wakes up ten times a second is not free.
                let n_at_once = if lock(&read).followed.is_empty() { N_LOOKS_BETWEEN - n_looks } else { 1 };
                if ended.recv_timeout(LOOK_EVERY * n_at_once) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                let mut rings = lock(&read);
                n_looks = (n_looks + n_at_once) % N_LOOKS_BETWEEN;
                if n_looks == 0 {
                    rings.find();
                }
                rings.take();
            }
        });
        Self { rings, _ends_with_this: ends }
    }

    /// Changes the tally. What was written before still counts as it was asked for then.
    fn change(&self, make: impl FnOnce(&mut Tally)) -> Result<(), Error> {
        let mut rings = lock(&self.rings);
        rings.take();
        make(&mut rings.tally);
        Ok(())
    }
}

fn lock(rings: &Mutex<Rings>) -> MutexGuard<'_, Rings> {
    rings.lock().expect("whoever reads rings does not panic")
}

impl Arm for MpiCalls {
    fn name(&self) -> &'static str {
        "tracer"
    }

    fn read(&mut self) -> Result<Reading, Error> {
        let mut rings = lock(&self.rings);
        rings.find();
        rings.take();
        Ok(rings.reading())
    }

    fn set_weight(&mut self, weight: u32) -> Result<(), Error> {
        self.change(|tally| tally.weight = weight.max(1))
    }

    fn set_states(&mut self, states: &[PointState]) -> Result<(), Error> {
        self.change(|tally| tally.states = states.to_vec())
    }

    fn set_shed(&mut self, is_shed: bool) -> Result<(), Error> {
        self.change(|tally| tally.is_shed = is_shed)
    }

    fn missing(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The rings of a node's processes, and what was in them.
struct Rings {
    /// The place of the users' folders.
    memory: PathBuf,
    node: Node,
    followed: Vec<RingReader>,
    /// Files that are there and of no use, with their numbers: other kinds of rings, other nodes' processes, broken
    /// ones.
    passed_by: BTreeMap<PathBuf, u64>,
    /// Rings that are read at the same time, at most.
    n_files_max: usize,
    n_lost: u64,
    tally: Tally,
}

impl Rings {
    /// Counts from now on what is written into rings of jobs in users' folders below `memory`.
    fn below(memory: &Path, node: &Node, tally: Tally) -> Self {
        let mut rings = Self {
            memory: memory.into(),
            node: node.clone(),
            followed: Vec::new(),
            passed_by: BTreeMap::new(),
            n_files_max: n_files() / N_SHARES,
            n_lost: 0,
            tally,
        };
        rings.find();
        let is_of_old = |ring: &mut RingReader| !ring.process().is_running() || ring.pass().is_err();
        rings.passed_by.extend(rings.followed.extract_if(.., is_of_old).map(|ring| (ring.path, ring.number)));
        rings
    }

    /// Takes notice of rings that were made since, and of those that are gone.
    fn find(&mut self) {
        let is_there = |path: &Path, file: u64| file_at(path) == Some(file);
        // Nobody writes into a ring any more whose file is gone or has made room for another, but not all of it may
        // have been read.
        let (there, gone) =
            mem::take(&mut self.followed).into_iter().partition(|ring| is_there(&ring.path, ring.number));
        self.followed = gone;
        self.take();
        self.followed = there;
        self.passed_by.retain(|path, file| is_there(path, *file));
        for jobs in Jobs::below(&self.memory) {
            let known = self.passed_by.keys().chain(self.followed.iter().map(|ring| &ring.path));
            let known: BTreeSet<PathBuf> = known.filter(|path| path.starts_with(jobs.path())).cloned().collect();
            let n_max =
                N_RINGS_MAX.saturating_sub(known.len()).min(self.n_files_max.saturating_sub(self.followed.len()));
            for found in jobs.rings_but(n_max, |path| known.contains(path)) {
                match found {
                    Ok(ring) if ring.header.kind == RingKind::Calls && is_on(&self.node, &ring) => {
                        self.followed.push(ring);
                    }
                    Ok(RingReader { path, .. }) | Err(JobError::Ring { path, .. } | JobError::File { path, .. }) => {
                        self.passed_by.extend(file_at(&path).map(|file| (path, file)));
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Counts what was written since the last time, also by ranks that have ended since.
    fn take(&mut self) {
        let Self { followed, passed_by, n_lost, tally, .. } = self;
        followed.retain_mut(|ring| {
            let line = ring.line();
            let taken = match tally.is_shed {
                true => ring.pass().map(|()| 0),
                false => ring.take(N_RECORDS_MAX, |event| tally.count(&line, event)),
            };
            match taken {
                Ok(n) => *n_lost = n_lost.saturating_add(n),
                // Somebody has cut it.
                Err(_) => _ = passed_by.insert(mem::take(&mut ring.path), ring.number),
            }
            taken.is_ok()
        });
    }

    /// All counters; the shortest and longest are those since the last reading.
    fn reading(&mut self) -> Reading {
        let cells = self.tally.cells.clone();
        self.tally.cells.values_mut().for_each(|cell| (cell.min_ns, cell.max_ns) = (None, None));
        let lost = [("records of MPI calls were overwritten before they were read", self.n_lost)].into();
        Reading { at_ns: clock::monotonic_ns(), cells, lost, ..Reading::default() }
    }
}

/// Files that this process may have open: from now on as many as it may allow itself.
fn n_files() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it may not, it goes on with what it has.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize)
}

/// The file system's number of a file, if there is one.
fn file_at(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|found| found.ino())
}

/// Whether the process that made a ring is on a node. Whoever owns the file could name any; another user's does not
/// count.
fn is_on(node: &Node, ring: &RingReader) -> bool {
    let process = |pid: u32| Process::new(pid.cast_signed()).ok();
    let own = || process(ring.header.pid).filter(|own| own.status().is_ok_and(|status| status.euid == ring.user));
    match node {
        Node::Host => true,
        Node::Tree(root) => {
            let parent = |of: &Process| process(of.stat().ok()?.ppid.cast_unsigned());
            std::iter::successors(own(), parent).any(|process| process.pid.cast_unsigned() == *root)
        }
        Node::Cgroup(folder) => {
            let Some(mount) = folder.ancestors().filter(|above| above.join("cgroup.procs").exists()).last() else {
                return false;
            };
            let groups = own().and_then(|process| process.cgroups().ok());
            groups
                .into_iter()
                .flatten()
                .filter(|group| group.hierarchy == 0)
                .any(|group| mount.join(group.pathname.trim_start_matches('/')).starts_with(folder))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use mpi_job::{Folder, RingFile};
    use mpi_trace::{Event, Operation, Peer, RingHeader, Subject};
    use tempfile::{TempDir, tempdir};

    use super::tally::{COLLECTIVE, N_TRIED, RECEIVE, SEND, WAIT, ring_to_try};
    use super::*;

    fn ring(folder: &Folder, rank: u32, capacity: u64) -> RingFile {
        let this = mpi_job::Process::this();
        let header = RingHeader {
            kind: RingKind::Calls,
            rank,
            n_ranks: 2,
            pid: this.pid,
            pid_started: this.started,
            thread: 0,
            is_counter: false,
            reading: mpi_trace::Reading::default(),
            tree: 0,
            host: "here".into(),
        };
        folder.create_ring(capacity, &header).unwrap()
    }

    fn job() -> (TempDir, Folder) {
        let memory = tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        let folder = Folder::create(&memory.path().join(format!("foretop-{user}/job"))).unwrap();
        (memory, folder)
    }

    fn rings(memory: &TempDir, node: &Node) -> Rings {
        Rings::below(memory.path(), node, Tally::new(&GroupLimits::default(), kernel::find(NAME).unwrap()))
    }

    fn call(operation: Operation, peer: Peer, bytes: u64, length_ns: u64) -> Event {
        let subject = Subject::Call { communicator: 0, peer, tag: None };
        Event { start: 1_000, end: 1_000 + length_ns, bytes, operation, is_failed: false, subject }
    }

    fn write(ring: &RingFile, events: &[Event]) {
        let mut writer = ring.ring().writer();
        events.iter().for_each(|event| writer.write(event.to_records()));
    }

    /// Count, nanoseconds, bytes returned.
    fn figures(reading: &Reading, point: usize, group: usize) -> (u64, u64, u64) {
        let cell = &reading.cells[&(point, group)];
        (cell.count.unwrap(), cell.time_ns.unwrap(), cell.returned.unwrap_or(0))
    }

    fn n_lost(reading: &Reading) -> u64 {
        reading.lost.values().sum()
    }

    #[test]
    fn calls_count_from_the_opening_on_by_what_they_move() {
        let (memory, folder) = job();
        let (early, peer) = (ring(&folder, 0, 64), Peer::Rank(1));
        write(&early, &[call(Operation::SEND, peer, 8, 100)]);
        let mut rings = rings(&memory, &Node::Host);
        let part = Subject::Part { communicator: 0, peer, tag: None };
        write(
            &early,
            &[
                call(Operation::SEND, peer, 64, 100),
                Event { is_failed: true, ..call(Operation::SSEND, peer, 10, 300) },
                call(Operation::SEND, Peer::Null, 10, 50),
                call(Operation::SENDRECV, peer, 5_000, 200),
                Event { subject: part, ..call(Operation::RECV, peer, 1 << 40, 200) },
                call(Operation::WAITALL, Peer::None, 0, 7),
                call(Operation::BARRIER, Peer::None, 0, 9),
                call(Operation::INIT, Peer::None, 0, 9),
            ],
        );
        let late = ring(&folder, 1, 64);
        write(&late, &[call(Operation::IALLREDUCE, Peer::None, 8, 1)]);
        rings.find();
        rings.take();
        let reading = rings.reading();
        assert_eq!(figures(&reading, SEND, 0), (2, 400, 64));
        assert_eq!((reading.cells[&(SEND, 0)].min_ns, reading.cells[&(SEND, 0)].max_ns), (Some(100), Some(300)));
        assert_eq!(reading.cells[&(SEND, 0)].ranges.unwrap()[6..9], [1, 0, 1]);
        assert_eq!(figures(&reading, SEND, 3), (1, 200, 5_000));
        assert_eq!(figures(&reading, RECEIVE, 7), (1, 200, 1 << 40));
        assert_eq!(figures(&reading, WAIT, 0), (1, 7, 0));
        assert_eq!(figures(&reading, COLLECTIVE, 0), (2, 10, 8));
        assert_eq!(n_lost(&reading), 0);

        rings.tally.states[SEND] = PointState::Inactive;
        write(&early, &[call(Operation::SEND, peer, 8, 1), call(Operation::RECV, peer, 8, 1)]);
        rings.find();
        rings.take();
        let reading = rings.reading();
        assert_eq!((figures(&reading, SEND, 0).0, figures(&reading, RECEIVE, 0).0), (2, 1));
        assert_eq!(reading.cells[&(SEND, 0)].min_ns, None);
    }

    #[test]
    fn above_the_budget_one_call_stands_for_several_and_then_none_counts() {
        let (memory, folder) = job();
        let ring = ring(&folder, 0, 64);
        let mut rings = rings(&memory, &Node::Host);
        rings.tally.weight = 4;
        write(&ring, &[call(Operation::SEND, Peer::Rank(1), 8, 10); 20]);
        rings.find();
        rings.take();
        rings.tally.is_shed = true;
        write(&ring, &[call(Operation::SEND, Peer::Rank(1), 8, 10); 20]);
        rings.find();
        rings.take();
        rings.tally.is_shed = false;
        rings.find();
        rings.take();
        let reading = rings.reading();
        assert_eq!((figures(&reading, SEND, 0), n_lost(&reading)), ((20, 200, 160), 0));
        assert_eq!(reading.n_sampled(), 5);
    }

    #[test]
    fn reading_a_record_has_a_price() {
        let price = price(Tally::new(&GroupLimits::default(), kernel::find(NAME).unwrap()));
        assert!(price.paid.event_ns > 0.0, "{price:?}");
        let mut ring = RingReader::new(ring_to_try().unwrap(), 0, PathBuf::new()).unwrap();
        let mut n_events = 0;
        let n_lost = ring.take(u64::MAX, |_| n_events += 1).unwrap();
        assert_eq!((n_events, n_lost), (N_TRIED - 1, 0));
    }

    #[test]
    fn what_was_overwritten_is_counted_as_lost_and_a_rank_that_ended_is_read_to_its_end() {
        let (memory, folder) = job();
        fs::write(folder.path().join("calls-7-0.ring"), [7; 4000]).unwrap();
        let mut rings = rings(&memory, &Node::Host);
        let ring = ring(&folder, 0, 8);
        rings.find();
        rings.take();
        write(&ring, &[call(Operation::SEND, Peer::Rank(1), 8, 1); 100]);
        folder.remove().unwrap();
        rings.find();
        rings.take();
        rings.find();
        let reading = rings.reading();
        assert_eq!(figures(&reading, SEND, 0).0 + n_lost(&reading), 100);
        assert!(n_lost(&reading) >= 92);
        assert!(rings.followed.is_empty() && rings.passed_by.is_empty());
    }

    #[test]
    fn a_ring_in_the_place_of_another_is_read_from_its_begin() {
        let (memory, folder) = job();
        let send = call(Operation::SEND, Peer::Rank(1), 8, 1);
        fs::write(folder.path().join("calls-1-0.ring"), [7; 4000]).unwrap();
        let first = ring(&folder, 0, 8);
        let mut rings = rings(&memory, &Node::Host);
        write(&first, &[send; 3]);
        // Nothing was read of the first, and nothing can be of what the others replace.
        let later = [0, 1].map(|rank| ring(&folder, rank, 8));
        later.iter().for_each(|ring| write(ring, &[send; 2]));
        for _ in 0..2 {
            rings.find();
            rings.take();
        }
        let reading = rings.reading();
        assert_eq!((figures(&reading, SEND, 0).0, n_lost(&reading)), (7, 0));
        assert_eq!((rings.followed.len(), rings.passed_by.len()), (2, 0));
    }

    #[test]
    fn half_an_event_of_a_rank_that_was_killed_keeps_no_ring() {
        let (memory, folder) = job();
        let mut rings = rings(&memory, &Node::Host);
        let ring = ring(&folder, 0, 8);
        let (extension, _) = call(Operation::SEND, Peer::Rank(1), 1 << 40, 1).to_records();
        write(&ring, &[call(Operation::SEND, Peer::Rank(1), 8, 1)]);
        ring.ring().writer().write((None, extension.unwrap()));
        rings.find();
        rings.take();
        folder.remove().unwrap();
        rings.find();
        assert_eq!(figures(&rings.reading(), SEND, 0).0, 1);
        assert!(rings.followed.is_empty());
    }

    #[test]
    fn a_node_has_the_calls_of_its_own_processes() {
        let (memory, folder) = job();
        let ring = ring(&folder, 0, 8);
        let mut own = rings(&memory, &Node::Tree(std::process::id()));
        let mut other = rings(&memory, &Node::Tree(u32::MAX));
        let mut nowhere = rings(&memory, &Node::Cgroup("/nowhere/a".into()));
        write(&ring, &[call(Operation::SEND, Peer::Rank(1), 8, 1)]);
        let seen = [&mut own, &mut other, &mut nowhere].map(|rings| {
            rings.find();
            rings.take();
            figures(&rings.reading(), SEND, 0).0
        });
        assert_eq!(seen, [1, 0, 0]);
    }

    #[test]
    fn a_ring_that_is_cut_is_given_up_and_others_are_read_on() {
        let (memory, folder) = job();
        let mut rings = rings(&memory, &Node::Host);
        let [cut, whole] = [0, 1].map(|rank| ring(&folder, rank, 8));
        rings.find();
        let send = call(Operation::SEND, Peer::Rank(1), 8, 1);
        write(&cut, &[send; 4]);
        write(&whole, &[send; 4]);
        File::options().write(true).open(&cut.path).unwrap().set_len(8).unwrap();
        for _ in 0..2 {
            rings.take();
            rings.find();
        }
        assert_eq!(figures(&rings.reading(), SEND, 0).0, 4);
        assert_eq!((rings.followed.len(), rings.passed_by.len()), (1, 1));
    }

    #[test]
    fn no_user_puts_calls_into_the_process_tree_of_another() {
        let (_memory, folder) = job();
        let path = ring(&folder, 0, 8).path;
        let [own, other] = [0, 1].map(|more| {
            let user = rustix::process::geteuid().as_raw() + more;
            RingReader::new(File::open(&path).unwrap(), user, path.clone()).unwrap()
        });
        let tree = Node::Tree(std::process::id());
        assert_eq!([is_on(&tree, &own), is_on(&tree, &other), is_on(&Node::Host, &other)], [true, false, true]);
    }
}
