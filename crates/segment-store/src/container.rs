//! A container in bytes, as `docs/formats/segment-store.md` has it: data, a checksum of each block, and its anchors.

use dedup::Anchor;

use crate::storage::Storage;

/// The number of bytes that are read at once, and have a checksum: a random read of less would take as long.
pub const BLOCK_BYTES: usize = 1 << 16;

const MAGIC: [u8; 8] = *b"fortseg1";
const HEAD_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;
const ANCHOR_BYTES: usize = 12;

/// The reason why a container is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    /// It cannot be read: removed, cut, or the disk fails.
    #[error(transparent)]
    Unreadable(#[from] std::io::Error),
    /// It is not what was written.
    #[error("the checksum does not hold")]
    Altered,
}

/// The parts of a container beside its data.
#[derive(Debug)]
pub(crate) struct Outline {
    checksums: Vec<u32>,
    pub anchors: Vec<(Anchor, u32)>,
}

/// The name of a container's file.
pub(crate) fn name(number: u64) -> String {
    format!("{number:010}.segments")
}

/// The number in the name of a container's file.
pub(crate) fn number(name: &str) -> Option<u64> {
    name.strip_suffix(".segments")?.parse().ok()
}

/// Writes a container, and gives its outline and how many bytes it takes.
pub(crate) fn write(
    storage: &mut dyn Storage,
    number: u64,
    data: &[u8],
    anchors: Vec<(Anchor, u32)>,
) -> std::io::Result<(Outline, u64)> {
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&(data.len() as u32).to_le_bytes());
    head.extend_from_slice(&(anchors.len() as u32).to_le_bytes());
    let outline = Outline { checksums: data.chunks(BLOCK_BYTES).map(crc32fast::hash).collect(), anchors };
    let tail = outline.to_bytes(&head);
    storage.create(&name(number), &[&head, data, &tail])?;
    Ok((outline, (head.len() + data.len() + tail.len()) as u64))
}

impl Outline {
    fn to_bytes(&self, head: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.checksums.len() * 4 + self.anchors.len() * ANCHOR_BYTES + 4);
        for checksum in &self.checksums {
            bytes.extend_from_slice(&checksum.to_le_bytes());
        }
        for (anchor, offset) in &self.anchors {
            bytes.extend_from_slice(&anchor.0.to_le_bytes());
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(head);
        hasher.update(&bytes);
        bytes.extend_from_slice(&hasher.finalize().to_le_bytes());
        bytes
    }

    /// Reads it from a container with `n_data` bytes of data.
    pub fn read(storage: &mut dyn Storage, number: u64, n_data: usize) -> Result<Self, Lost> {
        let name = name(number);
        let mut head = [0; HEAD_BYTES];
        storage.read(&name, 0, &mut head)?;
        let field = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let n_anchors = field(12);
        // No more anchors than bytes: what a damaged head says gets no memory.
        if head[..8] != MAGIC || field(8) != n_data || n_anchors > n_data {
            return Err(Lost::Altered);
        }
        let n_blocks = n_data.div_ceil(BLOCK_BYTES);
        let mut tail = vec![0; n_blocks * CHECKSUM_BYTES + n_anchors * ANCHOR_BYTES + CHECKSUM_BYTES];
        storage.read(&name, (HEAD_BYTES + n_data) as u64, &mut tail)?;
        let (checksums, rest) = tail.split_at(n_blocks * CHECKSUM_BYTES);
        let outline = Self {
            checksums: checksums.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(),
            anchors: rest.as_chunks::<ANCHOR_BYTES>().0.iter().map(anchor).collect(),
        };
        if outline.to_bytes(&head) == tail { Ok(outline) } else { Err(Lost::Altered) }
    }

    /// Reads blocks `first..=last` of the data.
    pub fn read_blocks(
        &self,
        storage: &mut dyn Storage,
        number: u64,
        n_data: usize,
        (first, last): (usize, usize),
    ) -> Result<Vec<Box<[u8]>>, Lost> {
        let begin = first * BLOCK_BYTES;
        let end = ((last + 1) * BLOCK_BYTES).min(n_data);
        let mut bytes = vec![0; end - begin];
        storage.read(&name(number), (HEAD_BYTES + begin) as u64, &mut bytes)?;
        let blocks = bytes.chunks(BLOCK_BYTES).zip(&self.checksums[first..]);
        blocks
            .map(
                |(block, &checksum)| {
                    if crc32fast::hash(block) == checksum { Ok(block.into()) } else { Err(Lost::Altered) }
                },
            )
            .collect()
    }

    /// Returns the number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.checksums.len()
    }
}

fn anchor(bytes: &[u8; ANCHOR_BYTES]) -> (Anchor, u32) {
    let (anchor, offset) = bytes.split_at(8);
    let anchor = u64::from_le_bytes(anchor.try_into().expect("an anchor is of eight bytes"));
    (Anchor(anchor), u32::from_le_bytes(offset.try_into().expect("an offset is of four bytes")))
}
