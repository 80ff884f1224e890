//! Any bytes are a message of a flow transfer, which writes as the same bytes, or are refused.

use feed::transfer::{Greeting, Request, Speaker, Verdict};
use secret::Token;
use secret::proof::{PROOF_BYTES, Seal};

/// Numbers that both sides have said.
const NONCES: [[u8; 32]; 2] = [[0xa1; 32], [0xb2; 32]];

/// The first byte chooses: 0 a greeting; 1 and 2 a request and a verdict as they came; 3 and 4 the same with the right
/// proof after what is said in them, so that it is looked at. Bytes that are missing are zero.
///
/// Returns whether it is a message.
///
/// # Panics
/// When a message writes as other bytes than those it was read from.
pub fn flow_message(bytes: &[u8]) -> bool {
    let Some((choice, rest)) = bytes.split_first() else {
        return false;
    };
    let token = Token::new("sixteen bytes ok").expect("the token is long enough");
    let seal = Seal::new(token, NONCES[0], NONCES[1]);
    match choice {
        0 => {
            let bytes = padded(rest);
            Greeting::decode(&bytes).is_ok_and(|greeting| is_same(&greeting.encode(), &bytes))
        }
        1 => is_request(padded(rest), &seal),
        2 => is_verdict(padded(rest), &seal),
        3 => is_request(proven(padded(rest), &seal, Speaker::Asker), &seal),
        4 => is_verdict(proven(padded(rest), &seal, Speaker::Responder), &seal),
        _ => false,
    }
}

fn is_request(bytes: [u8; 45], seal: &Seal) -> bool {
    Request::decode(&bytes, seal).is_ok_and(|request| is_same(&request.encode(seal), &bytes))
}

fn is_verdict(bytes: [u8; 41], seal: &Seal) -> bool {
    let Ok(verdict) = Verdict::decode(&bytes, seal) else {
        return false;
    };
    // A limit that a verdict does not have is not read, and written as zero.
    let again = Verdict::decode(&verdict.encode(seal), seal);
    assert_eq!(again, Ok(verdict), "a verdict reads back as another one");
    true
}

#[track_caller]
fn is_same(written: &[u8], read: &[u8]) -> bool {
    assert_eq!(written, read, "a message writes as other bytes");
    true
}

fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    let n_bytes = bytes.len().min(N);
    padded[..n_bytes].copy_from_slice(&bytes[..n_bytes]);
    padded
}

fn proven<const N: usize>(mut bytes: [u8; N], seal: &Seal, speaker: Speaker) -> [u8; N] {
    let (message, proof) = bytes.split_at_mut(N - PROOF_BYTES);
    proof.copy_from_slice(&seal.proof(speaker.label(), message));
    bytes
}
