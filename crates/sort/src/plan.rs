//! Plan of a sort: the numbers to be sorted, and the place of the files.

use std::path::PathBuf;

use units::ByteCount;

/// The way in which ranks read and write their sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// All together, in one call of the library, which may put their sections together.
    Collective,
    /// Each for itself.
    Independent,
}

/// A sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The folder of the sort's files, which all ranks have to see.
    pub folder: PathBuf,
    /// All numbers together. Each rank has the same whole number of them, so that a few bytes may be left out.
    pub size: ByteCount,
    /// The way in which sections are read and written.
    pub access: Access,
    /// Whether the files stay.
    pub keeps_files: bool,
    /// Seed of the numbers.
    pub seed: u64,
}

/// A plan that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Less than a number for each rank.
    #[error("{size} are too little for {n_ranks} ranks; each sorts a number of 8 bytes at least")]
    TooSmall {
        /// The requested size.
        size: ByteCount,
        /// Ranks.
        n_ranks: u32,
    },
    /// More than MPI counts.
    #[error("{size} are too much for {n_ranks} ranks; each sorts up to 2147483647 numbers of 8 bytes")]
    TooLarge {
        /// The requested size.
        size: ByteCount,
        /// Ranks.
        n_ranks: u32,
    },
}

pub(crate) const NUMBER_BYTES: u64 = size_of::<f64>() as u64;

impl Plan {
    /// Returns the count of numbers that each rank sorts.
    ///
    /// # Errors
    /// Where that is none, or more than MPI counts.
    pub fn section(&self, n_ranks: u32) -> Result<usize, PlanError> {
        let size = self.size;
        match size.bytes() / NUMBER_BYTES / u64::from(n_ranks) {
            0 => Err(PlanError::TooSmall { size, n_ranks }),
            n if n > i32::MAX as u64 => Err(PlanError::TooLarge { size, n_ranks }),
            n => Ok(n as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_of_whole_numbers() {
        let section = |size: u64, n_ranks| {
            let (folder, size) = (PathBuf::new(), ByteCount::new(size));
            Plan { folder, size, access: Access::Collective, keeps_files: false, seed: 1 }.section(n_ranks)
        };
        assert_eq!(section(7_332_864, 1), Ok(916_608));
        assert_eq!(section(100, 3), Ok(4));
        assert!(section(23, 3).unwrap_err().to_string().contains("8 bytes at least"));
        assert!(section(u64::MAX, 4).unwrap_err().to_string().contains("up to 2147483647 numbers"));
    }
}
