//! The snapshot: the sparse index and the containers as of some length of the journal, so that little is read when a
//! store is opened.
//!
//! It is written beside the last one and takes its place when it is complete. It says which journal it is of: after
//! damage, or when the journal is another one, it is as if there were none, and all is made again from the journal.

use dedup::RunId;
use dedup::two_level::Filter;

use crate::catalogue::{Catalogue, Container};
use crate::container::Lost;
use crate::growth::{Growth, Period};
use crate::journal::{self, Head, part};
use crate::sparse::{N_SHARDS, ShardOutline, SparseIndex, Stored};
use crate::storage::Storage;

/// The name of the file, and of the next one while it is written.
pub(crate) const NAME: &str = "index";
pub(crate) const NEXT: &str = "index.new";

const MAGIC: [u8; 8] = *b"fortidx1";
/// The position and the length of the outline, its checksum, and the magic.
const TRAILER_BYTES: u64 = 8 + 8 + 4 + 8;
/// So much of the journal's end tells whether it is the same one.
const N_WITNESS: u64 = 4096;

/// The state that a snapshot records beside containers and anchors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub head: Head,
    /// The number of bytes of the journal that are in it.
    pub n_journal: u64,
    /// Records in the journal of containers that are gone.
    pub n_removed: u64,
    pub next_number: u64,
    /// Bytes that were ever appended.
    pub n_ever: u64,
}

/// A snapshot as it is read.
pub(crate) struct Snapshot {
    pub standing: Standing,
    pub catalogue: Catalogue,
    pub sparse: SparseIndex,
    pub growth: Growth,
}

/// Writes a snapshot in place of the last one.
///
/// # Errors
/// When it cannot be written; the last one is still there then.
pub(crate) fn write(
    storage: &mut dyn Storage,
    standing: Standing,
    catalogue: &Catalogue,
    sparse: &mut SparseIndex,
    growth: &Growth,
) -> Result<(), Lost> {
    storage.remove(NEXT)?;
    let outlines = sparse.write(NEXT, storage, |slot| catalogue.containers.contains_key(&slot))?;
    let witness = witness(storage, standing.n_journal)?;
    let mut outline = put(standing, witness, catalogue, &outlines, growth);
    let at = outlines.iter().map(|outline| u64::from(outline.stored.n_slots) * 8).sum::<u64>();
    let trailer = [
        &at.to_le_bytes()[..],
        &(outline.len() as u64).to_le_bytes(),
        &crc32fast::hash(&outline).to_le_bytes(),
        &MAGIC,
    ];
    outline.extend_from_slice(&trailer.concat());
    storage.append(NEXT, &outline)?;
    storage.rename(NEXT, NAME)?;
    sparse.moved(outlines);
    Ok(())
}

/// The last snapshot, if there is a whole one, and of this journal.
pub(crate) fn read(storage: &mut dyn Storage, head: Head) -> Option<Snapshot> {
    let n_file = storage.size(NAME).ok()?;
    let trailer_at = n_file.checked_sub(TRAILER_BYTES)?;
    let mut trailer = [0; TRAILER_BYTES as usize];
    storage.read(NAME, trailer_at, &mut trailer).ok()?;
    let mut rest = &trailer[..];
    let (at, n_outline) = (u64::from_le_bytes(part(&mut rest)?), u64::from_le_bytes(part(&mut rest)?));
    let checksum = u32::from_le_bytes(part(&mut rest)?);
    if rest != MAGIC || at.checked_add(n_outline) != Some(trailer_at) {
        return None;
    }
    let mut outline = vec![0; usize::try_from(n_outline).ok()?];
    storage.read(NAME, at, &mut outline).ok()?;
    if crc32fast::hash(&outline) != checksum {
        return None;
    }
    let (snapshot, said) = take(&mut &outline[..])?;
    let is_same = snapshot.standing.head == head && witness(storage, snapshot.standing.n_journal).ok()? == said;
    is_same.then_some(snapshot)
}

/// Returns the checksum that tells one journal from another of which this snapshot is not.
fn witness(storage: &mut dyn Storage, n_journal: u64) -> std::io::Result<u32> {
    let mut bytes = vec![0; n_journal.min(N_WITNESS) as usize];
    storage.read(journal::NAME, n_journal - bytes.len() as u64, &mut bytes)?;
    Ok(crc32fast::hash(&bytes))
}

fn put(standing: Standing, witness: u32, catalogue: &Catalogue, shards: &[ShardOutline], growth: &Growth) -> Vec<u8> {
    let mut out = standing.head.to_bytes();
    for number in [standing.n_journal, standing.n_removed, standing.next_number, standing.n_ever] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&witness.to_le_bytes());
    out.extend_from_slice(&catalogue.n_slots().to_le_bytes());
    out.extend_from_slice(&(catalogue.runs.len() as u32).to_le_bytes());
    catalogue.runs.iter().for_each(|run| out.extend_from_slice(&run.id.0));
    out.extend_from_slice(&(catalogue.containers.len() as u32).to_le_bytes());
    for (slot, held) in &catalogue.containers {
        for number in [*slot, held.run.0, held.n_bytes, held.n_disk] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [held.number, held.start, held.used, held.born] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    out.extend_from_slice(&(growth.periods().len() as u32).to_le_bytes());
    growth.periods().iter().for_each(|period| period.put(&mut out));
    for ShardOutline { stored, filter } in shards {
        out.extend_from_slice(&stored.at.to_le_bytes());
        for number in [stored.n_slots, stored.n_taken, stored.checksum, filter.words().len() as u32] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        filter.words().iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }
    out
}

/// Reads the snapshot that was written, and the witness. Its checksum held, so that nothing in it is beyond what
/// a store has.
fn take(rest: &mut &[u8]) -> Option<(Snapshot, u32)> {
    let head = Head::take(rest)?;
    let [n_journal, n_removed, next_number, n_ever] = numbers(rest)?;
    let witness = number(rest)?;
    let standing = Standing { head, n_journal, n_removed, next_number, n_ever };
    let n_slots = number(rest)?;
    let mut catalogue = Catalogue::of_slots(n_slots);
    for _ in 0..number(rest)? {
        catalogue.run(RunId(part(rest)?));
    }
    for _ in 0..number(rest)? {
        let [slot, run, n_bytes, n_disk] = [number(rest)?, number(rest)?, number(rest)?, number(rest)?];
        let [container, start, used, born] = numbers(rest)?;
        if run as usize >= catalogue.runs.len() || slot >= n_slots {
            return None;
        }
        let run = dedup::Run(run);
        catalogue.add(slot, Container { number: container, run, start, n_bytes, n_disk, used, born, loaded: None });
    }
    let mut growth = Growth::default();
    for _ in 0..number(rest)? {
        growth.push(Period::take(rest)?);
    }
    let mut shards = Vec::with_capacity(N_SHARDS);
    for _ in 0..N_SHARDS {
        let at = u64::from_le_bytes(part(rest)?);
        let [n_slots, n_taken, checksum, n_words] = [number(rest)?, number(rest)?, number(rest)?, number(rest)?];
        let (words, after) = rest.split_at_checked(n_words as usize * 8)?;
        *rest = after;
        let words = words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let stored = Stored { at, n_slots, n_taken, checksum };
        shards.push(ShardOutline { stored, filter: Filter::from_words(words)? });
    }
    let snapshot = Snapshot { standing, catalogue, sparse: SparseIndex::stored(shards), growth };
    rest.is_empty().then_some((snapshot, witness))
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    part(rest).map(u32::from_le_bytes)
}

fn numbers(rest: &mut &[u8]) -> Option<[u64; 4]> {
    let mut next = || part(rest).map(u64::from_le_bytes);
    Some([next()?, next()?, next()?, next()?])
}
