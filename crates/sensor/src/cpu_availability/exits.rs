//! Tasks that ended: whose children they were, what they used, and how long they waited.
//!
//! A process that lasts a millisecond is hardly ever met in `/proc`. To a listener with the right to it
//! (`CAP_NET_ADMIN`, outside of containers) the kernel sends a record of each task that ends. Of a storm of them a
//! sample is read, as many as the socket holds; how many there were is known from the count of forks.

use std::{collections::BTreeMap, fs, os::fd::OwnedFd, path::Path, time::Duration};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send, socket_with, sockopt,
};

use super::{
    group::{Groups, Place},
    recent::Recent,
    record::{self, Record},
    task::Class,
    thread::YOUNG,
};

/// The greatest number of records that are read at one look: a tenth of a millisecond.
const N_READ_MAX: usize = 128;

/// The size of the socket's buffer, in bytes as the kernel counts them: about as many records as are read.
const BUFFER_BYTES: usize = 128 << 10;

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_NAME`, `CTRL_ATTR_FAMILY_ID`.
const CONTROL: (u16, u8, u16, u16) = (0x10, 3, 2, 1);

/// `TASKSTATS_CMD_GET`, `TASKSTATS_CMD_ATTR_REGISTER_CPUMASK`.
const REGISTER: (u8, u16) = (1, 3);

/// The greatest number of parents whose place is looked up at one look.
const N_PLACES_MAX: usize = 16;

/// A part of the ended that is smaller than this many seconds is forgotten.
const SECONDS_MIN: f64 = 1e-4;

/// Tasks that ended, as far as a sample of them was seen.
#[derive(Debug)]
pub(crate) struct Exits {
    listener: Option<Listener>,
    read_at: Option<Duration>,
    last_n_forks: Option<u64>,
    /// The number of tasks that were started, and the number of records that were read.
    counts: Recent<2>,
    /// Seconds used and waited by the children of each process, and how many they were, by their weight.
    by_parent: BTreeMap<(u32, u32), Recent<3>>,
    /// The place of each parent; none for a parent that was gone when its place was looked for.
    places: BTreeMap<u32, Option<Place>>,
}

/// The work of the young children of a process that ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended<'a> {
    pub parent: u32,
    pub place: &'a Place,
    pub weight: f64,
    /// The cores used, of the sample made good for all.
    pub used: f64,
    pub waited: f64,
    /// The mean time of a core that each used, in seconds.
    pub used_by_each: f64,
}

impl Exits {
    /// Listens to the kernel whose files are under `root`, if this process may.
    pub(crate) fn open(root: &Path) -> Exits {
        // A recorded tree is no kernel that tasks end in.
        let listener = (root == Path::new("/")).then(|| Listener::open(root)).flatten();
        Exits { listener, ..Exits::default() }
    }

    /// Takes in the records that came, and that `n_forks` tasks were started since the host was.
    pub(crate) fn read(&mut self, at: Duration, n_forks: Option<u64>, groups: &mut Groups) {
        let Some(listener) = &mut self.listener else { return };
        let records = listener.read();
        self.take(at, n_forks, &records);
        self.find_places(|parent| groups.has(parent).then(|| groups.place_of(&parent.to_string(), at)));
    }

    /// Looks up where those parents are that are not known yet.
    fn find_places(&mut self, mut place_of: impl FnMut(u32) -> Option<Place>) {
        let is_parent = |parent| self.by_parent.range((parent, 0)..=(parent, u32::MAX)).next().is_some();
        self.places.retain(|&parent, _| is_parent(parent));
        let unknown =
            self.by_parent.keys().map(|(parent, _)| *parent).filter(|parent| !self.places.contains_key(parent));
        let mut unknown: Vec<u32> = unknown.collect();
        unknown.dedup();
        self.places.extend(unknown.into_iter().take(N_PLACES_MAX).map(|parent| (parent, place_of(parent))));
    }

    fn take(&mut self, at: Duration, n_forks: Option<u64>, records: &[Record]) {
        let span = self.read_at.replace(at).map_or(Duration::ZERO, |read_at| at.saturating_sub(read_at));
        let last_n_forks = std::mem::replace(&mut self.last_n_forks, n_forks);
        let n_started = n_forks.zip(last_n_forks).and_then(|(n_forks, last)| n_forks.checked_sub(last));
        let n_read = records.len() as f64;
        self.counts.add(span, [n_started.map_or(n_read, |n_started| n_started as f64), n_read]);
        let mut sums: BTreeMap<(u32, u32), [f64; 3]> = BTreeMap::new();
        for record in records {
            // The others were met while they ran, and their work is over.
            let is_young = Duration::from_micros(record.lived_us) < YOUNG;
            if let (Class::Fair(weight), true) = (Class::of(record.policy, record.nice), is_young) {
                // Weights are whole numbers below 100,000.
                let [used, waited, n] = sums.entry((record.parent, weight as u32)).or_default();
                *used += record.used_ns as f64 * 1e-9;
                *waited += record.waited_ns as f64 * 1e-9;
                *n += 1.0;
            }
        }
        for key in sums.keys() {
            self.by_parent.entry(*key).or_insert_with(Recent::idle);
        }
        self.by_parent.retain(|key, recent| {
            recent.add(span, sums.get(key).copied().unwrap_or_default());
            let [used, waited, _] = recent.sums();
            used + waited >= SECONDS_MIN
        });
    }

    /// Returns the work of the tasks that ended, by their parents. Orphans are left out, because nobody knows where
    /// they were.
    pub(crate) fn ended(&self) -> Vec<Ended<'_>> {
        let [n_started, n_read] = self.counts.sums();
        // Of tasks that were started before, more can end than start.
        let missed = if n_read > 0.0 { (n_started / n_read).max(1.0) } else { 1.0 };
        let ended = self.by_parent.iter().filter_map(|((parent, weight), recent)| {
            let [used, waited, n] = recent.rates()?.map(|rate| rate * missed);
            let place = self.places.get(parent)?.as_ref()?;
            Some(Ended { parent: *parent, place, weight: f64::from(*weight), used, waited, used_by_each: used / n })
        });
        ended.collect()
    }
}

impl Default for Exits {
    fn default() -> Exits {
        Exits {
            listener: None,
            read_at: None,
            last_n_forks: None,
            counts: Recent::idle(),
            by_parent: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }
}

/// A socket that the kernel sends records to.
#[derive(Debug)]
struct Listener {
    socket: OwnedFd,
    family: u16,
    piece: Vec<u8>,
}

impl Listener {
    /// None without the right to it, in a container, and with a kernel that keeps no such records.
    fn open(root: &Path) -> Option<Listener> {
        let possible = fs::read(root.join("sys/devices/system/cpu/possible")).ok()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::GENERIC)).ok()?;
        bind(&socket, &netlink::SocketAddrNetlink::new(0, 0)).ok()?;
        sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES / 2).ok()?;
        let mut listener = Listener { socket, family: 0, piece: vec![0; 16 << 10] };
        let (control, get_family, name, id) = CONTROL;
        let answer = listener.ask(&record::request(control, get_family, name, b"TASKSTATS"))?;
        let attributes = record::attributes(answer.get(record::HEADERS_LEN..)?);
        let family = attributes.filter(|(kind, _)| *kind == id).find_map(|(_, id)| record::u16_at(id, 0))?;
        listener.family = family;
        // The answer to an ask that is refused is an error with a number.
        while listener.next().is_some() {}
        let (command, cores) = REGISTER;
        let answer = listener.ask(&record::request(family, command, cores, possible.trim_ascii()))?;
        (record::u32_at(&answer, 16) == Some(0)).then_some(listener)
    }

    /// The first message of the answer, which the kernel gives before the call returns.
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        send(&self.socket, request, SendFlags::empty()).ok()?;
        let piece = self.next()?;
        record::messages(piece).next().map(<[u8]>::to_vec)
    }

    /// Returns the next record, if there is one.
    fn next(&mut self) -> Option<&[u8]> {
        // One call fails once when records were lost, and the next goes on.
        let received = (0..2).find_map(|_| recv(&self.socket, &mut self.piece, RecvFlags::empty()).ok());
        received.map(|(_, len)| &self.piece[..len.min(self.piece.len())])
    }

    /// The records that came. What is left is a sample of the next look's.
    fn read(&mut self) -> Vec<Record> {
        let family = self.family;
        let mut records = Vec::new();
        while records.len() < N_READ_MAX
            && let Some(piece) = self.next()
        {
            records.extend(record::messages(piece).filter_map(|message| Record::parse(message, family)));
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: Record =
        Record { parent: 5, nice: 0, policy: 0, used_ns: 1_000_000, waited_ns: 500_000, lived_us: 2000 };

    /// Half a minute in which each second `n_forks` tasks are started and `records` are read.
    fn read(n_forks: Option<u64>, records: &[Record]) -> Exits {
        let mut exits = Exits::default();
        for at_s in 0..60 {
            exits.take(Duration::from_secs(at_s), n_forks.map(|n_forks| n_forks * at_s), records);
            exits.find_places(|parent| (parent == 5).then_some(Place::Root));
        }
        exits
    }

    #[track_caller]
    fn check(exits: &Exits, used: f64, waited: f64) {
        let ended = exits.ended();
        let [one] = ended.as_slice() else { panic!("{ended:?}") };
        // 12 memories of 5 seconds leave less than a hundred-thousandth.
        assert!((one.used - used).abs() < 1e-4 && (one.waited - waited).abs() < 1e-4, "{one:?}");
        assert_eq!((one.parent, one.weight), (5, 1024.0));
        assert!((one.used_by_each - 0.001).abs() < 1e-9, "{one:?}");
    }

    #[test]
    fn a_sample_stands_for_all_that_ended() {
        check(&read(None, &[CHILD; 100]), 0.1, 0.05);
        check(&read(Some(400), &[CHILD; 100]), 0.4, 0.2);
    }

    #[test]
    fn what_lasted_long_is_no_storm() {
        assert_eq!(read(None, &[Record { lived_us: 4_000_000, ..CHILD }]).ended(), []);
        assert_eq!(read(None, &[Record { policy: 1, ..CHILD }]).ended(), []);
    }

    #[test]
    fn the_children_of_one_that_is_gone_are_left_to_the_rest() {
        assert_eq!(read(None, &[Record { parent: 6, ..CHILD }; 100]).ended(), []);
    }

    /// Whoever lacks the right has no listener, and nothing to claim of it.
    #[test]
    fn a_listener_hears_of_children_that_end() {
        let Some(mut listener) = Listener::open(Path::new("/")) else { return };
        testkit::wait_until("a child's record is there", testkit::PATIENCE, || {
            // Many others may end meanwhile, and a record be lost among theirs.
            std::process::Command::new("true").status().unwrap();
            let is_child = |record: &Record| record.parent == std::process::id() && record.used_ns > 0;
            listener.read().iter().any(is_child).then_some(())
        });
    }

    #[test]
    fn a_storm_that_is_over_is_forgotten() {
        let mut exits = Exits::default();
        for at_s in 0..80 {
            let records: &[Record] = if at_s < 20 { &[CHILD; 100] } else { &[] };
            exits.take(Duration::from_secs(at_s), None, records);
        }
        assert_eq!(exits.by_parent, BTreeMap::new());
    }
}
