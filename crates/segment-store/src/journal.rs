//! The journal: which containers there are, of which run, their sparse anchors, and what passed. What a snapshot has of
//! it is not read again.
//!
//! It grows at its end and each record has a checksum: what a crash left half written is not a record, and ends it.

use dedup::{Anchor, Key, RunId};

use crate::growth::Period;

/// The name of the file.
pub(crate) const NAME: &str = "journal";
/// The name of the next one while it is written.
pub(crate) const NEXT: &str = "journal.new";

const MAGIC: [u8; 8] = *b"fortjnl1";
/// Magic, tag of the key, bits of anchors and of sparse ones.
pub(crate) const HEAD_BYTES: usize = 8 + 16 + 2;

/// The properties on which a store's containers depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub key: [u8; 16],
    pub anchor_bits: u8,
    pub sparse_bits: u8,
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    /// A container was written.
    Written(Entry),
    /// It was removed.
    Removed { number: u64 },
    /// The traffic of a period.
    Passed(Box<Period>),
}

/// A container, without its data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub number: u64,
    pub run: RunId,
    /// The position in the run at which the container begins.
    pub start: u64,
    pub n_bytes: u32,
    /// Bytes on disk.
    pub n_disk: u32,
    pub sparse: Vec<Anchor>,
}

/// The reason why a file is not a journal of this store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// It was written by something else.
    Format,
    /// It was written under another key.
    Key,
    /// It has other anchors.
    Anchors { bits: u8, sparse_bits: u8 },
}

impl Head {
    pub fn new(key: &Key, anchor_bits: u32, sparse_bits: u32) -> Self {
        Self { key: key.tag(), anchor_bits: anchor_bits as u8, sparse_bits: sparse_bits as u8 }
    }

    pub fn to_bytes(self) -> Vec<u8> {
        [&MAGIC[..], &self.key, &[self.anchor_bits, self.sparse_bits]].concat()
    }

    /// Checks the beginning of a journal.
    pub fn check(self, mut bytes: &[u8]) -> Result<(), Foreign> {
        let found = Self::take(&mut bytes).ok_or(Foreign::Format)?;
        if found.key != self.key {
            return Err(Foreign::Key);
        }
        let Self { anchor_bits: bits, sparse_bits, .. } = found;
        if found == self { Ok(()) } else { Err(Foreign::Anchors { bits, sparse_bits }) }
    }

    /// Takes it off the front, if it is one.
    pub fn take(bytes: &mut &[u8]) -> Option<Self> {
        let magic: [u8; 8] = part(bytes)?;
        let key = part(bytes)?;
        let [anchor_bits, sparse_bits] = part(bytes)?;
        (magic == MAGIC).then_some(Self { key, anchor_bits, sparse_bits })
    }
}

impl Record {
    /// Length, checksum, and what they are of.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Written(entry) => {
                body.push(1);
                body.extend_from_slice(&entry.number.to_le_bytes());
                body.extend_from_slice(&entry.run.0);
                body.extend_from_slice(&entry.start.to_le_bytes());
                body.extend_from_slice(&entry.n_bytes.to_le_bytes());
                body.extend_from_slice(&entry.n_disk.to_le_bytes());
                for anchor in &entry.sparse {
                    body.extend_from_slice(&anchor.0.to_le_bytes());
                }
            }
            Self::Removed { number } => {
                body.push(2);
                body.extend_from_slice(&number.to_le_bytes());
            }
            Self::Passed(period) => {
                body.push(3);
                period.put(&mut body);
            }
        }
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.append(&mut body);
        bytes
    }

    /// Takes a record off the front, if there is a whole one.
    pub fn take(bytes: &mut &[u8]) -> Option<Self> {
        let mut rest = *bytes;
        let n_body = u32::from_le_bytes(part(&mut rest)?) as usize;
        let checksum = u32::from_le_bytes(part(&mut rest)?);
        let (mut body, rest) = rest.split_at_checked(n_body)?;
        if crc32fast::hash(body) != checksum {
            return None;
        }
        let [kind] = part(&mut body)?;
        let record = match kind {
            1 => Self::Written(Entry {
                number: u64::from_le_bytes(part(&mut body)?),
                run: RunId(part(&mut body)?),
                start: u64::from_le_bytes(part(&mut body)?),
                n_bytes: u32::from_le_bytes(part(&mut body)?),
                n_disk: u32::from_le_bytes(part(&mut body)?),
                sparse: body.as_chunks().0.iter().map(|anchor| Anchor(u64::from_le_bytes(*anchor))).collect(),
            }),
            2 => Self::Removed { number: u64::from_le_bytes(part(&mut body)?) },
            3 => Self::Passed(Box::new(Period::take(&mut body)?)),
            _ => return None,
        };
        *bytes = rest;
        Some(record)
    }
}

/// Takes so many bytes off the front.
pub(crate) fn part<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (part, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_a_half_written_one_ends_them() {
        let written = Record::Written(Entry {
            number: 7,
            run: RunId([3; 16]),
            start: 1 << 40,
            n_bytes: 99,
            n_disk: 140,
            sparse: vec![Anchor(1), Anchor(2)],
        });
        let removed = Record::Removed { number: 7 };
        let passed = Record::Passed(Box::default());
        let all = [written.clone(), removed, passed];
        let whole = all.each_ref().map(Record::to_bytes).concat();
        for n_kept in 0..=whole.len() {
            let mut rest = &whole[..n_kept];
            let mut read = Vec::new();
            while let Some(record) = Record::take(&mut rest) {
                read.push(record);
            }
            let ends = (1..=all.len()).map(|n| all[..n].iter().map(|record| record.to_bytes().len()).sum::<usize>());
            assert_eq!(read, all[..ends.filter(|&end| end <= n_kept).count()]);
        }
    }

    #[test]
    fn a_journal_of_another_key_or_with_other_anchors_is_known() {
        let head = Head::new(&Key::OPEN, 8, 5);
        let bytes = head.to_bytes();
        assert_eq!(head.check(&bytes), Ok(()));
        assert_eq!(Head::new(&Key::of_tenant(b"x", "y"), 8, 5).check(&bytes), Err(Foreign::Key));
        assert_eq!(Head::new(&Key::OPEN, 7, 5).check(&bytes), Err(Foreign::Anchors { bits: 8, sparse_bits: 5 }));
        assert_eq!(head.check(b"something else entirely, and long enough"), Err(Foreign::Format));
        assert_eq!(head.check(b"short"), Err(Foreign::Format));
    }
}
