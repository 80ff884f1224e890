//! The messages of a transfer as bytes. `docs/formats/flow-transfer.md` is the specification.
//!
//! Each has a fixed length, so that no byte from outside says how much is to be read or kept.

use std::time::Duration;

use secret::proof::{NONCE_BYTES, Nonce, PROOF_BYTES, Seal};

/// The first bytes that either side says.
const MAGIC: [u8; 4] = *b"FTFT";

/// The version of the format.
const VERSION: u8 = 1;

const GREETING_BYTES: usize = MAGIC.len() + 1 + NONCE_BYTES;
const ASKED_BYTES: usize = 1 + 8 + 4;
const REQUEST_BYTES: usize = ASKED_BYTES + PROOF_BYTES;
const ANSWER_BYTES: usize = 1 + 8;
const VERDICT_BYTES: usize = ANSWER_BYTES + PROOF_BYTES;

/// The reason why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Other bytes than those that every greeting begins with.
    #[error("a greeting begins with the bytes {MAGIC:02x?}, not {given:02x?}")]
    NoGreeting {
        /// The bytes that the greeting begins with.
        given: [u8; 4],
    },
    /// A version that this program does not speak.
    #[error("version {given} of flow transfers is not supported; this program uses version {VERSION}")]
    Version {
        /// The version given.
        given: u8,
    },
    /// The other side has another token, or somebody has changed the message.
    #[error("the proof of the token is wrong: both sides need the same one")]
    Proof,
    /// A number that stands for nothing.
    #[error("{given} is no {what}")]
    Choice {
        /// The kind of value that the number should be.
        what: &'static str,
        /// The number.
        given: u8,
    },
    /// No bytes or no time.
    #[error("a transfer of no bytes or no time was requested")]
    Nothing,
}

/// The side that seals a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The side that asks for a transfer.
    Asker,
    /// The side that answers.
    Responder,
}

/// The first message of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Bytes chosen at random for this connection.
    pub nonce: Nonce,
}

/// The direction of the bytes of a transfer, seen from the side that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes go to the responder.
    Send,
    /// Bytes come from the responder.
    Receive,
}

/// A transfer that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The direction of the transfer.
    pub direction: Direction,
    /// The greatest number of bytes, one or more.
    pub n_bytes: u64,
    /// The longest time, in whole milliseconds, one or more.
    pub span: Duration,
}

/// The responder's answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The bytes may come.
    Go,
    /// More bytes than it lets through in one transfer.
    TooManyBytes {
        /// The greatest number of bytes in one transfer.
        limit: u64,
    },
    /// Longer than it lets one transfer take.
    TooLong {
        /// The longest time of one transfer, in whole milliseconds.
        limit: Duration,
    },
    /// Others were being served, and none of them was done in time.
    Busy,
    /// The address has asked often enough.
    TooOften {
        /// The number of transfers that the address may ask for in a minute.
        per_minute: u64,
    },
}

impl Speaker {
    /// Returns the label of the side in its proofs.
    #[must_use]
    pub fn label(self) -> &'static [u8] {
        match self {
            Speaker::Asker => b"foretop flow transfer 1 asker",
            Speaker::Responder => b"foretop flow transfer 1 responder",
        }
    }
}

impl Greeting {
    pub(super) const N_BYTES: usize = GREETING_BYTES;

    /// The greeting as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; GREETING_BYTES] {
        let mut bytes = [0; GREETING_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5..].copy_from_slice(&self.nonce);
        bytes
    }

    /// # Errors
    /// When the bytes are no greeting, or one of another version.
    pub fn decode(bytes: &[u8; GREETING_BYTES]) -> Result<Greeting, MessageError> {
        let [a, b, c, d, version, nonce @ ..] = *bytes;
        if [a, b, c, d] != MAGIC {
            return Err(MessageError::NoGreeting { given: [a, b, c, d] });
        }
        if version != VERSION {
            return Err(MessageError::Version { given: version });
        }
        Ok(Greeting { nonce })
    }
}

impl Request {
    pub(super) const N_BYTES: usize = REQUEST_BYTES;

    /// The request as bytes. A span of more milliseconds than fit into 32 bits is asked for as that many.
    #[must_use]
    pub fn encode(&self, seal: &Seal) -> [u8; REQUEST_BYTES] {
        let mut asked = [0; ASKED_BYTES];
        asked[0] = match self.direction {
            Direction::Send => 1,
            Direction::Receive => 2,
        };
        asked[1..9].copy_from_slice(&self.n_bytes.to_le_bytes());
        let span_ms = u32::try_from(self.span.as_millis()).unwrap_or(u32::MAX);
        asked[9..].copy_from_slice(&span_ms.to_le_bytes());
        sealed(seal, Speaker::Asker, asked)
    }

    /// # Errors
    /// When the proof is wrong, which is looked at first, or the bytes ask for nothing that there is.
    pub fn decode(bytes: &[u8; REQUEST_BYTES], seal: &Seal) -> Result<Request, MessageError> {
        let asked: [u8; ASKED_BYTES] = opened(seal, Speaker::Asker, bytes)?;
        let [choice, n0, n1, n2, n3, n4, n5, n6, n7, span_ms @ ..] = asked;
        let direction = match choice {
            1 => Direction::Send,
            2 => Direction::Receive,
            given => return Err(MessageError::Choice { what: "direction of a transfer", given }),
        };
        let n_bytes = u64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        let span = Duration::from_millis(u32::from_le_bytes(span_ms).into());
        if n_bytes == 0 || span.is_zero() {
            return Err(MessageError::Nothing);
        }
        Ok(Request { direction, n_bytes, span })
    }
}

impl Verdict {
    pub(super) const N_BYTES: usize = VERDICT_BYTES;

    /// The verdict as bytes.
    #[must_use]
    pub fn encode(&self, seal: &Seal) -> [u8; VERDICT_BYTES] {
        let (choice, limit) = match *self {
            Verdict::Go => (0, 0),
            Verdict::TooManyBytes { limit } => (1, limit),
            Verdict::TooLong { limit } => (2, u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            Verdict::Busy => (3, 0),
            Verdict::TooOften { per_minute } => (4, per_minute),
        };
        let mut answer = [choice; ANSWER_BYTES];
        answer[1..].copy_from_slice(&limit.to_le_bytes());
        sealed(seal, Speaker::Responder, answer)
    }

    /// # Errors
    /// When the proof is wrong, which is looked at first, or the bytes are no verdict.
    pub fn decode(bytes: &[u8; VERDICT_BYTES], seal: &Seal) -> Result<Verdict, MessageError> {
        let answer: [u8; ANSWER_BYTES] = opened(seal, Speaker::Responder, bytes)?;
        let [choice, limit @ ..] = answer;
        let limit = u64::from_le_bytes(limit);
        match choice {
            0 => Ok(Verdict::Go),
            1 => Ok(Verdict::TooManyBytes { limit }),
            2 => Ok(Verdict::TooLong { limit: Duration::from_millis(limit) }),
            3 => Ok(Verdict::Busy),
            4 => Ok(Verdict::TooOften { per_minute: limit }),
            given => Err(MessageError::Choice { what: "verdict on a transfer", given }),
        }
    }
}

/// `message` with the proof that `speaker` says it.
fn sealed<const N: usize, const SEALED: usize>(seal: &Seal, speaker: Speaker, message: [u8; N]) -> [u8; SEALED] {
    let mut bytes = [0; SEALED];
    let (said, proof) = bytes.split_at_mut(N);
    said.copy_from_slice(&message);
    proof.copy_from_slice(&seal.proof(speaker.label(), &message));
    bytes
}

/// The message in `bytes`, if the proof after it is that `speaker` says it.
fn opened<const N: usize>(seal: &Seal, speaker: Speaker, bytes: &[u8]) -> Result<[u8; N], MessageError> {
    let (message, proof) = bytes.split_first_chunk().ok_or(MessageError::Proof)?;
    if !seal.is_proof(speaker.label(), message, proof) {
        return Err(MessageError::Proof);
    }
    Ok(*message)
}

#[cfg(test)]
mod tests {
    use secret::Token;

    use super::*;

    /// The connection of the example in `docs/formats/flow-transfer.md`, whose proofs were made with Python's `hmac`.
    fn seal() -> Seal {
        Seal::new(Token::new("sixteen bytes ok").unwrap(), [0xa1; 32], [0xb2; 32])
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    const REQUEST: Request = Request { direction: Direction::Send, n_bytes: 1 << 20, span: Duration::from_millis(300) };

    #[test]
    fn a_request_is_the_bytes_of_the_example() {
        let bytes = REQUEST.encode(&seal());
        let (asked, proof) = bytes.split_at(ASKED_BYTES);
        assert_eq!(hex(asked), "0100001000000000002c010000");
        assert_eq!(hex(proof), "499230a496b128c5ef49cbc0b7cdc59ef376be4fa29b7a4f441ebc5d9b72beb6");
        assert_eq!(Request::decode(&bytes, &seal()), Ok(REQUEST));
    }

    #[test]
    fn a_verdict_is_the_bytes_of_the_example() {
        let verdict = Verdict::TooManyBytes { limit: 65_536 };
        let bytes = verdict.encode(&seal());
        let (answer, proof) = bytes.split_at(ANSWER_BYTES);
        assert_eq!(hex(answer), "010000010000000000");
        assert_eq!(hex(proof), "4f3f472c9ec271a7402b8246618d7aed9678c65576ba6140944c3dd7e3d3df09");
        assert_eq!(Verdict::decode(&bytes, &seal()), Ok(verdict));
    }

    #[test]
    fn every_changed_bit_of_a_request_is_noticed() {
        let bytes = REQUEST.encode(&seal());
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Request::decode(&changed, &seal()), Err(MessageError::Proof), "bit {bit}");
        }
    }

    #[test]
    fn a_proof_is_of_one_side_and_one_connection() {
        let message = [1; ASKED_BYTES];
        let reflected: [u8; REQUEST_BYTES] = sealed(&seal(), Speaker::Responder, message);
        assert_eq!(Request::decode(&reflected, &seal()), Err(MessageError::Proof));
        let other = Seal::new(Token::new("sixteen bytes ok").unwrap(), [0xa1; 32], [0xb3; 32]);
        assert_eq!(Request::decode(&REQUEST.encode(&seal()), &other), Err(MessageError::Proof));
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = Greeting { nonce: [7; 32] }.encode();
        bytes[4] = 2;
        let error = Greeting::decode(&bytes).unwrap_err();
        assert_eq!(error.to_string(), "version 2 of flow transfers is not supported; this program uses version 1");
    }
}
