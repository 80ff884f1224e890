//! Messages between sites. Whoever sends does not wait until they have gone.

use std::collections::{BTreeMap, VecDeque};

use mpi_abi::{Failed, Handle, Mpi, Request};
use units::Rank;

use crate::crossing::Crossing;

/// Tag of messages that come unasked.
const NEWS: i32 = 0;
/// Tag of pieces of long messages, for which the receiver has made room.
const PIECE: i32 = 1;

/// A message under way, with its memory, which does not move.
type UnderWay = (Box<[u8]>, Request);

/// One rank's messages to and from other sites.
pub(crate) struct Between {
    mpi: &'static Mpi,
    /// Nobody else uses it.
    comm: Handle,
    /// Messages that are delayed on their way.
    crossing: Crossing,
    sent: VecDeque<UnderWay>,
    /// Expected pieces, by sender.
    expected: BTreeMap<Rank, VecDeque<UnderWay>>,
}

impl Between {
    pub(crate) fn new(mpi: &'static Mpi, comm: Handle, crossing: Crossing) -> Self {
        Self { mpi, comm, crossing, sent: VecDeque::new(), expected: BTreeMap::new() }
    }

    pub(crate) fn comm(&self) -> Handle {
        self.comm
    }

    /// Begins to send something short that nobody waits for in particular.
    pub(crate) fn tell(&mut self, to: Rank, news: &[u8]) -> Result<(), Failed> {
        self.send(to, NEWS, news)
    }

    /// Returns the next news, and their sender.
    pub(crate) fn news(&mut self) -> Result<Option<(Rank, Vec<u8>)>, Failed> {
        self.are_sent()?;
        let any = self.mpi.constants().any_source;
        while let Some(status) = self.mpi.iprobe(any, NEWS, self.comm)? {
            let mut news = vec![0; status.bytes as usize];
            self.mpi.recv(&mut news, status.source, NEWS, self.comm)?;
            let from = status.source as Rank;
            if let Some(news) = self.crossing.keep(from, news) {
                return Ok(Some((from, news)));
            }
        }
        Ok(self.crossing.due())
    }

    /// Begins to send a piece.
    pub(crate) fn give(&mut self, to: Rank, piece: &[u8]) -> Result<(), Failed> {
        self.send(to, PIECE, piece)
    }

    /// Makes room for the next piece from that rank. One that is expected need not ask whether it may come.
    pub(crate) fn expect(&mut self, from: Rank, n_bytes: usize) -> Result<(), Failed> {
        let mut piece = vec![0; n_bytes + self.crossing.stamp_bytes(from)].into_boxed_slice();
        // SAFETY: the memory stays with its request until that is done, see `Drop`.
        let request = unsafe { self.mpi.irecv(&raw mut *piece, from as i32, PIECE, self.comm)? };
        self.expected.entry(from).or_default().push_back((piece, request));
        Ok(())
    }

    /// The next piece from that rank, if it has come.
    pub(crate) fn piece(&mut self, from: Rank) -> Result<Option<Vec<u8>>, Failed> {
        self.are_sent()?;
        let expected = self.expected.entry(from).or_default();
        let Some((piece, request)) = expected.front_mut() else { return Ok(None) };
        // A request that is done stays so.
        if self.mpi.test(request)?.is_none() || !self.crossing.is_due(from, piece) {
            return Ok(None);
        }
        let piece = expected.pop_front().map(|(piece, _)| self.crossing.unstamped(from, piece.into_vec()));
        Ok(piece)
    }

    /// Whether all that this rank sends has gone. MPI makes progress when it is asked.
    pub(crate) fn are_sent(&mut self) -> Result<bool, Failed> {
        while let Some((_, request)) = self.sent.front_mut() {
            if self.mpi.test(request)?.is_none() {
                return Ok(false);
            }
            self.sent.pop_front();
        }
        Ok(true)
    }

    fn send(&mut self, to: Rank, tag: i32, message: &[u8]) -> Result<(), Failed> {
        let message = self.crossing.stamped(to, message).into_owned().into_boxed_slice();
        // SAFETY: the memory stays with its request until that is done, see `Drop`.
        let request = unsafe { self.mpi.isend(&raw const *message, to as i32, tag, self.comm)? };
        self.sent.push_back((message, request));
        Ok(())
    }
}

impl Drop for Between {
    /// Keeps the memory that MPI may still read or write: it is never given back.
    fn drop(&mut self) {
        let expected = std::mem::take(&mut self.expected).into_values().flatten();
        expected.chain(self.sent.drain(..)).for_each(|(memory, _)| {
            Box::leak(memory);
        });
    }
}
