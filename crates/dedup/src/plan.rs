//! Cost of two levels of fingerprints, by formula: as it was published, as the published messages are on the wire, and
//! the choice that follows from it.
//!
//! The formula is equation 1 of Bongo's thesis (2007): bytes sent are what is new, the ids and the hashes, and what
//! collisions cost, each of which sends a group again. It leaves out types, lengths and meta-data, which
//! [`Model::on_the_wire`] has as table 18 lists them.

/// The data that are sent, and the parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Bytes of data.
    pub n_bytes: f64,
    /// The share of them that the receiver has.
    pub redundancy: f64,
    /// Bytes of a segment.
    pub segment_bytes: f64,
    /// Bits of an optimistic id.
    pub id_bits: u32,
    /// Bits of a conservative hash.
    pub hash_bits: u32,
    /// Segments for each hash.
    pub group: f64,
    /// Bytes of meta-data for each segment.
    pub meta_bytes: f64,
}

/// Split of the memory of a published server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemorySplit {
    /// The filter.
    pub bloom: f64,
    /// Buffers between stages.
    pub pipeline: f64,
    /// Hash tables of containers.
    pub tables: f64,
    /// Data of containers.
    pub segments: f64,
}

/// Bits of a Bloom filter for each segment.
const FILTER_BITS: f64 = 8.0;
/// Places of it that are looked at.
const FILTER_PROBES: i32 = 6;

impl Model {
    /// The published defaults for so much data with so much redundancy: segments of 32 bytes, ids of 40 bits, hashes of
    /// 160 for 20 segments.
    #[must_use]
    pub fn new(n_bytes: f64, redundancy: f64) -> Self {
        Self { n_bytes, redundancy, segment_bytes: 32.0, id_bits: 40, hash_bits: 160, group: 20.0, meta_bytes: 0.0 }
    }

    /// The ratio of compression as published.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.n_bytes / (self.new_bytes() + self.fingerprint_bytes() + self.collision_bytes())
    }

    /// The ratio with what table 18 adds on the way to the receiver: a type for each id and each hash, meta-data, and
    /// seven bytes before each segment.
    #[must_use]
    pub fn on_the_wire(&self) -> f64 {
        let types = self.n_segments() * (1.0 + self.meta_bytes + 1.0 / self.group);
        let heads = self.n_new() * 7.0;
        self.n_bytes / (self.new_bytes() + self.fingerprint_bytes() + self.collision_bytes() + types + heads)
    }

    /// The ratio with one level: a hash for each segment and no collisions.
    #[must_use]
    pub fn one_level(&self) -> f64 {
        self.n_bytes / (self.new_bytes() + f64::from(self.hash_bits) / 8.0 * self.n_segments())
    }

    /// Bytes that are new.
    #[must_use]
    pub fn new_bytes(&self) -> f64 {
        self.n_bytes * (1.0 - self.redundancy)
    }

    /// Bytes of ids and hashes.
    #[must_use]
    pub fn fingerprint_bytes(&self) -> f64 {
        (f64::from(self.id_bits) + f64::from(self.hash_bits) / self.group) / 8.0 * self.n_segments()
    }

    /// Bytes that are sent again because a new segment has the id of one that is known: the published sum in closed
    /// form.
    #[must_use]
    pub fn collision_bytes(&self) -> f64 {
        let n_new = self.n_new();
        self.group * self.segment_bytes * n_new * (n_new + 1.0) / 2.0 / 2.0_f64.powi(self.id_bits as i32)
    }

    /// The size of groups that sends least by the formula: where hashes cost as much as collisions; at most all
    /// segments, and one at least.
    #[must_use]
    pub fn best_group(&self) -> f64 {
        let space = 2.0_f64.powi(self.id_bits as i32 + 1);
        let best = (f64::from(self.hash_bits) / 8.0 * self.n_bytes * space).sqrt() / self.new_bytes();
        best.min(self.n_segments()).max(1.0)
    }

    /// The ids and groups that send least, of ids of whole bytes from 8 to 64 bits and groups of whole segments.
    #[must_use]
    pub fn best(&self) -> Self {
        let with = |n_bytes: u32| {
            let model = Self { id_bits: 8 * n_bytes, ..*self };
            Self { group: model.best_group().round().clamp(1.0, 10_000.0), ..model }
        };
        let candidates = (1..=8).map(with);
        candidates.max_by(|a, b| a.ratio().total_cmp(&b.ratio())).expect("there are eight")
    }

    fn n_segments(&self) -> f64 {
        self.n_bytes / self.segment_bytes
    }

    fn n_new(&self) -> f64 {
        self.new_bytes() / self.segment_bytes
    }
}

/// The redundancy from which on a Bloom filter of so many bytes has its eight bits for each new segment: table 19.
#[must_use]
pub fn filter_redundancy(filter_bytes: f64, n_bytes: f64, segment_bytes: f64) -> f64 {
    (1.0 - filter_bytes * 8.0 / FILTER_BITS * segment_bytes / n_bytes).max(0.0)
}

/// The share of strange segments that a full filter takes for known ones, with eight bits for each and six probes.
/// Published is 1.56 %, which is (1/2)^6 and holds for 5.5 probes.
#[must_use]
pub fn filter_false_positives() -> f64 {
    (1.0 - (-f64::from(FILTER_PROBES) / FILTER_BITS).exp()).powi(FILTER_PROBES)
}

/// Returns the split of memory by table 20, in the unit of its arguments, MB: 100 for all else, 200 for the pipeline,
/// the rest 40 to 60.
#[must_use]
pub fn memory_split(memory_mb: f64, bloom_mb: f64) -> MemorySplit {
    const ELSE_MB: f64 = 100.0;
    const PIPELINE_MB: f64 = 200.0;
    let rest = (memory_mb - ELSE_MB - PIPELINE_MB - bloom_mb).max(0.0);
    MemorySplit { bloom: bloom_mb, pipeline: PIPELINE_MB, tables: 0.4 * rest, segments: 0.6 * rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: f64, expected: f64, digits: i32) {
        let off = (found - expected).abs() * 10.0_f64.powi(digits);
        assert!(off <= 0.51, "{found} where {expected} was expected");
    }

    fn published() -> Model {
        Model::new(1e11, 0.75)
    }

    #[test]
    fn ratios_are_those_of_the_formula() {
        for (id_bits, ratio) in [(32, 1.16), (40, 2.28), (48, 2.13)] {
            check(Model { id_bits, ..published() }.ratio(), ratio, 2);
        }
        check(published().one_level(), 1.14, 2);
        for (segment_bytes, ratio, wire) in [(16.0, 1.59, 1.24), (64.0, 2.90, 2.57), (256.0, 3.65, 3.51)] {
            let model = Model { segment_bytes, ..published() };
            check(model.ratio(), ratio, 2);
            check(model.on_the_wire(), wire, 2);
        }
        check(Model { meta_bytes: 4.0, ..published() }.on_the_wire(), 1.53, 2);
    }

    #[test]
    fn collisions_cost_what_was_published() {
        check(Model { id_bits: 32, ..published() }.collision_bytes() / 1e9, 45.5, 1);
        check(published().collision_bytes() / 1e9, 0.18, 2);
    }

    #[test]
    fn the_best_group_is_that_of_the_formula_and_not_the_published_22() {
        check(published().best_group(), 84.0, 0);
        check(Model { redundancy: 0.0, ..published() }.best_group(), 21.0, 0);
        let best = published().best();
        assert_eq!(best.id_bits, 40);
        for group in [best.group - 1.0, best.group + 1.0, 22.0] {
            assert!(Model { group, ..best }.ratio() <= best.ratio());
        }
        // No group is of more segments than there are.
        assert_eq!(Model::new(3200.0, 0.99).best_group(), 100.0);
        // More data need longer ids.
        assert_eq!(Model::new(1e14, 0.75).best().id_bits, 48);
    }

    #[test]
    fn filters_and_memory_are_those_of_the_tables() {
        for (mb, published) in
            [(64.0, 0.98), (128.0, 0.96), (256.0, 0.92), (512.0, 0.84), (1024.0, 0.68), (2048.0, 0.36)]
        {
            let found = filter_redundancy(mb * 1e6, 1e11, 32.0);
            assert!((found - published).abs() < 0.02, "{mb} MB: {found}");
        }
        check(100.0 * filter_false_positives(), 2.16, 2);
        for (memory, bloom, tables, segments) in
            [(2048.0, 128.0, 650.0, 970.0), (2048.0, 1024.0, 290.0, 430.0), (8192.0, 1024.0, 2750.0, 4120.0)]
        {
            let split = memory_split(memory, bloom);
            assert!((split.tables - tables).abs() < 6.0 && (split.segments - segments).abs() < 6.0, "{split:?}");
        }
    }
}
