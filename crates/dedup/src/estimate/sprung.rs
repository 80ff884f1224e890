//! Spring and Wetherall's matches, as an estimate counts them.

use super::packed;
use crate::encoder::Tally;
use crate::group::HASH_BYTES;
use crate::literals::Packer;
use crate::spring::{Spring, Token};

/// Matches under a hash for each group.
pub(super) struct Sprung {
    spring: Spring,
    packer: Packer,
    pub tally: Tally,
}

impl Sprung {
    pub fn new(spring: Spring, packer: Packer) -> Self {
        Self { spring, packer, tally: Tally::default() }
    }

    /// Whether entries were forgotten for want of memory.
    pub fn has_forgotten(&self) -> bool {
        self.spring.has_forgotten()
    }

    /// Returns the number of entries of the index.
    pub fn n_entries(&self) -> usize {
        self.spring.n_entries()
    }

    pub fn add(&mut self, data: &[u8]) {
        let tokens = self.spring.encode(data);
        let mut body = Vec::new();
        for token in &tokens {
            match token {
                Token::Literal(bytes) => body.extend_from_slice(bytes),
                Token::Copy(copy) => {
                    self.tally.n_matches += 1;
                    self.tally.n_matched += copy.n_bytes() as u64;
                }
            }
        }
        self.tally.n_given += data.len() as u64;
        self.tally.n_wire +=
            (tokens.iter().map(|token| self.spring.head_bytes(token)).sum::<usize>() + HASH_BYTES) as u64;
        self.tally.n_wire += packed(&mut self.packer, &body);
    }
}
