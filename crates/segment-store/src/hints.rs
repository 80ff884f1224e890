//! The sender's hints on disk, so that what was sent before is followed after a restart as if there had been none.
//!
//! A file of its own, written whole. Without it, or when it is damaged or another store's, what was sent is found by
//! anchors.

use dedup::{Hints, Place, Run, RunId};

use crate::journal::{Head, part};
use crate::storage::Storage;

/// The name of the file, and of the next one while it is written.
pub(crate) const NAME: &str = "hints";
pub(crate) const NEXT: &str = "hints.new";

const MAGIC: [u8; 8] = *b"forthnt1";

/// Runs that hints can be of: later ones have none.
const N_RUNS_MAX: usize = 1 << 16;

/// More than all hints and runs take: 2^17 of 24 bytes, and 2^16 of 16.
const SIZE_MAX: u64 = 8 << 20;

/// Writes all hints in place of the last ones; `runs` are those of the store, in their order.
///
/// # Errors
/// When they cannot be written; the last ones are still there then.
pub(crate) fn write(storage: &mut dyn Storage, head: Head, hints: &Hints, runs: &[RunId]) -> std::io::Result<()> {
    let runs = &runs[..runs.len().min(N_RUNS_MAX)];
    let mut bytes = [&MAGIC[..], &head.to_bytes(), &(runs.len() as u32).to_le_bytes()].concat();
    runs.iter().for_each(|run| bytes.extend_from_slice(&run.0));
    for (end, next) in hints.entries() {
        for place in [end, next] {
            bytes.extend_from_slice(&place.run.0.to_le_bytes());
            bytes.extend_from_slice(&place.position.to_le_bytes());
        }
    }
    let checksum = crc32fast::hash(&bytes);
    storage.create(NEXT, &[&bytes, &checksum.to_le_bytes()])?;
    storage.rename(NEXT, NAME)
}

/// The last ones, if they are whole and of this store, without those of runs that are no longer known.
pub(crate) fn read(storage: &mut dyn Storage, head: Head, run: impl Fn(RunId) -> Option<Run>) -> Option<Hints> {
    let size = storage.size(NAME).ok().filter(|size| *size <= SIZE_MAX)?;
    let mut bytes = vec![0; size as usize];
    storage.read(NAME, 0, &mut bytes).ok()?;
    let (mut rest, checksum) = bytes.split_last_chunk()?;
    if crc32fast::hash(rest) != u32::from_le_bytes(*checksum)
        || part(&mut rest)? != MAGIC
        || Head::take(&mut rest)? != head
    {
        return None;
    }
    let mut runs = Vec::new();
    for _ in 0..u32::from_le_bytes(part(&mut rest)?) {
        runs.push(run(RunId(part(&mut rest)?)));
    }
    let mut place = || {
        let (run, position) = (u32::from_le_bytes(part(&mut rest)?), u64::from_le_bytes(part(&mut rest)?));
        Some(runs.get(run as usize)?.map(|run| Place { run, position }))
    };
    let mut hints = Hints::default();
    while let (Some(end), Some(next)) = (place(), place()) {
        if let (Some(end), Some(next)) = (end, next) {
            hints.set(end, next);
        }
    }
    Some(hints)
}
