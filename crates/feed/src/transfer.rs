//! Flow bandwidth by short transfers between two hosts that run Foretop.
//!
//! The Network Weather Service timed 64 KB to a host that acknowledged them (R. Wolski, N. Spring, J. Hayes, "The
//! Network Weather Service", 1999), and Remos did where it had no SNMP. `docs/decisions/flow-bandwidth-by-transfer.md`
//! says what a short transfer can tell of a flow and what is reported here; `docs/formats/flow-transfer.md` is the
//! protocol.

mod admission;
mod asker;
mod message;
mod progress;
mod responder;
mod tcp_info;
mod timed;

use std::{sync::Arc, time::Duration};

use secret::Token;
use signal::{Family, Readings, Signal, Source, row};

use self::asker::{Admitted, TransferError};
pub use self::{
    message::{Direction, Greeting, MessageError, Request, Speaker, Verdict},
    responder::{Responder, ResponderCounts, ResponderSettings},
};

/// The signals of the bandwidth of a flow to a peer and of its other measurements: the last word of each id.
const SENT: &Family = row("flow.{peer}");
const WHOLE: &Family = row("flow.{peer}.transfer");
const DELIVERY: &Family = row("flow.{peer}.delivery");
const ROUND_TRIP: &Family = row("flow.{peer}.round_trip");
const RETRANSMITS: &Family = row("flow.{peer}.retransmits");
const RECEIVED: &Family = row("flow.{peer}.received");

/// More would be a load, not a measurement, and each chunk of it is remembered.
const BYTES_MAX: u64 = 1 << 30;

/// Longer would be a load, not a measurement.
const SPAN_MAX: Duration = Duration::from_secs(60);

/// A peer whose flows are measured, and how. Nothing of it is secret when printed.
#[derive(Clone, Debug)]
pub struct TransferSettings {
    /// The name of the peer in `flow.{peer}`.
    pub peer: String,
    /// The address of the peer's responder, `HOST:PORT`. Looked up before each transfer.
    pub address: String,
    /// The secret that it shares.
    pub token: Token,
    /// The greatest number of bytes in a transfer, up to 1 GiB.
    pub n_bytes: u64,
    /// The longest time of a transfer, from the first byte, 1 ms to 60 s, in whole milliseconds.
    pub span: Duration,
    /// The longest time to be connected and admitted, more than nothing.
    pub patience: Duration,
    /// The flows that are measured, each by a transfer of its own.
    pub directions: Directions,
}

/// The flows between this host and a peer that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Those to the peer.
    Send,
    /// Those to the peer, and then those from it.
    Both,
}

/// A peer that cannot be measured as asked. Each message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransferSettingsError {
    /// A name without letters, or one that would be that of another signal.
    #[error("`{peer}` cannot be the name of a peer: it needs at least one character, and must not end in `{}`", last_words().join("`, `"))]
    Peer {
        /// The name.
        peer: String,
    },
    /// No bytes, or too many.
    #[error("a transfer of {n_bytes} bytes is out of range: it must be 1 to {BYTES_MAX}")]
    Bytes {
        /// The number of bytes given.
        n_bytes: u64,
    },
    /// No time, or too much of it.
    #[error("a transfer of {span:?} is out of range: it must be 1ms to {SPAN_MAX:?}")]
    Span {
        /// The time given.
        span: Duration,
    },
    /// No time to be connected in.
    #[error("a peer cannot be reached in no time: the patience must be more than 0s")]
    Patience,
}

/// Measures the flows to one peer, and from it if that is wanted, by a transfer at each read.
///
/// A read takes as long as the settings allow: `patience` and `span` for each direction, and the time that the system
/// takes to look up the address.
#[derive(Debug)]
pub struct TransferSource {
    settings: TransferSettings,
    signals: Signals,
    n_errors: u64,
    last_error: Option<String>,
}

#[derive(Debug)]
struct Signals {
    sent: Arc<Signal>,
    whole: Arc<Signal>,
    delivery: Arc<Signal>,
    round_trip: Arc<Signal>,
    retransmits: Arc<Signal>,
    received: Arc<Signal>,
}

impl TransferSettings {
    /// Transfers to the peer of 1 MiB or 300 ms, whichever is first, with 5 seconds of patience.
    #[must_use]
    pub fn new(peer: impl Into<String>, address: impl Into<String>, token: Token) -> TransferSettings {
        TransferSettings {
            peer: peer.into(),
            address: address.into(),
            token,
            n_bytes: 1 << 20,
            span: Duration::from_millis(300),
            patience: Duration::from_secs(5),
            directions: Directions::Send,
        }
    }

    fn check(&self) -> Result<(), TransferSettingsError> {
        let is_taken = |word: &str| self.peer.rsplit('.').next() == Some(word);
        if self.peer.is_empty() || last_words().into_iter().any(is_taken) {
            return Err(TransferSettingsError::Peer { peer: self.peer.clone() });
        }
        if !(1..=BYTES_MAX).contains(&self.n_bytes) {
            return Err(TransferSettingsError::Bytes { n_bytes: self.n_bytes });
        }
        if !(Duration::from_millis(1)..=SPAN_MAX).contains(&self.span) {
            return Err(TransferSettingsError::Span { span: self.span });
        }
        if self.patience.is_zero() {
            return Err(TransferSettingsError::Patience);
        }
        Ok(())
    }
}

/// Words that come after the name of a peer.
fn last_words() -> [&'static str; 5] {
    [WHOLE, DELIVERY, ROUND_TRIP, RETRANSMITS, RECEIVED].map(|family| family.pattern.rsplit('.').next().unwrap_or(""))
}

impl TransferSource {
    /// # Errors
    /// When a setting is out of range. Nothing is connected to.
    pub fn new(settings: TransferSettings) -> Result<TransferSource, TransferSettingsError> {
        settings.check()?;
        let signal = |family| Signal::labelled(family, settings.peer.as_bytes());
        let signals = Signals {
            sent: signal(SENT),
            whole: signal(WHOLE),
            delivery: signal(DELIVERY),
            round_trip: signal(ROUND_TRIP),
            retransmits: signal(RETRANSMITS),
            received: signal(RECEIVED),
        };
        Ok(TransferSource { settings, signals, n_errors: 0, last_error: None })
    }

    fn measure(&self, direction: Direction, readings: &mut Readings) -> Result<(), TransferError> {
        let admitted = Admitted::ask(&self.settings, direction)?;
        let Signals { sent, whole, delivery, round_trip, retransmits, received } = &self.signals;
        match direction {
            Direction::Send => {
                let measured = admitted.send()?;
                readings.push_some(sent, measured.progress.later_rate());
                readings.push_some(whole, measured.progress.whole_rate());
                readings.push_some(delivery, measured.delivery_rate_bytes_per_sec);
                readings.push(round_trip, measured.round_trip.as_secs_f64());
                readings.push_some(retransmits, measured.retransmits);
            }
            Direction::Receive => readings.push_some(received, admitted.receive()?.later_rate()),
        }
        Ok(())
    }
}

impl Source for TransferSource {
    fn read(&mut self, _at: Duration, readings: &mut Readings) {
        readings.truncate(0);
        let directions: &[Direction] = match self.settings.directions {
            Directions::Send => &[Direction::Send],
            Directions::Both => &[Direction::Send, Direction::Receive],
        };
        for &direction in directions {
            if let Err(error) = self.measure(direction, readings) {
                self.n_errors += 1;
                self.last_error = Some(text::with_causes(&error));
            }
        }
    }

    fn n_errors(&self) -> u64 {
        self.n_errors
    }

    fn last_error(&self) -> Option<String> {
        self.last_error.clone()
    }
}
