//! Numbers that mean something: ranks, error codes, keys of attributes, and choices, as each library has them.

use std::ffi::c_int;

/// The meaning of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Rank,
    Code,
    Keyval,
    Split,
    Lock,
    Order,
    Class,
    Distribution,
    Argument,
    Combiner,
    Topology,
}

/// Codes that the program made lie above MPICH's last one, which is this.
const LAST_CODE: c_int = 0x3fff_ffff;
/// And above Open MPI's.
const LAST_CODE_BELOW: c_int = 92;
/// `MPI_ERR_UNKNOWN` and `MPI_ERR_OTHER`, by the number of MPICH.
const UNKNOWN: c_int = 13;
/// `MPI_KEYVAL_INVALID` of MPICH.
const KEYVAL_INVALID: c_int = 0x2400_0000;
const KEYVAL_INVALID_BELOW: c_int = -1;

/// Each of MPICH with that of Open MPI.
type Pairs = &'static [(c_int, c_int)];

/// `MPI_PROC_NULL`, `MPI_ANY_SOURCE`, `MPI_ROOT`.
const RANKS: Pairs = &[(-1, -2), (-2, -1), (-3, -4)];
/// MPICH's codes by Open MPI's number: the two follow the same order but for where MPICH has some earlier.
const CODES: [c_int; 54] = [
    0, 1, 2, 3, 4, 5, 6, 19, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 53, 22, 46, 23, 52, 24, 25, 26, 27,
    29, 31, 30, 28, 32, 48, 47, 33, 34, 35, 36, 37, 38, 39, 40, 49, 50, 41, 51, 42, 43, 44, 45,
];
/// Those of one-sided communication that came later, and what has no class in Open MPI.
const MORE_CODES: Pairs = &[(55, 68), (56, 69), (58, 70), (57, 71)];
/// Attributes that MPI defines, in the order of Open MPI's numbers.
const KEYVALS: [c_int; 12] = [
    TAG_UB,
    HOST,
    IO,
    0x6440_0007,
    0x6440_000d,
    LAST_USED_CODE,
    0x6440_0009,
    WIN_BASE,
    WIN_SIZE,
    0x6600_0005,
    0x6600_0007,
    WIN_MODEL,
];
/// Fortran's numbers for the same are one higher.
const FORTRAN: c_int = 1;
const TAG_UB: c_int = 0x6440_0001;
pub const HOST: c_int = 0x6440_0003;
pub const IO: c_int = 0x6440_0005;
pub const LAST_USED_CODE: c_int = 0x6440_000b;
pub const WIN_BASE: c_int = 0x6600_0001;
pub const WIN_SIZE: c_int = 0x6600_0003;
pub const WIN_MODEL: c_int = 0x6600_0009;
/// `MPI_COMM_TYPE_SHARED`.
const SPLITS: Pairs = &[(1, 0)];
const LOCKS: Pairs = &[(234, 1), (235, 2)];
const ORDERS: Pairs = &[(56, 0), (57, 1)];
/// `MPI_TYPECLASS_REAL`, `_INTEGER`, `_COMPLEX`.
const CLASSES: Pairs = &[(1, 2), (2, 1), (3, 3)];
const DISTRIBUTIONS: Pairs = &[(121, 0), (122, 1), (123, 2)];
/// `MPI_DISTRIBUTE_DFLT_DARG`.
const ARGUMENTS: Pairs = &[(-49767, -1)];
/// `MPI_GRAPH`, `MPI_CART`, `MPI_DIST_GRAPH`.
const TOPOLOGIES: Pairs = &[(1, 2), (2, 1), (3, 3)];
/// `MPI_MODE_NOCHECK` and the like, which are added up.
const MODES: Pairs = &[(1024, 1), (8192, 2), (4096, 4), (2048, 8), (16384, 16)];

impl Meaning {
    /// Returns Open MPI's number for a number of the program.
    pub fn below(self, number: c_int) -> c_int {
        match self {
            Self::Code if number > LAST_CODE => number - LAST_CODE + LAST_CODE_BELOW,
            Self::Code if number == LAST_CODE => LAST_CODE_BELOW,
            Self::Code => {
                let listed = CODES.iter().position(|code| *code == number).map(|code| code as c_int);
                listed.unwrap_or_else(|| pair_below(MORE_CODES, number))
            }
            Self::Keyval if number == KEYVAL_INVALID => KEYVAL_INVALID_BELOW,
            Self::Keyval => KEYVALS.iter().position(|key| *key == number).map_or(number, |position| position as c_int),
            Self::Combiner => number - 1,
            _ => pair_below(self.pairs(), number),
        }
    }

    /// Returns the program's number for a number of Open MPI.
    pub fn above(self, number: c_int) -> c_int {
        let place = |list: &[c_int]| usize::try_from(number).ok().and_then(|place| list.get(place).copied());
        match self {
            Self::Code if number > LAST_CODE_BELOW => number - LAST_CODE_BELOW + LAST_CODE,
            Self::Code if number == LAST_CODE_BELOW => LAST_CODE,
            Self::Code => {
                let later = MORE_CODES.iter().find(|(_, below)| *below == number);
                place(&CODES).or(later.map(|(above, _)| *above)).unwrap_or(UNKNOWN)
            }
            Self::Keyval if number == KEYVAL_INVALID_BELOW => KEYVAL_INVALID,
            Self::Keyval => place(&KEYVALS).unwrap_or(number),
            Self::Combiner => number + 1,
            _ => self.pairs().iter().find(|(_, below)| *below == number).map_or(number, |(above, _)| *above),
        }
    }

    fn pairs(self) -> Pairs {
        match self {
            Self::Rank => RANKS,
            Self::Split => SPLITS,
            Self::Lock => LOCKS,
            Self::Order => ORDERS,
            Self::Class => CLASSES,
            Self::Distribution => DISTRIBUTIONS,
            Self::Argument => ARGUMENTS,
            Self::Topology => TOPOLOGIES,
            Self::Code | Self::Keyval | Self::Combiner => &[],
        }
    }
}

fn pair_below(pairs: Pairs, number: c_int) -> c_int {
    pairs.iter().find(|(above, _)| *above == number).map_or(number, |(_, below)| *below)
}

/// Returns C's key of an attribute that MPI defines, if the given key is Fortran's for it; else the given key.
pub fn keyval_of_c(keyval: c_int) -> c_int {
    if KEYVALS.contains(&(keyval - FORTRAN)) { keyval - FORTRAN } else { keyval }
}

/// Open MPI's for a sum of modes.
pub fn modes_below(modes: c_int) -> c_int {
    MODES.iter().filter(|(above, _)| modes & above != 0).map(|(_, below)| below).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were() {
        for rank in [-3, -2, -1, 0, 7] {
            assert_eq!(Meaning::Rank.above(Meaning::Rank.below(rank)), rank);
        }
        for code in (0..=53).filter(|code| *code != 54).chain([55, 56, 57, 58, LAST_CODE, LAST_CODE + 3]) {
            assert_eq!(Meaning::Code.above(Meaning::Code.below(code)), code, "{code}");
        }
        for keyval in KEYVALS.into_iter().chain([KEYVAL_INVALID, 20]) {
            assert_eq!(Meaning::Keyval.above(Meaning::Keyval.below(keyval)), keyval);
        }
        for combiner in 1..=19 {
            assert_eq!(Meaning::Combiner.above(Meaning::Combiner.below(combiner)), combiner);
        }
    }

    #[test]
    fn numbers_are_those_of_both_headers() {
        assert_eq!(Meaning::Rank.below(-2), -1, "MPI_ANY_SOURCE");
        assert_eq!(Meaning::Code.above(15), 14, "MPI_ERR_TRUNCATE");
        assert_eq!(Meaning::Code.above(53), 45, "MPI_ERR_WIN");
        assert_eq!(Meaning::Code.above(60), UNKNOWN, "a code that MPICH has not");
        assert_eq!(Meaning::Keyval.below(TAG_UB), 0);
        assert_eq!(keyval_of_c(0x6440_0002), TAG_UB, "Fortran's");
        assert_eq!(modes_below(1024 + 16384), 17);
        assert_eq!(Meaning::Order.below(57), 1, "MPI_ORDER_FORTRAN");
    }
}
