//! Finding what is remembered: an anchor leads to a place, and the match is grown from there both ways, byte by byte.

use crate::flow::Flow;
use crate::gear::{Anchor, Gear, WINDOW};
use crate::history::{History, Place};
use crate::resync::resync;

/// A match shorter than this costs more than the bytes.
const N_MIN: usize = 32;
/// The same where the last match led to it, so that its place takes a byte or two.
const N_MIN_LED: usize = 24;

/// Bytes that are also elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// Position in the data that was looked at.
    pub at: usize,
    /// Number of bytes.
    pub n_bytes: usize,
    /// Place in the history.
    pub source: Place,
}

/// The history that a sender searches, and the gear that it uses.
pub(crate) struct Search<'a, H> {
    pub gear: &'a Gear,
    pub history: &'a mut H,
}

impl<H: History> Search<'_, H> {
    /// All matches in `data`, which goes on where `flow` was, in order and without overlap.
    pub fn matches(&mut self, flow: &mut Flow, data: &[u8], found: &mut Vec<Match>) {
        found.clear();
        let at = match flow.expected {
            Some(expected) => self.follow(expected, 0, data, found),
            None => 0,
        };
        if at > 0 {
            flow.hash = self.gear.hash(&data[..at]);
        }
        self.scan(&mut flow.hash, at, data, found);
        if flow.expected.is_none()
            && let Some(first) = found.first()
        {
            // What the first match led to may have brought the anchors before it into memory.
            let mut earlier = Vec::new();
            self.scan(&mut 0, 0, &data[..first.at], &mut earlier);
            found.splice(0..0, earlier);
        }
    }

    /// The matches from `at` on, by anchors and what those lead to. `hash` is that of the bytes before.
    fn scan(&mut self, hash: &mut u64, mut at: usize, data: &[u8], found: &mut Vec<Match>) {
        let mut n_covered = at;
        let mut refused = None;
        while let Some(taken) = self.gear.next_anchor(hash, &data[at..]) {
            at += taken;
            if refused == Some(*hash) {
                continue;
            }
            let Some(copy) = self.at_anchor(Anchor(*hash), at, n_covered, data) else {
                refused = Some(*hash);
                continue;
            };
            found.push(copy);
            n_covered = self.follow(copy.source.after(copy.n_bytes), copy.at + copy.n_bytes, data, found);
            if n_covered > at {
                at = n_covered;
                *hash = self.gear.hash(&data[at.saturating_sub(WINDOW)..at]);
            }
        }
    }

    /// The matches that follow the last one, without a search for others.
    pub fn sequel(&mut self, flow: &mut Flow, data: &[u8], found: &mut Vec<Match>) {
        found.clear();
        if let Some(expected) = flow.expected {
            self.follow(expected, 0, data, found);
        }
        flow.hash = self.gear.hash(data);
    }

    /// The match around an anchor that ends at `at`, of bytes that are not covered yet.
    fn at_anchor(&mut self, anchor: Anchor, at: usize, n_covered: usize, data: &[u8]) -> Option<Match> {
        let end = self.history.find(anchor)?;
        let n_behind = grow_behind(self.history, end, &data[n_covered..at]);
        // A window that begins before these bytes, or within the last match, can be compared in part only.
        if n_behind < N_MIN.min(at - n_covered) {
            return None;
        }
        let n_bytes = n_behind + grow_ahead(self.history, end, &data[at..]);
        let copy = Match { at: at - n_behind, n_bytes, source: end.before(n_behind) };
        (n_bytes >= N_MIN).then_some(copy)
    }

    /// Adds the matches that lead on from one that ended at `end`, and gives where the last of them ends.
    fn follow(&mut self, mut end: Place, mut at: usize, data: &[u8], found: &mut Vec<Match>) -> usize {
        while at < data.len() {
            let Some(copy) = self.next(end, at, data) else {
                break;
            };
            found.push(copy);
            at = copy.at + copy.n_bytes;
            end = copy.source.after(copy.n_bytes);
        }
        at
    }

    fn next(&mut self, end: Place, at: usize, data: &[u8]) -> Option<Match> {
        let rest = &data[at..];
        let led = |history: &mut H, source| {
            let n_bytes = grow_ahead(history, source, rest);
            (n_bytes >= N_MIN_LED.min(rest.len())).then_some(Match { at, n_bytes, source })
        };
        let found =
            led(self.history, end).or_else(|| self.history.led(end).and_then(|source| led(self.history, source)));
        if found.is_some() {
            return found;
        }
        let (gap, source) = resync(self.history, end, rest)?;
        let n_bytes = grow_ahead(self.history, source, &rest[gap..]);
        Some(Match { at: at + gap, n_bytes, source })
    }
}

fn grow_ahead(history: &mut impl History, mut from: Place, data: &[u8]) -> usize {
    let mut n_same = 0;
    while n_same < data.len() {
        let known = history.ahead(from);
        let n_compared = known.len().min(data.len() - n_same);
        let n = n_same_ahead(&known[..n_compared], &data[n_same..n_same + n_compared]);
        n_same += n;
        from = from.after(n);
        if n < n_compared || n_compared == 0 {
            break;
        }
    }
    n_same
}

fn grow_behind(history: &mut impl History, mut before: Place, data: &[u8]) -> usize {
    let mut n_same = 0;
    while n_same < data.len() {
        let known = history.behind(before);
        let n_compared = known.len().min(data.len() - n_same);
        let n = n_same_behind(
            &known[known.len() - n_compared..],
            &data[data.len() - n_same - n_compared..data.len() - n_same],
        );
        n_same += n;
        before = before.before(n);
        if n < n_compared || n_compared == 0 {
            break;
        }
    }
    n_same
}

/// Returns the number of bytes that two slices of one length have in common at their beginning.
fn n_same_ahead(one: &[u8], other: &[u8]) -> usize {
    const STRIDE: usize = 32;
    let ((one_strides, _), (other_strides, _)) = (one.as_chunks::<STRIDE>(), other.as_chunks::<STRIDE>());
    let n = one_strides.iter().zip(other_strides).take_while(|(a, b)| a == b).count() * STRIDE;
    let (one, other) = (&one[n..], &other[n..]);
    let ((one_words, _), (other_words, _)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    for (i, (&a, &b)) in one_words.iter().zip(other_words).enumerate() {
        let differing = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
        if differing != 0 {
            return n + i * 8 + differing.trailing_zeros() as usize / 8;
        }
    }
    let n_words = one_words.len() * 8;
    n + n_words + one[n_words..].iter().zip(&other[n_words..]).take_while(|(a, b)| a == b).count()
}

/// The same at their end.
fn n_same_behind(one: &[u8], other: &[u8]) -> usize {
    let ((_, one_words), (_, other_words)) = (one.as_rchunks::<8>(), other.as_rchunks::<8>());
    for (i, (&a, &b)) in one_words.iter().rev().zip(other_words.iter().rev()).enumerate() {
        let differing = u64::from_le_bytes(a) ^ u64::from_le_bytes(b);
        if differing != 0 {
            return i * 8 + differing.leading_zeros() as usize / 8;
        }
    }
    let n = one_words.len() * 8;
    let (one, other) = (&one[..one.len() - n], &other[..other.len() - n]);
    n + one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_counted_to_the_byte() {
        for n in 0..150 {
            let one: Vec<u8> = (0..n).collect();
            assert_eq!((n_same_ahead(&one, &one), n_same_behind(&one, &one)), (one.len(), one.len()));
            for differing in 0..one.len() {
                let mut other = one.clone();
                other[differing] ^= 0x10;
                assert_eq!(n_same_ahead(&one, &other), differing);
                assert_eq!(n_same_behind(&one, &other), one.len() - 1 - differing);
            }
        }
    }
}
