//! Best use of the published server's memory: sizes of chunks of data, how much is for tables, which leave first; and
//! whether a sorted table would do in place of a hashed one.

use std::collections::{HashMap, HashSet};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use text::Table;
use text::figure::percent;

use crate::resident::{Leaves, Resident};
use crate::tables::{ENTRY_BYTES, N_VERSIONS, NEW, RESIDENT, each_id};
use crate::{Answer, Settings};

const SEGMENT_BYTES: usize = 32;
/// Slots of a table, 8 KiB: of those that `tables` compares, one that is neither searched much nor half empty.
const N_TABLE: usize = 1024;
/// The cost of a load beside moving its bytes, and the number of bytes that move in a second: a solid-state disk.
const SEEK_SECONDS: f64 = 56e-6;
const BYTES_PER_SEC: f64 = 1e9;
/// A line of a processor's cache.
const LINE_BYTES: usize = 64;

/// Seconds of loading tables and chunks, when a share of the memory is the tables'.
fn seconds(reads: &[Option<usize>], n_memory: f64, n_chunk: usize, share: f64, leaves: Leaves) -> f64 {
    let n_table = N_TABLE * ENTRY_BYTES;
    let mut tables = Resident::new((n_memory * share) as usize / n_table, leaves);
    let mut chunks = Resident::new((n_memory * (1.0 - share)) as usize / n_chunk, leaves);
    for &place in reads.iter().flatten() {
        tables.touch(place / N_TABLE);
        chunks.touch(place * SEGMENT_BYTES / n_chunk);
    }
    let cost = |n_loads: u64, n_bytes: usize| n_loads as f64 * (SEEK_SECONDS + n_bytes as f64 / BYTES_PER_SEC);
    cost(tables.n_loads, n_table) + cost(chunks.n_loads, n_chunk)
}

pub(crate) fn split(settings: Settings) -> Answer {
    const SHARES: [f64; 5] = [0.05, 0.2, 0.4, 0.6, 0.8];
    const PUBLISHED: usize = 2;
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut reads = Vec::new();
    each_id(settings.n_segments, settings.seed, |id, _| {
        let next = places.len();
        let place = *places.entry(id).or_insert(next);
        reads.push((place != next).then_some(place));
    });
    let n_memory = (places.len() * (SEGMENT_BYTES + ENTRY_BYTES)) as f64 * RESIDENT;
    let mut table = Table::of_figures(&[
        "chunk",
        "chunks in memory",
        "5 % for tables",
        "20 %",
        "40 %, published",
        "60 %",
        "80 %",
        "40 %, oldest first",
    ]);
    let mut best = (f64::INFINITY, 0.0, 0);
    let (mut published, mut policy) = (f64::INFINITY, 0.0_f64);
    for n_chunk in [1 << 10, 4 << 10, 16 << 10, 64 << 10] {
        let found = SHARES.map(|share| seconds(&reads, n_memory, n_chunk, share, Leaves::LeastRecentlyUsed));
        let oldest = seconds(&reads, n_memory, n_chunk, SHARES[PUBLISHED], Leaves::Oldest);
        for (share, seconds) in SHARES.into_iter().zip(found) {
            if seconds < best.0 {
                best = (seconds, share, n_chunk);
            }
        }
        published = published.min(found[PUBLISHED]);
        policy = policy.max((oldest / found[PUBLISHED] - 1.0).abs());
        let mut cells = vec![
            text::figure::format(n_chunk as f64, "bytes"),
            ((n_memory * (1.0 - SHARES[PUBLISHED])) as usize / n_chunk).max(1).to_string(),
        ];
        cells.extend(found.iter().chain([&oldest]).map(|seconds| format!("{:.1} ms", 1e3 * seconds)));
        table.row(cells);
    }
    Answer {
        title: "Chunks, the split of memory, and who leaves (open questions 5 and 6)",
        conditions: format!(
            "{N_VERSIONS} versions of {} segments of {SEGMENT_BYTES} bytes, {} of each new; a quarter of tables and data in memory, tables of {}; loads of 56 us and 1 GB/s; published are chunks of 1 MB and 40 % for tables",
            settings.n_segments,
            percent(NEW),
            text::figure::format((N_TABLE * ENTRY_BYTES) as f64, "bytes"),
        ),
        table,
        verdict: format!(
            "not measured in the paper: loads take least with chunks of {} and {} for tables, {:.2} times as long at best with 40 %; which pieces leave first changes it by up to {}",
            text::figure::format(best.2 as f64, "bytes"),
            percent(best.1),
            published / best.0,
            percent(policy),
        ),
        picture: None,
    }
}

pub(crate) fn search(settings: Settings) -> Answer {
    let mut table = Table::of_figures(&[
        "entries of a table",
        "lines read, hashed",
        "by binary search",
        "by interpolation",
        "bytes an entry, hashed",
        "sorted",
    ]);
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    let (mut binary_last, mut between_last) = (0.0, 0.0);
    for n in [settings.n_segments / 64, settings.n_segments / 8, settings.n_segments] {
        let mut ids: Vec<u64> = (0..n).map(|_| chance.random()).collect();
        ids.sort_unstable();
        let mean = |lines: &dyn Fn(u64) -> usize| ids.iter().map(|&id| lines(id)).sum::<usize>() as f64 / n as f64;
        let binary = mean(&|id| lines(&ids, id, |low, high, _, _| low + (high - low) / 2));
        let between = mean(&|id| lines(&ids, id, interpolated));
        (binary_last, between_last) = (binary, between);
        table.row([
            n.to_string(),
            "1.0".to_owned(),
            format!("{binary:.1}"),
            format!("{between:.1}"),
            // Half of the slots are free, so that few entries are not where they belong.
            format!("{}", 2 * ENTRY_BYTES),
            ENTRY_BYTES.to_string(),
        ]);
    }
    Answer {
        title: "Binary search in place of hashing (open question 7)",
        conditions: format!(
            "ids by chance, {ENTRY_BYTES} bytes an entry, lines of {LINE_BYTES} bytes; hashed tables half full"
        ),
        table,
        verdict: format!(
            "not measured in the paper: a sorted table takes half the memory and {binary_last:.1} lines a lookup, {between_last:.1} where the id says about where it is; each new id moves others. \
             It suits tables that are written once, and `segment-store` does so in its snapshot: slots in the order of their tags",
        ),
        picture: None,
    }
}

/// Returns the place of an id if all between these were evenly spaced: `low..high`, of these ids.
fn interpolated(low: usize, high: usize, ids: &[u64], id: u64) -> usize {
    let (first, last) = (ids[low], ids[high - 1]);
    if last == first {
        return low;
    }
    let share = (id.clamp(first, last) - first) as f64 / (last - first) as f64;
    low + ((high - 1 - low) as f64 * share) as usize
}

/// Returns the number of lines that are read until an id is found.
fn lines(ids: &[u64], id: u64, next: impl Fn(usize, usize, &[u64], u64) -> usize) -> usize {
    let (mut low, mut high) = (0, ids.len());
    let mut read = HashSet::new();
    while low < high {
        let at = next(low, high, ids, id);
        read.insert(at * ENTRY_BYTES / LINE_BYTES);
        match ids[at].cmp(&id) {
            std::cmp::Ordering::Equal => break,
            std::cmp::Ordering::Less => low = at + 1,
            std::cmp::Ordering::Greater => high = at,
        }
    }
    read.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_by_either_search() {
        let ids: Vec<u64> = (0..1000).map(|i| i * i).collect();
        for &id in &ids {
            assert!((1..=8).contains(&lines(&ids, id, |low, high, _, _| low + (high - low) / 2)));
            assert!(lines(&ids, id, interpolated) >= 1);
        }
    }
}
