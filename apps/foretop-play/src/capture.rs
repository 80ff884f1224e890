//! The capture buffer: bytes between the source, which brings them, and the decoder, which takes them.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::Stopwatch;
use symphonia::core::io::MediaSource;

/// Shared by a source, a decoder, and the loop that watches both.
#[derive(Clone)]
pub struct Capture(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    /// Position of the first of `bytes` in the medium, or of the next one to come.
    at: u64,
    /// The properties of the medium, as the source reports them.
    medium: Medium,
    has_opened: bool,
    /// The source brings nothing more from here on.
    has_ended: bool,
    failure: Option<String>,
    /// The position from which the source should go on, if the decoder asked for another place.
    sought: Option<u64>,
    n_received: u64,
    n_taken: u64,
    is_decoder_waiting: bool,
    /// Time that the decoder waited for bytes.
    waited: Duration,
    /// The source had to wait since somebody last looked.
    was_full: bool,
    is_closed: bool,
}

/// Properties of a medium that its source has found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Medium {
    /// Length in bytes.
    pub length: Option<u64>,
    /// Whether it can go on from anywhere.
    pub is_seekable: bool,
}

/// The next action of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Brings more.
    More,
    /// Goes on from here.
    From(u64),
    /// Ends: nobody listens any more.
    Nothing,
}

/// State of a capture at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Bytes held.
    pub n_held: usize,
    /// Bytes that have come since the beginning.
    pub n_received: u64,
    /// Bytes that the decoder took.
    pub n_taken: u64,
    /// Whether the source had to wait since the last look.
    pub was_full: bool,
    /// Whether the decoder waits for bytes that are not there.
    pub is_decoder_waiting: bool,
    /// Whether no more will come.
    pub has_ended: bool,
    /// The error that made the source give up.
    pub failure: Option<String>,
    /// The medium.
    pub medium: Medium,
}

impl Capture {
    /// One that holds so many bytes at most.
    pub fn new(capacity: usize) -> Self {
        Self(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), capacity }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The source knows its medium.
    pub fn opened(&self, medium: Medium) {
        let mut state = self.state();
        (state.medium, state.has_opened) = (medium, true);
        self.0.changed.notify_all();
    }

    /// Takes bytes of the source in, and waits while there is no room.
    pub fn bring(&self, bytes: &[u8]) -> Next {
        let mut state = self.state();
        let mut rest = bytes;
        loop {
            if state.is_closed {
                return Next::Nothing;
            }
            if let Some(place) = state.sought.take() {
                return Next::From(place);
            }
            let n = rest.len().min(self.0.capacity - state.bytes.len());
            state.bytes.extend(&rest[..n]);
            state.n_received += n as u64;
            rest = &rest[n..];
            self.0.changed.notify_all();
            if rest.is_empty() {
                return Next::More;
            }
            state.was_full = true;
            state = self.wait(state);
        }
    }

    /// Takes in as many bytes as there is room for; says how many.
    pub fn bring_some(&self, bytes: &[u8]) -> usize {
        let mut state = self.state();
        let n = bytes.len().min(self.0.capacity - state.bytes.len());
        state.was_full |= n < bytes.len();
        state.bytes.extend(&bytes[..n]);
        state.n_received += n as u64;
        self.0.changed.notify_all();
        n
    }

    /// The source has no more to bring, and waits for another place to be sought.
    pub fn end(&self, failure: Option<String>) -> Next {
        let mut state = self.state();
        (state.has_ended, state.has_opened) = (true, true);
        state.failure = failure;
        self.0.changed.notify_all();
        loop {
            if state.is_closed {
                return Next::Nothing;
            }
            if let Some(place) = state.sought.take() {
                return Next::From(place);
            }
            state = self.wait(state);
        }
    }

    /// Marks the end without waiting, for a source that is not a thread of its own.
    pub fn mark_end(&self) {
        self.state().has_ended = true;
        self.0.changed.notify_all();
    }

    /// Nobody plays any more.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.0.changed.notify_all();
    }

    /// Returns the state of the capture.
    pub fn level(&self) -> Level {
        let mut state = self.state();
        Level {
            n_held: state.bytes.len(),
            n_received: state.n_received,
            n_taken: state.n_taken,
            was_full: std::mem::take(&mut state.was_full),
            is_decoder_waiting: state.is_decoder_waiting,
            has_ended: state.has_ended,
            failure: state.failure.clone(),
            medium: state.medium,
        }
    }

    /// Time that the decoder waited for bytes so far, which is no work of its.
    pub fn waited(&self) -> Duration {
        self.state().waited
    }

    /// Rests until something changes, or for this long.
    pub fn rest(&self, at_most: Duration) {
        let state = self.state();
        drop(self.0.changed.wait_timeout(state, at_most));
    }

    /// The decoder's end, once the source knows its medium.
    pub fn reader(&self) -> Reader {
        let mut state = self.state();
        while !state.has_opened && !state.is_closed {
            state = self.wait(state);
        }
        Reader { capture: self.clone(), medium: state.medium }
    }
}

/// The reader of the decoder.
pub struct Reader {
    capture: Capture,
    medium: Medium,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.capture.state();
        loop {
            if state.is_closed {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let n = state.bytes.len().min(buffer.len());
            if n > 0 {
                state.is_decoder_waiting = false;
                state.bytes.drain(..n).zip(buffer).for_each(|(from, to)| *to = from);
                state.at += n as u64;
                state.n_taken += n as u64;
                self.capture.0.changed.notify_all();
                return Ok(n);
            }
            if (state.has_ended && state.sought.is_none()) || buffer.is_empty() {
                state.is_decoder_waiting = false;
                return Ok(0);
            }
            state.is_decoder_waiting = true;
            self.capture.0.changed.notify_all();
            let watch = Stopwatch::start();
            state = self.capture.wait(state);
            state.waited += watch.elapsed();
        }
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut state = self.capture.state();
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => state.at.checked_add_signed(by),
            SeekFrom::End(by) => self.medium.length.and_then(|length| length.checked_add_signed(by)),
        };
        let place = place.ok_or(io::ErrorKind::InvalidInput)?;
        let held = state.at..=state.at + state.bytes.len() as u64;
        if held.contains(&place) {
            let n = (place - state.at) as usize;
            state.bytes.drain(..n);
        } else if self.medium.is_seekable {
            state.bytes.clear();
            state.sought = Some(place);
            state.has_ended = false;
        } else {
            return Err(io::ErrorKind::Unsupported.into());
        }
        state.at = place;
        self.capture.0.changed.notify_all();
        Ok(place)
    }
}

impl MediaSource for Reader {
    fn is_seekable(&self) -> bool {
        self.medium.is_seekable
    }

    fn byte_len(&self) -> Option<u64> {
        self.medium.length
    }
}
