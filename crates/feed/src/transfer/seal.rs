//! The proof that both sides have the same token, for one connection and no other.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use secret::Token;
use sha2::Sha256;

/// Length of the proof at the end of a sealed message.
pub const SEALED_BYTES: usize = 32;

/// How many bytes either side chooses at random for a connection.
pub(super) const NONCE_BYTES: usize = 32;

/// Fewer bytes can be guessed from one recorded connection.
const TOKEN_BYTES_MIN: usize = 16;

/// A number that is used once.
pub(super) type Nonce = [u8; NONCE_BYTES];

/// A secret that two hosts share. It is never printed and never sent.
#[derive(Clone)]
pub struct SharedToken(Vec<u8>);

/// A secret that could be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token of {n_bytes} bytes can be guessed; it needs at least {TOKEN_BYTES_MIN}")]
pub struct TokenTooShort {
    /// How many bytes it has.
    pub n_bytes: usize,
}

/// What makes the proofs of one connection.
///
/// Each is the HMAC-SHA-256 (RFC 2104, FIPS 180-4), under the token, of who speaks, of both nonces and of the message. A recorded one is
/// of no use: the other side's nonce is another one the next time. What one side says is not what the other would say.
#[derive(Clone)]
pub struct Seal {
    token: SharedToken,
    asker: Nonce,
    responder: Nonce,
}

/// Who seals a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The side that asks for a transfer.
    Asker,
    /// The side that answers.
    Responder,
}

impl SharedToken {
    /// # Errors
    /// When it has fewer than 16 bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<SharedToken, TokenTooShort> {
        let bytes = bytes.into();
        match bytes.len() {
            n_bytes @ ..TOKEN_BYTES_MIN => Err(TokenTooShort { n_bytes }),
            _ => Ok(SharedToken(bytes)),
        }
    }
}

impl From<&Token> for SharedToken {
    fn from(token: &Token) -> SharedToken {
        SharedToken(token.reveal().into())
    }
}

impl fmt::Debug for SharedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedToken(..)")
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

impl Speaker {
    fn label(self) -> &'static [u8] {
        match self {
            Speaker::Asker => b"foretop flow transfer 1 asker",
            Speaker::Responder => b"foretop flow transfer 1 responder",
        }
    }
}

impl Seal {
    /// The seal of the connection on which the two sides have said these nonces.
    #[must_use]
    pub fn new(token: SharedToken, asker: [u8; 32], responder: [u8; 32]) -> Seal {
        Seal { token, asker, responder }
    }

    /// The proof that `speaker` says `message`.
    #[must_use]
    pub fn proof(&self, speaker: Speaker, message: &[u8]) -> [u8; SEALED_BYTES] {
        self.code(speaker, message).finalize().into_bytes().into()
    }

    /// Whether `proof` is the one that `speaker` says `message`. Takes the same time wherever it differs.
    pub(super) fn is_proof(&self, speaker: Speaker, message: &[u8], proof: &[u8]) -> bool {
        self.code(speaker, message).verify_slice(proof).is_ok()
    }

    fn code(&self, speaker: Speaker, message: &[u8]) -> Hmac<Sha256> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.token.0).expect("a key of any length is a key of HMAC");
        for part in [speaker.label(), &self.asker, &self.responder, message] {
            code.update(part);
        }
        code
    }
}
