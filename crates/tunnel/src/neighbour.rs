//! Loans between near ends: what a near end lacks, from another near end that is nearer than the far one, on the
//! asking and on the answering side.
//!
//! Each neighbour has a connection of its own, which is no link: its ends prove that they have the same token, one asks
//! for places of runs, and the other has their bytes or not. Nothing of it is believed: bytes count only where the hash
//! of the group holds with them, and whoever fails is left alone for a while.

use std::fmt;
use std::time::Duration;

use dedup::{History, Place, RunId, Settings};
use secret::Token;
use segment_store::Store;
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::error::LinkError;
use crate::frame::{Frame, Wanted, dedup_group_max, next};
use crate::handshake::{HANDSHAKE_LIMIT, NEIGHBOURS, Terms, greet, welcome};
use crate::link::Common;
use crate::transport::{Arrived, Bytes, Caller};

/// Time limit for a neighbour, from the connection to the last byte of its answer: it is near, or of no use.
const LIMIT: Duration = Duration::from_secs(1);
/// Time for which a neighbour that failed is in quarantine: it is not asked (circuit breaker).
const PAUSE: Duration = Duration::from_secs(30);
/// The most places that fit into a frame; a group that lacks more places is asked for at the far end.
const N_WANTED_MAX: usize = 8192;

/// Near ends that are asked, one after the other.
#[derive(Debug)]
pub(crate) struct Neighbours {
    all: Vec<Neighbour>,
    token: Token,
    terms: Terms,
}

struct Neighbour {
    address: String,
    caller: Caller,
    state: Mutex<State>,
}

enum State {
    Unconnected,
    Connected(Bytes),
    LeftAlone { until: Instant },
}

/// All that was wanted.
#[derive(Debug)]
pub(crate) struct Lent {
    pub bytes: Vec<u8>,
    /// The neighbours that gave some of the bytes.
    from: Vec<usize>,
}

impl Neighbours {
    pub fn new(callers: Vec<(String, Caller)>, token: Token, terms: Terms) -> Self {
        let all = callers.into_iter().map(|(address, caller)| Neighbour {
            address,
            caller,
            state: Mutex::new(State::Unconnected),
        });
        Self { all: all.collect(), token, terms }
    }

    /// Returns the wanted bytes, one place after the other, if neighbours have all of it together.
    pub async fn borrow(&self, wanted: &[Wanted]) -> Option<Lent> {
        if wanted.len() > N_WANTED_MAX {
            return None;
        }
        let mut parts = vec![Vec::new(); wanted.len()];
        let mut from = Vec::new();
        for (idx, neighbour) in self.all.iter().enumerate() {
            let missing: Vec<usize> = (0..parts.len()).filter(|&i| parts[i].is_empty()).collect();
            if missing.is_empty() {
                break;
            }
            let lent = self.ask(neighbour, missing.iter().map(|&i| wanted[i]).collect()).await;
            for (i, part) in missing.into_iter().zip(lent.unwrap_or_default()) {
                if !part.is_empty() && from.last() != Some(&idx) {
                    from.push(idx);
                }
                parts[i] = part;
            }
        }
        parts.iter().all(|part| !part.is_empty()).then(|| Lent { bytes: parts.concat(), from })
    }

    /// Leaves those alone whose bytes were other ones.
    pub async fn distrust(&self, lent: &Lent) {
        for &idx in &lent.from {
            let neighbour = &self.all[idx];
            tracing::warn!(neighbour = neighbour.address, "what the neighbour gave is not what was sent");
            neighbour.leave_alone(&mut *neighbour.state.lock().await);
        }
    }

    /// Part by part what a neighbour has, unless it fails or is left alone.
    async fn ask(&self, neighbour: &Neighbour, wanted: Vec<Wanted>) -> Option<Vec<Vec<u8>>> {
        let mut state = neighbour.state.lock().await;
        let connected = match std::mem::replace(&mut *state, State::Unconnected) {
            State::LeftAlone { until } if Instant::now() < until => {
                *state = State::LeftAlone { until };
                return None;
            }
            State::Connected(stream) => Some(stream),
            State::LeftAlone { .. } | State::Unconnected => None,
        };
        let asked = Frame::Borrow { wanted };
        let answered = async {
            if let Some(mut stream) = connected
                && let Ok(parts) = fetch(&mut stream, &asked).await
            {
                return Ok((stream, parts));
            }
            // The first one, or the neighbour was started anew since.
            let (mut stream, binding) = neighbour.caller.connect(&neighbour.address).await?;
            let theirs = greet(&mut stream, binding, &self.token, NEIGHBOURS, self.terms).await?;
            check_tenant(self.terms, theirs)?;
            let parts = fetch(&mut stream, &asked).await?;
            Ok((stream, parts))
        };
        match timeout(LIMIT, answered).await.unwrap_or(Err(LinkError::Silent { seconds: LIMIT.as_secs() })) {
            Ok((stream, parts)) => {
                *state = State::Connected(stream);
                Some(parts)
            }
            Err(error) => {
                let (neighbour_is, error) = (&neighbour.address, &error as &dyn std::error::Error);
                tracing::warn!(neighbour = neighbour_is, error, "the neighbour is of no help");
                neighbour.leave_alone(&mut state);
                None
            }
        }
    }

    /// Tells neighbours that this end has gone, where that is not told by itself.
    pub async fn leave(&self) {
        for neighbour in &self.all {
            neighbour.caller.leave().await;
        }
    }
}

impl Neighbour {
    fn leave_alone(&self, state: &mut State) {
        *state = State::LeftAlone { until: Instant::now() + PAUSE };
    }
}

impl fmt::Debug for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbour").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Returns the terms that neighbours send each other: for whom they remember, in place of a run. There is no window.
pub(crate) fn borrowing_terms(settings: &Settings) -> Terms {
    Terms { run: RunId(settings.key.tag()), anchor_bits: settings.anchor_bits, n_window: 0 }
}

fn check_tenant(ours: Terms, theirs: Terms) -> Result<(), LinkError> {
    if ours.run == theirs.run { Ok(()) } else { Err(LinkError::Tenant) }
}

async fn fetch(stream: &mut Bytes, asked: &Frame) -> Result<Vec<Vec<u8>>, LinkError> {
    let Frame::Borrow { wanted } = asked else { unreachable!("nothing else is asked") };
    say(stream, asked).await?;
    let Some(Frame::Lend { parts }) = next(stream).await? else {
        return Err(LinkError::Protocol { what: "it does not answer what it was asked" });
    };
    let is_all_or_none = |(part, wanted): (&Vec<u8>, &Wanted)| part.is_empty() || part.len() == wanted.n_bytes as usize;
    if parts.len() == wanted.len() && parts.iter().zip(wanted).all(is_all_or_none) {
        Ok(parts)
    } else {
        Err(LinkError::Protocol { what: "it gives other places than it was asked for" })
    }
}

/// Answers somebody who connected until that one leaves.
pub(crate) async fn lend(common: &Common, token: &Token, arrived: Arrived) -> Result<(), LinkError> {
    let ours = borrowing_terms(&common.settings);
    let made = async {
        let (mut stream, binding) = arrived.admit().await?;
        let theirs = welcome(&mut stream, binding, token, NEIGHBOURS, ours).await?;
        check_tenant(ours, theirs)?;
        Ok(stream)
    };
    let silent = Err(LinkError::Silent { seconds: HANDSHAKE_LIMIT.as_secs() });
    let mut stream = timeout(HANDSHAKE_LIMIT, made).await.unwrap_or(silent)?;
    while let Some(asked) = next(&mut stream).await? {
        let Frame::Borrow { wanted } = asked else {
            return Err(LinkError::Protocol { what: "a neighbour is told what it cannot know" });
        };
        let n_wanted: u64 = wanted.iter().map(|wanted| u64::from(wanted.n_bytes)).sum();
        if n_wanted > dedup_group_max() as u64 || wanted.len() > N_WANTED_MAX {
            return Err(LinkError::Protocol { what: "it asks for more than a group has" });
        }
        let memory = common.memory.clone();
        // It reads from disk. It ends with the process, or it panicked, which the log has.
        let read = tokio::task::spawn_blocking(move || {
            wanted.into_iter().map(|wanted| remembered(&mut memory.lock(), wanted)).collect::<Vec<_>>()
        });
        let parts = read.await.map_err(|_| LinkError::Ended)?;
        common.counters.lent_bytes_total.add(parts.iter().map(|part| part.len() as u64).sum());
        let silent = Err(LinkError::Silent { seconds: HANDSHAKE_LIMIT.as_secs() });
        timeout(HANDSHAKE_LIMIT, say(&mut stream, &Frame::Lend { parts })).await.unwrap_or(silent)?;
    }
    Ok(())
}

/// All of what is wanted, or nothing.
fn remembered(store: &mut Store, wanted: Wanted) -> Vec<u8> {
    let Some(run) = store.known_run(wanted.run) else { return Vec::new() };
    let mut bytes = vec![0; wanted.n_bytes as usize];
    let n = store.copy_ahead(Place { run, position: wanted.position }, &mut bytes);
    if n == bytes.len() { bytes } else { Vec::new() }
}

async fn say(stream: &mut Bytes, frame: &Frame) -> Result<(), LinkError> {
    let mut bytes = Vec::new();
    frame.put(&mut bytes);
    stream.write_all(&bytes).await?;
    Ok(stream.flush().await?)
}
