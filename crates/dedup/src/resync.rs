//! Finding the thread again right behind a small change: a few bytes replaced, inserted or left out.

use crate::history::{History, Place};

/// Reach of the search, in what was given and in what is known.
const REACH: usize = 192;
/// Number of bytes that are compared at once.
const GRAM: usize = 8;
/// A match shorter than this is not taken: it might be by chance, and costs some four bytes.
const N_MIN: usize = 28;

/// The nearest place in `data` that goes on as the history does near `end`, and where that is.
pub(crate) fn resync(history: &mut impl History, end: Place, data: &[u8]) -> Option<(usize, Place)> {
    let known = history.ahead(end);
    let known = &known[..known.len().min(REACH)];
    let data = &data[..data.len().min(REACH)];
    if known.len() < N_MIN || data.len() < N_MIN {
        return None;
    }
    // One gram in eight of what is known is enough: any match that is long enough has two of them. The first of those
    // with the same slot stays. A slot has a place, and a second hash over the gram there: most grams that fall into it
    // are others.
    let mut table = [(0_u8, 0_u8); 256];
    for at in (0..known.len() - GRAM + 1).step_by(GRAM).rev() {
        let (slot, tag) = hash(known[at..].first_chunk().expect("there is a gram"));
        table[slot] = (at as u8 + 1, tag);
    }
    for (i, gram) in data.array_windows::<GRAM>().enumerate() {
        let (slot, tag) = hash(gram);
        let (at, known_tag) = table[slot];
        if tag != known_tag || at == 0 {
            continue;
        }
        let at = usize::from(at - 1);
        let n_ahead = known[at..].iter().zip(&data[i..]).take_while(|(a, b)| a == b).count();
        if n_ahead < GRAM {
            continue;
        }
        let n_behind = known[..at].iter().rev().zip(data[..i].iter().rev()).take_while(|(a, b)| a == b).count();
        if n_behind + n_ahead >= N_MIN {
            return Some((i - n_behind, end.after(at - n_behind)));
        }
    }
    None
}

fn hash(gram: &[u8; GRAM]) -> (usize, u8) {
    let hash = u64::from_le_bytes(*gram).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((hash >> 56) as usize, (hash >> 48) as u8)
}
