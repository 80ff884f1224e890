//! Redundancy as Spring and Wetherall (2000) find it: fingerprints that the content selects lead to what is remembered,
//! and matches are grown from there both ways. As it was, with one queue of bytes, and as Bongo (2007, section 8.5)
//! adapted it to a cache of segments.
//!
//! Both ends remember alike: neither may forget what the other knows.

use std::collections::HashMap;

use crate::latest::LatestEntries;
use crate::segmenter::polynomial::{is_selected, windows};

/// The window of a fingerprint.
const N_WINDOW: usize = 48;
/// One window in 2^5 is selected.
const BITS: u32 = 5;

/// A shorter match, as may be left beside the last one, costs more than it saves.
const N_MIN: usize = 16;

/// Memory of a segment beside its bytes: its place in a table that is half full, and what the heap adds.
const ENTRY_BYTES: usize = 128;

/// One end.
#[derive(Debug)]
pub struct Spring {
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    /// The last bytes, and where in all of them each fingerprint's window ends.
    Queue { bytes: Vec<u8>, n_max: usize, n_dropped: usize, ends: HashMap<u64, usize> },
    /// Segments of at most `n_bytes` bytes, and where in them the window ends.
    Segments { n_bytes: usize, segments: LatestEntries<u64, (Vec<u8>, usize)> },
}

/// A part of what is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Bytes that are new.
    Literal(Vec<u8>),
    /// Bytes that are remembered.
    Copy(Copied),
}

/// Position of remembered bytes: around the end of a fingerprint's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The fingerprint.
    pub fingerprint: u64,
    /// Bytes before the end of the window.
    pub n_before: usize,
    /// Bytes after it.
    pub n_after: usize,
}

impl Copied {
    /// Returns the number of bytes that the token stands for.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.n_before + self.n_after
    }
}

impl Spring {
    /// Builds the original method, with a queue of so many bytes.
    #[must_use]
    pub fn original(n_max: usize) -> Self {
        Self { memory: Memory::Queue { bytes: Vec::new(), n_max, n_dropped: 0, ends: HashMap::new() } }
    }

    /// Builds the adapted method, with segments of so many bytes around each selected window of 48. The latest segments
    /// are remembered, in at most `n_memory` bytes.
    #[must_use]
    pub fn adapted(n_bytes: usize, n_memory: usize) -> Self {
        let n_bytes = n_bytes.max(N_WINDOW);
        Self { memory: Memory::Segments { n_bytes, segments: LatestEntries::new(n_memory / (n_bytes + ENTRY_BYTES)) } }
    }

    /// Whether segments were forgotten; a queue forgets by design.
    pub(crate) fn has_forgotten(&self) -> bool {
        matches!(&self.memory, Memory::Segments { segments, .. } if segments.has_forgotten())
    }

    /// Returns the number of known fingerprints.
    #[must_use]
    pub fn n_entries(&self) -> usize {
        match &self.memory {
            Memory::Queue { ends, .. } => ends.len(),
            Memory::Segments { segments, .. } => segments.len(),
        }
    }

    /// Returns the tokens that stand for these bytes, which are remembered.
    #[must_use]
    pub fn encode(&mut self, data: &[u8]) -> Vec<Token> {
        let selected = selected(data);
        let (mut tokens, mut n_sent) = (Vec::new(), 0);
        for &(fingerprint, end) in &selected {
            if end < n_sent {
                continue;
            }
            let Some((before, after)) = self.around(fingerprint) else {
                continue;
            };
            let same = |(a, b): &(&u8, &u8)| a == b;
            let n_before = before.iter().rev().zip(data[n_sent..end].iter().rev()).take_while(same).count();
            let n_after = after.iter().zip(&data[end..]).take_while(same).count();
            if n_before + n_after < N_MIN {
                continue;
            }
            if n_sent < end - n_before {
                tokens.push(Token::Literal(data[n_sent..end - n_before].to_vec()));
            }
            tokens.push(Token::Copy(Copied { fingerprint, n_before, n_after }));
            n_sent = end + n_after;
        }
        if n_sent < data.len() {
            tokens.push(Token::Literal(data[n_sent..].to_vec()));
        }
        self.remember(data, &selected);
        tokens
    }

    /// The bytes that these stand for, which are remembered; `None` if they say what this end cannot know.
    #[must_use]
    pub fn decode(&mut self, tokens: &[Token]) -> Option<Vec<u8>> {
        let mut data = Vec::new();
        for token in tokens {
            match token {
                Token::Literal(bytes) => data.extend_from_slice(bytes),
                Token::Copy(copied) => {
                    let (before, after) = self.around(copied.fingerprint)?;
                    data.extend_from_slice(&before[before.len().checked_sub(copied.n_before)?..]);
                    data.extend_from_slice(after.get(..copied.n_after)?);
                }
            }
        }
        let selected = selected(&data);
        self.remember(&data, &selected);
        Some(data)
    }

    /// The published size of a token but for its literal bytes: a message of eight bytes for a sub-range of a segment,
    /// a fingerprint of eight and two counts of two for a match in the queue, three before bytes without a fingerprint.
    #[must_use]
    pub fn head_bytes(&self, token: &Token) -> usize {
        match (token, &self.memory) {
            (Token::Literal(_), _) => 3,
            (Token::Copy(_), Memory::Segments { .. }) => 8,
            (Token::Copy(_), Memory::Queue { .. }) => 12,
        }
    }

    /// Returns the remembered bytes on both sides of the end of a window.
    fn around(&self, fingerprint: u64) -> Option<(&[u8], &[u8])> {
        match &self.memory {
            Memory::Queue { bytes, n_dropped, ends, .. } => {
                bytes.split_at_checked(ends.get(&fingerprint)?.checked_sub(*n_dropped)?)
            }
            Memory::Segments { segments, .. } => {
                let (bytes, end) = segments.get(&fingerprint)?;
                bytes.split_at_checked(*end)
            }
        }
    }

    fn remember(&mut self, data: &[u8], selected: &[(u64, usize)]) {
        match &mut self.memory {
            Memory::Queue { bytes, n_max, n_dropped, ends } => {
                let begin = *n_dropped + bytes.len();
                bytes.extend_from_slice(data);
                ends.extend(selected.iter().map(|&(fingerprint, end)| (fingerprint, begin + end)));
                // A half more than is kept, so that bytes are moved rarely.
                if bytes.len() > *n_max + *n_max / 2 {
                    let n = bytes.len() - *n_max;
                    bytes.drain(..n);
                    *n_dropped += n;
                    ends.retain(|_, end| *end >= *n_dropped);
                }
            }
            Memory::Segments { n_bytes, segments } => {
                let n_beside = (*n_bytes - N_WINDOW) / 2;
                for &(fingerprint, end) in selected {
                    let begin = end.saturating_sub(N_WINDOW + n_beside);
                    let segment = &data[begin..(end + n_beside).min(data.len())];
                    segments.insert(fingerprint, (segment.to_vec(), end - begin));
                }
            }
        }
    }
}

/// Selected fingerprints and where their windows end; of a stretch in which all are the same, the first.
fn selected(data: &[u8]) -> Vec<(u64, usize)> {
    let all = windows(data, N_WINDOW).enumerate().map(|(i, hash)| (hash, i + N_WINDOW));
    let mut selected: Vec<(u64, usize)> = all.filter(|&(hash, _)| is_selected(hash, BITS)).collect();
    selected.dedup_by_key(|&mut (hash, _)| hash);
    selected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::segmenter::testing::{repetitive, varied};

    fn both() -> [fn() -> Spring; 2] {
        [|| Spring::original(50_000), || Spring::adapted(256, 1 << 20)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn versions_arrive(cuts in prop::collection::vec((0..20_000_usize, 0..500_usize), 1..8), is_plain: bool) {
            for new in both() {
                let (mut near, mut far) = (new(), new());
                let mut data = if is_plain { repetitive(20_000) } else { varied(20_000) };
                for &(at, n) in &cuts {
                    let tokens = near.encode(&data);
                    let decoded = far.decode(&tokens);
                    prop_assert!(decoded.as_ref() == Some(&data));
                    let at = at.min(data.len());
                    data.drain(at..(at + n).min(data.len()));
                }
            }
        }
    }

    #[test]
    fn matches_are_grown_and_a_segment_bounds_them() {
        let data = varied(20_000);
        let lengths = |mut spring: Spring| -> Vec<usize> {
            let _ = spring.encode(&data);
            let again = spring.encode(&data).into_iter();
            again
                .filter_map(|token| if let Token::Copy(copied) = token { Some(copied.n_bytes()) } else { None })
                .collect()
        };
        assert_eq!(lengths(Spring::original(50_000)), [20_000]);
        let adapted = lengths(Spring::adapted(256, 1 << 20));
        assert!(adapted.len() > 70 && adapted.iter().all(|&n| n <= 256), "{adapted:?}");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let copied = Copied { fingerprint: 1, n_before: 48, n_after: 0 };
        for new in both() {
            assert_eq!(new().decode(&[Token::Copy(copied)]), None);
            let mut spring = new();
            let _ = spring.encode(&varied(1000));
            let (fingerprint, _) = selected(&varied(1000))[0];
            for (n_before, n_after) in [(usize::MAX, 0), (0, usize::MAX), (2000, 0)] {
                assert_eq!(spring.decode(&[Token::Copy(Copied { fingerprint, n_before, n_after })]), None);
            }
        }
    }
}
