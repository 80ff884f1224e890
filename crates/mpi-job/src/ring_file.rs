//! A ring in a job's folder.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clock::Ticks;
use mpi_trace::{Line, Reading, Ring, RingHeader, RingKind, n_words};

use crate::{Access, JobError, Process, Segment};

/// Limit of all rings of one kind together on a host, in bytes, with one for each of its ranks.
const HOST_BYTES_MAX: usize = 1_000_000;
/// Powers of two: from the fewest records that are still of use to half a second of a rank that makes many calls.
const POWERS: RangeInclusive<u32> = 10..=15;

/// Records in a ring unless somebody chooses: as many as leave all ranks of the host with a megabyte together, from
/// 1,024 to 32,768.
#[must_use]
pub fn ring_capacity(n_ranks_of_host: usize) -> u64 {
    let has_room = |capacity: &u64| n_ranks_of_host * size_of::<u64>() * n_words(*capacity) <= HOST_BYTES_MAX;
    POWERS.rev().map(|power| 1 << power).find(has_room).unwrap_or(1 << POWERS.start())
}

/// A ring that some process made, mapped into this one.
#[derive(Debug)]
pub struct RingFile {
    /// Path of the ring.
    pub path: PathBuf,
    /// Header of the ring when it was opened.
    pub header: RingHeader,
    capacity: u64,
    segment: Segment,
}

impl RingFile {
    /// Makes a ring in this folder, in the place of one with the same name.
    pub(crate) fn create(folder: &Path, capacity: u64, header: &RingHeader) -> Result<Self, JobError> {
        let path = folder.join(ring_name(header));
        let segment = Segment::create(&path, n_words(capacity), |words| {
            Ring::create(words, capacity, header)
                .map(drop)
                .map_err(|source| JobError::Ring { path: path.clone(), source })
        })?;
        Ok(Self { path, header: header.clone(), capacity, segment })
    }

    /// Maps a ring that somebody made.
    ///
    /// # Errors
    /// If it cannot be mapped, or is no ring.
    pub fn open(path: &Path) -> Result<Self, JobError> {
        // Whoever reads also sets the level.
        let segment = Segment::open(path, Access::ReadWrite)?;
        let opened = Ring::open(segment.words()).map_err(|source| JobError::Ring { path: path.to_owned(), source });
        let (capacity, header) = opened.map(|(ring, header)| (ring.capacity(), header))?;
        Ok(Self { path: path.to_owned(), header, capacity, segment })
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> Ring<'_> {
        Ring::over(self.segment.words(), self.capacity).expect("its length was checked when it was mapped")
    }

    /// Two moments on the clock of its stamps and the monotonic one: that in its header and this one; none where ticks
    /// are nanoseconds.
    #[must_use]
    pub fn readings(&self) -> Option<[Reading; 2]> {
        readings(&self.header)
    }

    /// Returns the line from its ticks to nanoseconds.
    #[must_use]
    pub fn line(&self) -> Line {
        self.readings().map_or_else(Line::identity, |[began, now]| Line::through(began, now))
    }

    /// Returns the process that made the ring.
    #[must_use]
    pub fn process(&self) -> Process {
        Process { pid: self.header.pid, started: self.header.pid_started }
    }

    /// The ring, mapped until this process ends.
    #[must_use]
    pub fn leak(self) -> Ring<'static> {
        Ring::over(self.segment.leak(), self.capacity).expect("its length was checked when it was mapped")
    }
}

pub(crate) fn readings(header: &RingHeader) -> Option<[Reading; 2]> {
    header.is_counter.then(|| {
        let clock::Reading { ticks, monotonic_ns } = Ticks::Counter.reading();
        [header.reading, Reading { ticks, monotonic_ns }]
    })
}

fn ring_name(header: &RingHeader) -> String {
    let kind = match header.kind {
        RingKind::Calls => "calls",
        RingKind::Stages => "stages",
    };
    format!("{kind}-{}-{}.ring", header.rank, header.thread)
}

/// `calls-RANK-THREAD.ring` or `stages-RANK-THREAD.ring`.
pub(crate) fn rank_of_ring(name: &str) -> Option<u32> {
    let (kind, rest) = name.strip_suffix(".ring")?.split_once('-')?;
    matches!(kind, "calls" | "stages").then(|| rest.split_once('-')?.0.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ranks_of_a_host_share_a_megabyte() {
        assert_eq!([1, 2, 4, 8, 16, 32, 1000].map(ring_capacity), [32768, 16384, 8192, 4096, 2048, 1024, 1024]);
        for n_ranks in 1..=39 {
            let bytes = |capacity| n_ranks * 8 * n_words(capacity);
            let capacity = ring_capacity(n_ranks);
            assert!(bytes(capacity) <= HOST_BYTES_MAX, "{n_ranks} ranks");
            assert!(capacity == 32768 || bytes(2 * capacity) > HOST_BYTES_MAX, "{n_ranks} ranks could have more");
        }
    }
}
