//! A map with a limit, which forgets the entries that were inserted longest ago.

use std::collections::HashMap;
use std::hash::Hash;

/// The latest entries, in two generations: when the young one has half of all, it takes the old one's place.
#[derive(Debug)]
pub(crate) struct LatestEntries<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    n_max: usize,
    has_forgotten: bool,
}

impl<K: Eq + Hash, V> LatestEntries<K, V> {
    /// Builds an empty map of at most `n_max` entries, of which the latest half is never forgotten.
    pub fn new(n_max: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), n_max, has_forgotten: false }
    }

    /// Inserts an entry as the latest. Returns whether its key was not there.
    pub fn insert(&mut self, key: K, value: V) -> bool {
        if let Some(known) = self.young.get_mut(&key) {
            *known = value;
            return false;
        }
        let is_new = self.old.remove(&key).is_none();
        if self.young.len() >= (self.n_max / 2).max(1) {
            let older = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            self.has_forgotten |= !older.is_empty();
        }
        self.young.insert(key, value);
        is_new
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether an entry was forgotten.
    pub fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_half_stays_with_what_is_inserted_again() {
        let mut latest = LatestEntries::new(10);
        assert!((0..10).all(|key| latest.insert(key, key)) && latest.len() == 10);
        assert!(!latest.has_forgotten() && !latest.insert(0, 70));
        assert_eq!((latest.get(&0), latest.get(&9), latest.get(&1)), (Some(&70), Some(&9), None));
        assert!(latest.has_forgotten() && latest.len() == 6);
    }

    #[test]
    fn a_key_of_a_full_young_generation_is_known_and_there_once() {
        let mut latest = LatestEntries::new(10);
        assert!((0..5).all(|key| latest.insert(key, key)));
        assert!(!latest.insert(0, 70));
        assert_eq!((latest.get(&0), latest.len()), (Some(&70), 5));
        assert!((5..10).all(|key| latest.insert(key, key)) && latest.len() == 10);
    }
}
