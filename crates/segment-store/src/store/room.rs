//! Eviction to keep the budgets: from memory what was not used for long, from the disk what the policy says.

use super::Store;
use super::writing::slot_of;
use crate::container;
use crate::journal::Record;
use crate::settings::Policy;

impl Store {
    /// Brings memory down to seven eighths of its budget once that is used; one pass over the anchors for many
    /// containers.
    pub(super) fn make_room_in_memory(&mut self) {
        if self.statistics.resident_bytes <= self.settings.memory_bytes {
            return;
        }
        let goal = self.settings.memory_bytes / 8 * 7;
        let mut loaded: Vec<(u64, u32)> = self.loaded();
        loaded.sort_unstable();
        // What was used last may be in use.
        loaded.pop();
        for (_, slot) in loaded {
            if self.statistics.resident_bytes <= goal {
                break;
            }
            let container = self.catalogue.containers.get_mut(&slot).expect("the container is known");
            let unloaded = container.loaded.take().expect("the container is loaded");
            self.statistics.resident_bytes -= unloaded.n_resident;
        }
        let (catalogue, active) = (&self.catalogue, &self.active);
        self.dense.retain(|value| {
            let slot = slot_of(value);
            match catalogue.containers.get(&slot) {
                Some(container) => container.loaded.is_some(),
                None => active.values().any(|active| active.slot == slot),
            }
        });
    }

    fn loaded(&self) -> Vec<(u64, u32)> {
        let containers = self.catalogue.containers.iter();
        containers.filter(|(_, held)| held.loaded.is_some()).map(|(&slot, held)| (held.used, slot)).collect()
    }

    /// Gives up containers until so many more bytes fit.
    pub(super) fn make_room_on_disk(&mut self, n_more: u64) {
        while self.statistics.n_containers > 0 && self.statistics.disk_bytes + n_more > self.settings.disk_bytes {
            let containers = self.catalogue.containers.iter();
            let first = match self.settings.policy {
                Policy::Oldest => containers.min_by_key(|(_, held)| held.number),
                Policy::LeastRecentlyUsed => containers.min_by_key(|(_, held)| (held.used, held.number)),
            };
            let Some((&slot, _)) = first else {
                break;
            };
            self.statistics.n_given_up += 1;
            self.give_up(slot);
        }
    }

    /// Forgets a container and removes its file.
    pub(super) fn give_up(&mut self, slot: u32) {
        let Some(container) = self.forget(slot) else {
            return;
        };
        let record = Record::Removed { number: container.number };
        // If either fails, the container is found to be gone, or a stray, when the store is opened the next time.
        let _ = self.storage.remove(&container::name(container.number));
        self.n_removed += u64::from(self.log(&record).is_ok());
    }
}
