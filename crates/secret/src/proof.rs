//! Proofs that both sides of a connection have the same token, for that connection and no other.
//!
//! Whoever uses them says in which words: nonces are passed in, and what is said is the protocol's own.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Token;

/// Number of bytes that either side chooses at random for a connection.
pub const NONCE_BYTES: usize = 32;

/// Length of a proof.
pub const PROOF_BYTES: usize = 32;

/// A number that is used once.
pub type Nonce = [u8; NONCE_BYTES];

/// Proof that only somebody who has the token can make.
pub type Proof = [u8; PROOF_BYTES];

/// Maker of the proofs of one connection.
///
/// Each is the HMAC-SHA-256 (RFC 2104, FIPS 180-4), under the token, of who speaks, of both nonces and of the message.
/// A recorded one is of no use: the other side's nonce is another one the next time. What one side says is not what the
/// other would say.
#[derive(Clone)]
pub struct Seal {
    token: Token,
    nonces: [Nonce; 2],
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

impl Seal {
    /// The seal of the connection on which the side that connected and the side that listens have said these nonces.
    #[must_use]
    pub fn new(token: Token, connecting: Nonce, listening: Nonce) -> Self {
        Self { token, nonces: [connecting, listening] }
    }

    /// The proof that `speaker` says `message`. Each protocol has names of its own for its two speakers, none of which
    /// another begins with.
    #[must_use]
    pub fn proof(&self, speaker: &[u8], message: &[u8]) -> Proof {
        self.code(speaker, message).finalize().into_bytes().into()
    }

    /// Whether `proof` proves that `speaker` sent `message`. Takes the same time wherever it differs.
    #[must_use]
    pub fn is_proof(&self, speaker: &[u8], message: &[u8], proof: &[u8]) -> bool {
        self.code(speaker, message).verify_slice(proof).is_ok()
    }

    fn code(&self, speaker: &[u8], message: &[u8]) -> Hmac<Sha256> {
        let key = self.token.reveal().as_bytes();
        let mut code = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length is a key of HMAC");
        for part in [speaker, &self.nonces[0], &self.nonces[1], message] {
            code.update(part);
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(token: &str, listening: u8) -> Seal {
        Seal::new(Token::new(token).unwrap(), [1; NONCE_BYTES], [listening; NONCE_BYTES])
    }

    #[test]
    fn a_proof_is_of_one_token_one_connection_one_speaker_and_one_message() {
        let ours = seal("a token of the test", 2);
        let proof = ours.proof(b"A", b"message");
        assert!(ours.is_proof(b"A", b"message", &proof));
        assert!(!ours.is_proof(b"B", b"message", &proof) && !ours.is_proof(b"A", b"massage", &proof));
        assert!(!ours.is_proof(b"A", b"message", &proof[1..]) && !ours.is_proof(b"A", b"message", &[]));
        for other in [seal("another token here", 2), seal("a token of the test", 3)] {
            assert!(!other.is_proof(b"A", b"message", &proof));
        }
        assert!(!format!("{ours:?}").contains("token"));
    }
}
