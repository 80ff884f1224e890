//! The published segment cache: hash tables with one slot for each index, searched one after the other. How many are
//! searched, for which sizes of tables, and whether it matters which of them leave memory first.

use std::collections::{HashMap, HashSet};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use text::Table;

use crate::resident::{Leaves, Resident};
use crate::{Answer, Settings};

/// Bytes of an entry, as published: bits of the id, offset and size.
pub(crate) const ENTRY_BYTES: usize = 8;
/// The number of tables after and before the one that was used last that are tried next. The paper names it and gives
/// no number.
const N_NEAR: usize = 4;
/// Versions, and the share of segments that each later one has new.
pub(crate) const N_VERSIONS: usize = 6;
pub(crate) const NEW: f64 = 0.05;
/// The share of all entries whose tables are in memory.
pub(crate) const RESIDENT: f64 = 0.25;
/// The share that the published filter lets pass.
const FALSE_POSITIVES: f64 = 0.0216;

struct Cache {
    n_slots: u64,
    n_tables: usize,
    taken: HashSet<(usize, u64)>,
    places: HashMap<u64, usize>,
    current: usize,
    /// Tables in memory.
    resident: Resident,
    tally: Tally,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    n_reads: u64,
    n_read_searched: u64,
    n_near: u64,
    n_writes: u64,
    n_write_searched: u64,
}

impl Cache {
    fn new(n_slots: u64, n_resident_max: usize, leaves: Leaves) -> Self {
        Self {
            n_slots,
            n_tables: 1,
            taken: HashSet::new(),
            places: HashMap::new(),
            current: 0,
            resident: Resident::new(n_resident_max, leaves).with(0),
            tally: Tally::default(),
        }
    }

    /// The tables in the order in which they are searched: the current one, those near it, others in memory, those on
    /// disk.
    fn order(&self) -> impl Iterator<Item = usize> + '_ {
        let (current, end) = (self.current, self.n_tables);
        let after = (1..=N_NEAR).filter_map(move |i| Some(current + i).filter(|&table| table < end));
        let before = (1..=N_NEAR).filter_map(move |i| current.checked_sub(i));
        let is_near = move |table: usize| table.abs_diff(current) <= N_NEAR;
        let others = self.resident.pieces().filter(move |&table| !is_near(table));
        let on_disk = (0..end).filter(move |table| !is_near(*table) && !self.resident.has(*table));
        [current].into_iter().chain(after).chain(before).chain(others).chain(on_disk)
    }

    fn read(&mut self, id: u64) {
        let Some(&table) = self.places.get(&id) else { return };
        let searched = self.order().position(|candidate| candidate == table).unwrap_or(0) as u64 + 1;
        self.tally.n_reads += 1;
        self.tally.n_read_searched += searched;
        self.tally.n_near += u64::from(table.abs_diff(self.current) <= N_NEAR);
        self.touch(table);
    }

    /// A strange id that the filter let pass: all tables are searched.
    fn search_all(&mut self) {
        self.tally.n_reads += 1;
        self.tally.n_read_searched += self.n_tables as u64;
    }

    fn write(&mut self, id: u64) {
        let slot = id >> (64 - self.n_slots.ilog2());
        let mut searched = 0;
        let free = self.order().inspect(|_| searched += 1).find(|&table| !self.taken.contains(&(table, slot)));
        let table = free.unwrap_or(self.n_tables);
        self.n_tables = self.n_tables.max(table + 1);
        self.taken.insert((table, slot));
        self.places.insert(id, table);
        self.tally.n_writes += 1;
        self.tally.n_write_searched += searched;
        self.touch(table);
    }

    fn touch(&mut self, table: usize) {
        self.current = table;
        self.resident.touch(table);
    }
}

/// Versions by ids: each is the last one with some segments replaced.
pub(crate) fn each_id(n_segments: usize, seed: u64, mut with: impl FnMut(u64, &mut ChaCha8Rng)) {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let mut version: Vec<u64> = (0..n_segments).map(|_| chance.random()).collect();
    for number in 0..N_VERSIONS {
        for id in &mut version {
            if number > 0 && chance.random_bool(NEW) {
                *id = chance.random();
            }
            with(*id, &mut chance);
        }
    }
}

fn run(cache: &mut Cache, n_segments: usize, seed: u64) {
    each_id(n_segments, seed, |id, chance| {
        if cache.places.contains_key(&id) {
            cache.read(id);
        } else {
            if chance.random_bool(FALSE_POSITIVES) {
                cache.search_all();
            }
            cache.write(id);
        }
    });
}

pub(crate) fn tables(settings: Settings) -> Answer {
    let n_segments = settings.n_segments;
    let n_ids = n_segments as f64 * (1.0 + NEW * (N_VERSIONS - 1) as f64);
    let mut table = Table::of_figures(&[
        "table",
        "tables",
        "taken",
        "searched a read",
        "near the last one",
        "searched a write",
        "loads, LRU",
        "loads, oldest first",
    ]);
    let (mut few, mut policies) = (f64::INFINITY, Vec::new());
    for bits in [8_u32, 10, 12, 14] {
        let n_slots = 1_u64 << bits;
        let n_resident = ((n_ids * RESIDENT / n_slots as f64).ceil() as usize).max(1);
        let [lru, oldest] = [Leaves::LeastRecentlyUsed, Leaves::Oldest].map(|leaves| {
            let mut cache = Cache::new(n_slots, n_resident, leaves);
            run(&mut cache, n_segments, settings.seed);
            cache
        });
        let tally = lru.tally;
        let mean = |sum: u64, n: u64| sum as f64 / n.max(1) as f64;
        let searched = mean(tally.n_read_searched, tally.n_reads);
        few = few.min(searched);
        policies.push(mean(oldest.resident.n_loads, lru.resident.n_loads));
        table.row([
            text::figure::format((n_slots as usize * ENTRY_BYTES) as f64, "bytes"),
            lru.n_tables.to_string(),
            format!("{:.0} %", 100.0 * lru.taken.len() as f64 / (lru.n_tables as u64 * n_slots) as f64),
            format!("{searched:.1}"),
            format!("{:.0} %", 100.0 * mean(tally.n_near, tally.n_reads)),
            format!("{:.1}", mean(tally.n_write_searched, tally.n_writes)),
            lru.resident.n_loads.to_string(),
            oldest.resident.n_loads.to_string(),
        ]);
    }
    let worst = policies.iter().copied().fold(1.0, f64::max);
    Answer {
        title: "Tables that are searched (figures 50 and 51)",
        conditions: format!(
            "{N_VERSIONS} versions of {n_segments} segments, 5 % of each new; tables of a quarter of all entries in memory; {N_NEAR} tables after and before the last one; published is 512 KB"
        ),
        table,
        verdict: format!(
            "not measured in the paper: a read searches {few:.1} tables at best, and which tables leave memory first changes loads by up to {:.0} %. An index of all anchors, as `segment-store` has, looks in one place",
            100.0 * (worst - 1.0)
        ),
        picture: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_near_the_last_one_are_searched_first() {
        let mut cache = Cache::new(2, 100, Leaves::LeastRecentlyUsed);
        // One slot of two: every id opens a table.
        (0..20).for_each(|id| cache.write(id));
        assert_eq!(cache.n_tables, 20);
        cache.current = 10;
        let order: Vec<usize> = cache.order().collect();
        assert_eq!(order[..9], [10, 11, 12, 13, 14, 9, 8, 7, 6]);
        let all: HashSet<usize> = order.iter().copied().collect();
        assert_eq!((order.len(), all.len()), (20, 20));
        cache.read(9);
        assert_eq!((cache.tally.n_read_searched, cache.current), (6, 9));
    }

    #[test]
    fn what_is_not_in_memory_is_loaded_and_another_one_leaves() {
        for (leaves, expected) in [(Leaves::LeastRecentlyUsed, [2, 0, 3]), (Leaves::Oldest, [1, 2, 3])] {
            let mut cache = Cache::new(2, 3, leaves);
            (0..3).for_each(|id| cache.write(id));
            cache.read(0);
            cache.write(3);
            assert_eq!(cache.resident.pieces().collect::<Vec<_>>(), expected);
        }
    }
}
