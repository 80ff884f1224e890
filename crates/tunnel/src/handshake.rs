//! Both ends prove that they have the same token, for this very connection, before anything else is said.
//!
//! The far end proves first, so that nobody learns anything by listening where a near end is sent to. As in `stream`, a
//! proof is of both nonces, of who speaks and, under TLS, of that connection (RFC 5705).

use std::time::Duration;

use dedup::RunId;
use secret::Token;
use secret::proof::{NONCE_BYTES, Nonce, PROOF_BYTES, Proof, Seal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::error::LinkError;
use crate::transport::{Binding, Bytes};

/// Time limit for the whole handshake.
pub(crate) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Time that a peer with a wrong proof has to wait.
const WRONG_PAUSE: Duration = Duration::from_secs(1);

const MAGIC: [u8; 8] = *b"foretunl";
const VERSION: u32 = 1;

/// The two sides of a connection: a proof names them, so that one kind of connection is not taken for another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speakers {
    connecting: &'static [u8],
    listening: &'static [u8],
}

/// The ends of a link.
pub(crate) const LINK: Speakers = Speakers { connecting: b"foretop tunnel 1 near", listening: b"foretop tunnel 1 far" };
/// Two near ends.
pub(crate) const NEIGHBOURS: Speakers =
    Speakers { connecting: b"foretop tunnel 1 borrower", listening: b"foretop tunnel 1 lender" };

/// The terms that one end sends to the other; the proof covers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The run that this end is going to write.
    pub run: RunId,
    /// One anchor in `2^anchor_bits` bytes.
    pub anchor_bits: u32,
    /// The number of bytes of a stream that this end takes before it gives more credit.
    pub n_window: u32,
}

impl Terms {
    const BYTES: usize = 24;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.run.0);
        bytes[16..20].copy_from_slice(&self.anchor_bits.to_le_bytes());
        bytes[20..].copy_from_slice(&self.n_window.to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let run = RunId(*bytes.first_chunk().expect("24 > 16"));
        Self { run, anchor_bits: number(16), n_window: number(20) }
    }
}

/// The side that connected.
pub(crate) async fn greet(
    stream: &mut Bytes,
    binding: Binding,
    token: &Token,
    speakers: Speakers,
    ours: Terms,
) -> Result<Terms, LinkError> {
    let nonce = random::<NONCE_BYTES>()?;
    say(stream, &[&MAGIC, &VERSION.to_le_bytes(), &nonce]).await?;
    check_version(stream).await?;
    let their_nonce: Nonce = read(stream).await?;
    let theirs = read::<{ Terms::BYTES }>(stream).await?;
    let proof: Proof = read(stream).await?;
    let seal = Seal::new(token.clone(), nonce, their_nonce);
    if !seal.is_proof(speakers.listening, &[&theirs[..], &binding].concat(), &proof) {
        return Err(LinkError::Proof);
    }
    let told = ours.to_bytes();
    let proof = seal.proof(speakers.connecting, &[&told[..], &binding].concat());
    say(stream, &[&told, &proof]).await?;
    agreed(ours, Terms::of_bytes(theirs))
}

/// The side that listens.
pub(crate) async fn welcome(
    stream: &mut Bytes,
    binding: Binding,
    token: &Token,
    speakers: Speakers,
    ours: Terms,
) -> Result<Terms, LinkError> {
    check_version(stream).await?;
    let their_nonce: Nonce = read(stream).await?;
    let nonce = random::<NONCE_BYTES>()?;
    let seal = Seal::new(token.clone(), their_nonce, nonce);
    let told = ours.to_bytes();
    let proof = seal.proof(speakers.listening, &[&told[..], &binding].concat());
    say(stream, &[&MAGIC, &VERSION.to_le_bytes(), &nonce, &told, &proof]).await?;
    let theirs = read::<{ Terms::BYTES }>(stream).await?;
    let proof = read::<PROOF_BYTES>(stream).await?;
    if !seal.is_proof(speakers.connecting, &[&theirs[..], &binding].concat(), &proof) {
        tokio::time::sleep(WRONG_PAUSE).await;
        return Err(LinkError::Proof);
    }
    agreed(ours, Terms::of_bytes(theirs))
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], LinkError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

fn agreed(ours: Terms, theirs: Terms) -> Result<Terms, LinkError> {
    match (theirs.anchor_bits, ours.anchor_bits) {
        (theirs, ours) if theirs != ours => Err(LinkError::Anchors { theirs, ours }),
        _ => Ok(theirs),
    }
}

async fn check_version(stream: &mut Bytes) -> Result<(), LinkError> {
    let magic = read::<8>(stream).await?;
    let theirs = u32::from_le_bytes(read(stream).await?);
    if magic == MAGIC && theirs == VERSION {
        return Ok(());
    }
    Err(LinkError::Version { theirs: if magic == MAGIC { theirs } else { 0 }, ours: VERSION })
}

async fn say(stream: &mut Bytes, parts: &[&[u8]]) -> Result<(), LinkError> {
    stream.write_all(&parts.concat()).await?;
    Ok(stream.flush().await?)
}

async fn read<const N: usize>(stream: &mut Bytes) -> Result<[u8; N], LinkError> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
