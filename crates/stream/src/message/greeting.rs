//! Greetings: how whoever connects and whoever listens prove to each other that they have the same token, which neither
//! shows.

use bytes::{BufMut, BytesMut};
use secret::proof::{Nonce, Proof};

use super::{MessageError, Payload};
use crate::frame::Kind;

/// A message of the login, which precedes all other messages if a token is required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// The first message of the side that connects.
    Hello {
        /// The purpose of the connection.
        purpose: Purpose,
        /// Chosen at random for this connection.
        nonce: Nonce,
    },
    /// The listener's answer.
    Challenge {
        /// Chosen at random for this connection.
        nonce: Nonce,
        /// The proof that the listener has the token.
        proof: Proof,
    },
    /// The next message of the side that connects.
    Response {
        /// The proof that the side that connects has the token.
        proof: Proof,
    },
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Reading a stream.
    Reader = 1,
    /// Writing a stream.
    Writer = 2,
    /// Sending requests.
    Caller = 3,
}

impl Payload for Greeting {
    const KIND: Kind = Kind::Greeting;

    fn write(&self, out: &mut BytesMut) -> Result<(), MessageError> {
        match self {
            Self::Hello { purpose, nonce } => {
                out.put_slice(&[1, *purpose as u8]);
                out.put_slice(nonce);
            }
            Self::Challenge { nonce, proof } => {
                out.put_u8(2);
                out.put_slice(nonce);
                out.put_slice(proof);
            }
            Self::Response { proof } => {
                out.put_u8(3);
                out.put_slice(proof);
            }
        }
        Ok(())
    }

    fn read(payload: &[u8]) -> Result<Self, MessageError> {
        let read = match payload {
            [1, purpose, nonce @ ..] => {
                purpose_of(*purpose).zip(nonce.try_into().ok()).map(|(purpose, nonce)| Self::Hello { purpose, nonce })
            }
            [2, rest @ ..] => rest
                .split_first_chunk()
                .and_then(|(nonce, proof)| Some(Self::Challenge { nonce: *nonce, proof: proof.try_into().ok()? })),
            [3, proof @ ..] => proof.try_into().ok().map(|proof| Self::Response { proof }),
            _ => None,
        };
        read.ok_or(MessageError::Greeting)
    }
}

fn purpose_of(byte: u8) -> Option<Purpose> {
    [Purpose::Reader, Purpose::Writer, Purpose::Caller].into_iter().find(|purpose| *purpose as u8 == byte)
}
