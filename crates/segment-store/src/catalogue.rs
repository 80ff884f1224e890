//! Catalogue of the containers: the properties of each container, and the run of which it is a part.

use std::collections::{BTreeMap, HashMap};

use dedup::{Run, RunId};

use crate::container::Outline;

/// A container on disk, and what of it is in memory.
#[derive(Debug)]
pub(crate) struct Container {
    pub number: u64,
    pub run: Run,
    pub start: u64,
    pub n_bytes: u32,
    pub n_disk: u32,
    /// When something was found in it last; counts uses of the store.
    pub used: u64,
    /// The number of bytes that had ever been appended to the store when it was written.
    pub born: u64,
    pub loaded: Option<Loaded>,
}

/// The part of a container that is in memory.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub outline: Outline,
    pub blocks: Vec<Option<Box<[u8]>>>,
    pub n_resident: u64,
}

/// A run, and the slots of its containers by where they begin.
#[derive(Debug)]
pub(crate) struct Known {
    pub id: RunId,
    pub containers: BTreeMap<u64, u32>,
}

/// All runs and containers. Slots of containers are given once and never again.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    pub runs: Vec<Known>,
    by_id: HashMap<RunId, Run>,
    pub containers: BTreeMap<u32, Container>,
    n_slots: u32,
}

impl Catalogue {
    pub fn run(&mut self, id: RunId) -> Run {
        *self.by_id.entry(id).or_insert_with(|| {
            self.runs.push(Known { id, containers: BTreeMap::new() });
            Run(self.runs.len() as u32 - 1)
        })
    }

    /// The run of this name, if it is known.
    pub fn known(&self, id: RunId) -> Option<Run> {
        self.by_id.get(&id).copied()
    }

    /// One in which so many slots have been given.
    pub fn of_slots(n_slots: u32) -> Self {
        Self { n_slots, ..Self::default() }
    }

    /// Returns the number of slots that have been given.
    pub fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// A slot for a container that is about to be.
    pub fn slot(&mut self) -> u32 {
        self.n_slots += 1;
        self.n_slots - 1
    }

    pub fn add(&mut self, slot: u32, container: Container) {
        self.runs[container.run.0 as usize].containers.insert(container.start, slot);
        self.containers.insert(slot, container);
    }

    pub fn remove(&mut self, slot: u32) -> Option<Container> {
        let container = self.containers.remove(&slot)?;
        let by_start = &mut self.runs[container.run.0 as usize].containers;
        // Another one may have taken its place.
        if by_start.get(&container.start) == Some(&slot) {
            by_start.remove(&container.start);
        }
        Some(container)
    }

    /// The slot of the container in which a byte of a run is.
    pub fn find(&self, run: Run, position: u64) -> Option<u32> {
        let (_, &slot) = self.runs.get(run.0 as usize)?.containers.range(..=position).next_back()?;
        let container = self.containers.get(&slot)?;
        (position - container.start < u64::from(container.n_bytes)).then_some(slot)
    }
}
