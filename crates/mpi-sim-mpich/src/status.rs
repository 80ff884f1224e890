//! Statuses as each library lays them out.

use std::ffi::c_int;

use crate::number::Meaning;

/// MPICH's: the bytes in 63 bits, whether cancelled between their halves.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Above {
    low: u32,
    high_and_cancelled: u32,
    source: c_int,
    tag: c_int,
    error: c_int,
}

/// Open MPI's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Below {
    source: c_int,
    tag: c_int,
    error: c_int,
    is_cancelled: c_int,
    n_bytes: usize,
}

impl Above {
    pub fn below(self) -> Below {
        Below {
            source: Meaning::Rank.below(self.source),
            tag: self.tag,
            error: Meaning::Code.below(self.error),
            is_cancelled: (self.high_and_cancelled & 1) as c_int,
            n_bytes: self.low as usize | (self.high_and_cancelled as usize >> 1) << 32,
        }
    }

    /// Becomes what Open MPI wrote, but for the error where that is not the call's to write.
    pub fn become_(&mut self, below: Below, with_error: bool) {
        let Below { source, tag, error, is_cancelled, n_bytes } = below;
        self.low = n_bytes as u32;
        self.high_and_cancelled = ((n_bytes >> 32) as u32) << 1 | u32::from(is_cancelled != 0);
        self.source = Meaning::Rank.above(source);
        self.tag = tag;
        if with_error {
            self.error = Meaning::Code.above(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_comes_back_as_it_was() {
        let above = Above { low: 7, high_and_cancelled: 5, source: -1, tag: 3, error: 14 };
        let below = above.below();
        assert_eq!(below, Below { source: -2, tag: 3, error: 15, is_cancelled: 1, n_bytes: (2 << 32) + 7 });
        let mut back = Above { low: 0, high_and_cancelled: 0, source: 0, tag: 0, error: 9 };
        back.become_(below, false);
        assert_eq!(back, Above { error: 9, ..above });
        back.become_(below, true);
        assert_eq!(back, above);
        assert_eq!((size_of::<Above>(), size_of::<Below>()), (20, 24));
    }
}
