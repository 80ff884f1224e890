//! Receivers: connections that an agent writes all that it measures to, as a file of records that ends when they say
//! so.
//!
//! A receiver that does not read costs records of traced points, which are counted, and no more memory than its
//! backlog. One that does not even read summaries is put out.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use record::Format;

use crate::{Error, GroupLimits, Pulled, Recorder, Traced};

/// Backlog, in bytes, above which records of traced points are left out.
const BACKLOG_MAX: usize = 16 << 20;

/// Backlog, in bytes, of summaries alone above which a receiver is stuck.
const STUCK: usize = 2 * BACKLOG_MAX;

/// Name of the attribute that holds the receiver's name, first in the file.
pub const RECEIVER: &str = "Receiver";

/// Name of the heartbeat attribute: nothing happened but the agent lives, so that a dead connection is told from a
/// quiet one.
pub const ALIVE: &str = "Alive";

/// Time without any record after which a heartbeat is sent.
const ALIVE_AFTER_NS: u64 = 10_000_000_000;

/// Bytes that wait to be sent.
#[derive(Clone, Default)]
struct Backlog(Rc<RefCell<VecDeque<u8>>>);

impl Write for Backlog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection that all is written to.
pub(crate) struct Receiver {
    name: String,
    stream: UnixStream,
    backlog: Backlog,
    /// Gone once the file has ended.
    recorder: Option<Recorder<Backlog>>,
    received: BTreeMap<(u32, &'static str), u64>,
    skipped: BTreeMap<(u32, &'static str), u64>,
    /// Records that found no room in the ring: as of its begin, and now.
    dropped: BTreeMap<(u32, &'static str), (u64, u64)>,
    said_ns: u64,
}

impl Receiver {
    /// Begins its file with the attributes of its origin. `latest` was pulled at this moment.
    pub(crate) fn begin(
        name: String,
        stream: UnixStream,
        origin: Vec<(String, String)>,
        limits: GroupLimits,
        latest: &[Pulled],
    ) -> Result<Self, Error> {
        let backlog = Backlog::default();
        let head = [(RECEIVER.to_owned(), name.clone())].into_iter().chain(origin).collect();
        let recorder = Some(Recorder::new(Format::Own, backlog.clone(), head, limits)?);
        let dropped = latest.iter().map(|one| {
            let life = one.summary.life_dropped;
            ((one.key.node, one.key.name), (life, life))
        });
        let (received, skipped) = (BTreeMap::new(), BTreeMap::new());
        let said_ns = clock::monotonic_ns();
        Ok(Self { name, stream, backlog, recorder, received, skipped, dropped: dropped.collect(), said_ns })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether something waits to be sent.
    pub(crate) fn is_behind(&self) -> bool {
        !self.backlog.0.borrow().is_empty()
    }

    /// Takes the summaries of a pull.
    pub(crate) fn pulled(&mut self, pulled: &[Pulled]) -> Result<(), Error> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        for one in pulled {
            let life = one.summary.life_dropped;
            let of = self.dropped.entry((one.key.node, one.key.name)).or_insert((0, 0));
            // A subsystem that was turned off meanwhile counts from 0 again.
            *of = if life < of.1 { (0, life + of.1 - of.0) } else { (of.0, life) };
            recorder.summary(one)?;
        }
        self.said_ns = clock::monotonic_ns();
        Ok(())
    }

    /// Takes a record of a traced point, if there is room for it.
    pub(crate) fn traced(&mut self, node: u32, traced: &Traced) -> Result<(), Error> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let has_room = self.backlog.0.borrow().len() < BACKLOG_MAX;
        let counted = if has_room { &mut self.received } else { &mut self.skipped };
        *counted.entry((node, traced.subsystem.name)).or_default() += 1;
        if has_room { recorder.trace(node, traced) } else { Ok(()) }
    }

    /// Takes an alarm: something had to give way.
    pub(crate) fn alarm(&mut self, what: &str) -> Result<(), Error> {
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.alarm(clock::monotonic_ns(), what))
    }

    /// Ends its file with the account of traced records; what waits is still sent. All was pulled and drained before.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        let Some(mut recorder) = self.recorder.take() else { return Ok(()) };
        for (key, (begin, now)) in &self.dropped {
            let of = |counted: &BTreeMap<_, u64>| counted.get(key).copied().unwrap_or(0);
            let (received, dropped) = (of(&self.received), of(&self.skipped) + now - begin);
            if received + dropped > 0 {
                recorder.account(key.0, key.1, [received + dropped, received, dropped])?;
            }
        }
        recorder.finish().map(|_| ())
    }

    /// Sends what can be sent at once. Returns whether the receiver is still wanted: neither gone, nor stuck, nor done.
    pub(crate) fn send(&mut self) -> bool {
        let now_ns = clock::monotonic_ns();
        if let Some(recorder) = &mut self.recorder
            && now_ns.saturating_sub(self.said_ns) > ALIVE_AFTER_NS
        {
            self.said_ns = now_ns;
            if recorder.attribute(ALIVE, &now_ns.to_string()).is_err() {
                return false;
            }
        }
        let mut waiting = self.backlog.0.borrow_mut();
        while !waiting.is_empty() {
            match rustix::net::send(&self.stream, waiting.as_slices().0, rustix::net::SendFlags::NOSIGNAL) {
                Ok(n) => drop(waiting.drain(..n)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        waiting.len() < STUCK && (self.recorder.is_some() || !waiting.is_empty())
    }

    /// Whether the receiver hung up. Any other bytes from it mean nothing.
    pub(crate) fn is_gone(&mut self) -> bool {
        let mut bytes = [0; 256];
        match self.stream.read(&mut bytes) {
            Ok(n) => n == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use record::Item;

    use super::*;

    #[test]
    fn a_receiver_that_does_not_read_costs_records_which_are_counted() {
        let (own, other) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        let mut receiver = Receiver::begin("1".into(), own, Vec::new(), GroupLimits::default(), &[]).unwrap();
        // Whose drops are known, if none.
        receiver.dropped.insert((0, crate::all()[1].name), (0, 5));
        const N: u64 = 400_000;
        for _ in 0..N {
            receiver.traced(0, &Traced { subsystem: crate::all()[1], ..Traced::default() }).unwrap();
        }
        receiver.end().unwrap();
        let reads = std::thread::spawn(move || {
            let items: Vec<Item> = record::read(BufReader::new(other)).unwrap().map(Result::unwrap).collect();
            let n_traced = items.iter().filter(|item| matches!(item, Item::Record { values, .. } if values.len() == 9));
            let account = items.iter().rev().find_map(|item| match item {
                Item::Record { values, .. } => Some(values[2..].iter().filter_map(|value| value.number()).collect()),
                _ => None,
            });
            (n_traced.count() as f64, account.unwrap_or_else(Vec::new))
        });
        while receiver.send() {
            std::thread::yield_now();
        }
        drop(receiver);
        let (n_traced, account) = reads.join().unwrap();
        assert!(n_traced < N as f64, "nothing was left out");
        assert_eq!(account, [N as f64 + 5.0, n_traced, N as f64 + 5.0 - n_traced]);
    }

    #[test]
    fn one_that_hangs_up_is_gone() {
        let (own, other) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        let mut receiver = Receiver::begin("1".into(), own, Vec::new(), GroupLimits::default(), &[]).unwrap();
        assert!(receiver.send() && !receiver.is_gone());
        drop(other);
        assert!(receiver.is_gone());
    }
}
