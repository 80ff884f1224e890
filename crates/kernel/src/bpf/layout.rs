//! The maps of the programs as bytes: the layout of `bpf/point.bpf.h`.

use std::collections::BTreeMap;
use std::io;

use libbpf_rs::{Map, MapCore, MapFlags, Object};

use crate::{Counters, Flight, GroupLimits, N_GROUPS, N_RANGES, Reading, Subsystem, Timing};

pub const NODE_CGROUP: u32 = 1;
pub const NODE_TREE: u32 = 2;

const N_POINTS_MAX: usize = 32;

/// Indexes of what was not seen.
const LOSSES: [(usize, &str); 4] = [
    (1, "trace records dropped"),
    (2, "operations without memory to follow them"),
    (3, "faults of unknown class"),
    (4, "operations that never ended"),
];
const FORGOTTEN: &str = LOSSES[3].1;

/// `struct settings`.
#[derive(Clone, Debug)]
pub struct Settings {
    pub epoch: u64,
    pub cgroup: u64,
    pub node_kind: u32,
    pub weight: u32,
    pub cgroup_level: u32,
    pub limits: GroupLimits,
    pub states: [u8; N_POINTS_MAX],
}

impl Settings {
    /// Builds the settings of the whole host, with all of so many points active.
    pub fn new(limits: &GroupLimits, n_points: usize) -> Self {
        let states = std::array::from_fn(|point| u8::from(point < n_points));
        Self { epoch: 1, cgroup: 0, node_kind: 0, weight: 1, cgroup_level: 0, limits: limits.clone(), states }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend(self.epoch.to_ne_bytes());
        bytes.extend(self.cgroup.to_ne_bytes());
        for number in [self.node_kind, self.weight, self.cgroup_level, 0] {
            bytes.extend(number.to_ne_bytes());
        }
        for limit in self.limits.as_slice().iter().chain([&u64::MAX]) {
            bytes.extend(limit.to_ne_bytes());
        }
        bytes.extend(self.states);
        bytes
    }
}

/// Returns the map that holds the settings.
pub fn settings_map(object: &Object) -> Map<'_> {
    let is_it = |map: &Map<'_>| map.name().to_str().is_some_and(|name| name.ends_with(".data.settings"));
    object.maps().find(is_it).expect("each file of programs has settings")
}

fn named<'object>(object: &'object Object, name: &str) -> Map<'object> {
    object.maps().find(|map| map.name() == name).expect("each file of programs has this map")
}

/// Returns the values of a key on all processors.
fn on_processors(map: &Map<'_>, key: usize) -> io::Result<Vec<Vec<u8>>> {
    let key = u32::try_from(key).map_err(io::Error::other)?.to_ne_bytes();
    let values = map.lookup_percpu(&key, MapFlags::ANY).map_err(io::Error::other)?;
    values.ok_or_else(|| io::Error::other("the key is not there"))
}

fn word(bytes: &[u8], index: usize) -> u64 {
    u64::from_ne_bytes(bytes[8 * index..8 * index + 8].try_into().expect("eight bytes"))
}

fn sum(map: &Map<'_>, key: usize) -> io::Result<u64> {
    Ok(on_processors(map, key)?.iter().map(|value| word(value, 0)).sum())
}

/// Reads all counters. Parts are read before their totals, which so are never below them. `epoch` is that of the
/// extremes.
pub fn read(object: &Object, subsystem: &Subsystem, epoch: u64) -> io::Result<Reading> {
    let mut reading = Reading::default();
    let cells = named(object, "cells");
    for (number, point) in subsystem.points.iter().enumerate() {
        for group in 0..if point.is_sized { N_GROUPS } else { 1 } {
            let values = on_processors(&cells, number * N_GROUPS + group)?;
            let mut counters = counters(&values, epoch, point.timing);
            if !point.is_sized {
                (counters.asked, counters.returned) = (None, None);
            }
            reading.cells.insert((number, group), counters);
        }
    }
    reading.at_ns = clock::monotonic_ns();
    reading.flights = flights(object, subsystem, reading.at_ns)?;
    let hits = named(object, "hits");
    reading.hits = (0..subsystem.programs.len()).map(|program| sum(&hits, program)).collect::<io::Result<_>>()?;
    let losses = named(object, "losses");
    reading.records_made = sum(&losses, 0)?;
    reading.records_dropped = sum(&losses, 1)?;
    for (key, name) in LOSSES {
        reading.lost.insert(name, sum(&losses, key)?);
    }
    total(&mut reading, subsystem);
    Ok(reading)
}

fn counters(values: &[Vec<u8>], epoch: u64, timing: Timing) -> Counters {
    let words = |index| values.iter().map(|value| word(value, index)).fold(0u64, u64::wrapping_add);
    let is_timed = timing != Timing::Counted;
    let bank = usize::from(epoch & 1 == 1);
    let current = || values.iter().filter(|value| word(value, 5 + bank) == epoch);
    let ranges = || {
        let mut ranges = [0u32; N_RANGES];
        for value in values {
            for (range, bytes) in ranges.iter_mut().zip(value[88..].chunks_exact(4)) {
                *range = range.wrapping_add(u32::from_ne_bytes(bytes.try_into().expect("four bytes")));
            }
        }
        ranges
    };
    Counters {
        count: Some(words(0)),
        sampled: words(1),
        time_ns: is_timed.then(|| words(2)),
        asked: Some(words(3)),
        returned: Some(words(4)),
        min_ns: current().map(|value| word(value, 7 + bank)).min().filter(|_| is_timed),
        max_ns: current().map(|value| word(value, 9 + bank)).max().filter(|_| is_timed),
        ranges: is_timed.then(ranges),
    }
}

fn flights(object: &Object, subsystem: &Subsystem, at_ns: u64) -> io::Result<BTreeMap<usize, Flight>> {
    let (flights, busies) = (named(object, "flights"), named(object, "busies"));
    let followed = subsystem.points.iter().enumerate().filter(|(_, point)| point.timing == Timing::Followed);
    followed
        .map(|(number, _)| {
            let values = on_processors(&flights, number)?;
            let words = |index| values.iter().map(|value| word(value, index)).fold(0u64, u64::wrapping_add);
            let key = u32::try_from(number).map_err(io::Error::other)?.to_ne_bytes();
            let busy = busies.lookup(&key, MapFlags::ANY).map_err(io::Error::other)?.unwrap_or_else(|| vec![0; 16]);
            let is_busy = word(&busy, 0).cast_signed() > 0;
            // Moments at which it came to rest, less those at which it began; the last one is open while it is busy.
            let busy_ns =
                word(&busy, 1).wrapping_add(if is_busy { at_ns } else { 0 }).cast_signed().max(0).cast_unsigned();
            Ok((number, Flight { begun: words(0), begun_ns: words(1), ended: words(2), ended_ns: words(3), busy_ns }))
        })
        .collect()
}

/// Totals have counters of their own: what came to its end.
fn total(reading: &mut Reading, subsystem: &Subsystem) {
    let forgotten = reading.lost[FORGOTTEN];
    for total in subsystem.totals {
        let parts: Vec<&Counters> = total.parts.iter().filter_map(|part| reading.cells.get(&(*part, 0))).collect();
        let ended = reading.flights.get(&total.point).map_or(0, |flight| flight.ended.saturating_sub(forgotten));
        let mut ranges = [0u32; N_RANGES];
        for part in parts.iter().filter_map(|part| part.ranges) {
            ranges.iter_mut().zip(part).for_each(|(a, b)| *a = a.wrapping_add(b));
        }
        let whole = Counters {
            count: Some(ended),
            // These are not looked at a second time.
            sampled: 0,
            time_ns: Some(parts.iter().filter_map(|part| part.time_ns).sum()),
            min_ns: parts.iter().filter_map(|part| part.min_ns).min(),
            max_ns: parts.iter().filter_map(|part| part.max_ns).max(),
            ranges: Some(ranges),
            ..Counters::default()
        };
        reading.cells.insert((total.point, 0), whole);
    }
}

/// Adds the counts of earlier programs to those of the present ones.
pub fn added(before: &Reading, mut now: Reading) -> Reading {
    let add = |a: Option<u64>, b: Option<u64>| a.map(|a| a.wrapping_add(b.unwrap_or(0)));
    for (key, cell) in &mut now.cells {
        let Some(old) = before.cells.get(key) else { continue };
        cell.count = add(cell.count, old.count);
        cell.sampled += old.sampled;
        cell.time_ns = add(cell.time_ns, old.time_ns);
        cell.asked = add(cell.asked, old.asked);
        cell.returned = add(cell.returned, old.returned);
        if let (Some(ranges), Some(old)) = (&mut cell.ranges, &old.ranges) {
            ranges.iter_mut().zip(old).for_each(|(a, b)| *a = a.wrapping_add(*b));
        }
    }
    for (point, flight) in &mut now.flights {
        let Some(old) = before.flights.get(point) else { continue };
        flight.begun += old.begun;
        flight.begun_ns = flight.begun_ns.wrapping_add(old.begun_ns);
        flight.ended += old.ended;
        flight.ended_ns = flight.ended_ns.wrapping_add(old.ended_ns);
        flight.busy_ns += old.busy_ns;
    }
    now.records_made += before.records_made;
    now.records_dropped += before.records_dropped;
    for (hits, old) in now.hits.iter_mut().zip(&before.hits) {
        *hits += old;
    }
    for (name, lost) in &mut now.lost {
        *lost += before.lost.get(name).unwrap_or(&0);
    }
    now
}
