//! Exchanges of the codes, as far as simulated ranks see them.

use std::fmt;

use mpi_sim::user::Contexts;
use mpi_sim::{Handle, Mode, Rank, Stopped, Wanted};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use units::SimDuration;

/// A code of the NAS benchmarks, by its exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Wavefronts through a plane of ranks, from one corner to the other and back; receives name tags only.
    Lu,
    /// Levels of a grid, on each of which ranks exchange faces along three axes; receives name tags only.
    Mg,
    /// Three solvers a step, each of which goes from stage to stage and back through the ranks of a line; all sources
    /// are named.
    Bt,
    /// The exchanges of BT, with less to compute.
    Sp,
}

/// Bytes of a face.
const FACE_BYTES: usize = 1_000;
/// Levels of MG's grid.
const N_LEVELS: i32 = 4;
/// Planes that LU's wavefronts go through.
const N_PLANES: u32 = 8;

impl Code {
    /// All codes, in the order of the report's tables.
    pub const ALL: [Self; 4] = [Self::Lu, Self::Mg, Self::Bt, Self::Sp];

    /// Numbers of ranks that the report has figures of: 4, 8 or 9, 16.
    #[must_use]
    pub fn ranks(self) -> [u32; 3] {
        match self {
            Self::Lu | Self::Mg => [4, 8, 16],
            Self::Bt | Self::Sp => [4, 9, 16],
        }
    }

    /// Table 8-2: how far a rank comes on average until it has to wait, in lookaheads; not told of 4 ranks.
    #[must_use]
    pub fn published_stretch(self, n_ranks: u32) -> Option<f64> {
        let (few, many) = match self {
            Self::Lu => (11.77, 8.74),
            Self::Mg => (4.03, 2.79),
            Self::Bt => (24.81, 12.33),
            Self::Sp => (9.29, 4.61),
        };
        match n_ranks {
            8 | 9 => Some(few),
            16 => Some(many),
            _ => None,
        }
    }

    /// Runs the code on a rank for so many steps, with spans of `mean` on average.
    pub(crate) fn run(
        self,
        rank: &mut Rank<'_, Contexts>,
        seed: u64,
        n_steps: u32,
        mean: SimDuration,
    ) -> Result<(), Stopped> {
        let chance = ChaCha8Rng::seed_from_u64(seed ^ (u64::from(rank.me()) << 32));
        let mut part = Part { me: rank.me(), n_ranks: rank.n_ranks(), rank, chance, mean };
        for _ in 0..n_steps {
            match self {
                Self::Lu => part.lu()?,
                Self::Mg => part.mg()?,
                Self::Bt | Self::Sp => part.adi()?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lu => "LU",
            Self::Mg => "MG",
            Self::Bt => "BT",
            Self::Sp => "SP",
        })
    }
}

/// One rank's part.
struct Part<'a, 'w> {
    rank: &'a mut Rank<'w, Contexts>,
    me: u32,
    n_ranks: u32,
    chance: ChaCha8Rng,
    mean: SimDuration,
}

impl Part<'_, '_> {
    /// Computes for a span between half and one and a half of the mean, times `share`.
    fn compute(&mut self, share: f64) {
        let factor = share * self.chance.random_range(0.5..1.5);
        self.rank.compute(SimDuration::from_nanos((self.mean.as_nanos() as f64 * factor) as u64));
    }

    /// Sends without waiting for anybody.
    fn send(&mut self, to: u32, tag: i32) -> Handle {
        self.rank.send(to, 0, tag, Mode::Standard, vec![0; FACE_BYTES].into())
    }

    fn receive(&mut self, source: Option<u32>, tag: i32) -> Handle {
        self.rank.receive(Wanted { source, context: 0, tag: Some(tag) })
    }

    fn complete(&mut self, handles: &[Handle]) -> Result<(), Stopped> {
        self.rank.wait_all(handles)?;
        for handle in handles {
            self.rank.take(*handle);
        }
        Ok(())
    }

    /// A plane of ranks: this one's row and column, and the plane's columns.
    fn plane(&self) -> (u32, u32, u32) {
        let n_columns =
            (1..=self.n_ranks).filter(|n| self.n_ranks.is_multiple_of(*n) && n * n >= self.n_ranks).min().unwrap_or(1);
        (self.me / n_columns, self.me % n_columns, n_columns)
    }

    /// The lower and the upper triangle: a rank goes on with a plane when its neighbours before it are through.
    fn lu(&mut self) -> Result<(), Stopped> {
        let (row, column, n_columns) = self.plane();
        let n_rows = self.n_ranks / n_columns;
        for forth in [true, false] {
            let before = |at: u32, n: u32| if forth { at.checked_sub(1) } else { Some(at + 1).filter(|at| *at < n) };
            let after = |at: u32, n: u32| if forth { Some(at + 1).filter(|at| *at < n) } else { at.checked_sub(1) };
            // Tags tell the direction, so each comes from one neighbour.
            let (down, along) = if forth { (1, 2) } else { (3, 4) };
            for _ in 0..N_PLANES {
                for (neighbour, tag) in [(before(row, n_rows), down), (before(column, n_columns), along)] {
                    if neighbour.is_some() {
                        let handle = self.receive(None, tag);
                        self.complete(&[handle])?;
                    }
                }
                self.compute(1.0);
                for (to, tag) in [
                    (after(row, n_rows).map(|row| row * n_columns + column), down),
                    (after(column, n_columns).map(|column| row * n_columns + column), along),
                ] {
                    if let Some(to) = to {
                        let handle = self.send(to, tag);
                        self.complete(&[handle])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A V-cycle: down through the levels, and up again. Ranks form a torus of two to the power of their number's axes.
    fn mg(&mut self) -> Result<(), Stopped> {
        let n_axes = self.n_ranks.ilog2();
        for level in (0..N_LEVELS).chain((0..N_LEVELS).rev()) {
            // Coarser levels have less to compute; all together have the mean.
            self.compute(f64::exp2(-f64::from(level)) * f64::from(N_LEVELS) / 2.0);
            for axis in 0..n_axes {
                // Two ranks on an axis are each other's neighbour on either side.
                let to = self.me ^ (1 << axis);
                let tag = |side: i32| 2 * axis as i32 + side;
                let receives = [0, 1].map(|side| self.receive(None, tag(side)));
                let sends = [0, 1].map(|side| self.send(to, tag(side)));
                self.complete(&receives)?;
                self.complete(&sends)?;
            }
        }
        Ok(())
    }

    /// Faces to all neighbours, then three solvers, which go from one rank of a line to the next and back.
    fn adi(&mut self) -> Result<(), Stopped> {
        let (row, column, side) = self.plane();
        let at = |row: u32, column: u32| (row % side) * side + column % side;
        // In a multi-partition each rank has a cell of each diagonal: the successor differs from axis to axis.
        let next = [at(row, column + 1), at(row + 1, column), at(row + 1, column + 1)];
        let previous = [at(row, column + side - 1), at(row + side - 1, column), at(row + side - 1, column + side - 1)];
        let mut handles = Vec::new();
        for axis in 0..3 {
            let tag = 10 + 2 * axis as i32;
            handles.push(self.receive(Some(previous[axis]), tag));
            handles.push(self.receive(Some(next[axis]), tag + 1));
        }
        for axis in 0..3 {
            let tag = 10 + 2 * axis as i32;
            handles.push(self.send(next[axis], tag));
            handles.push(self.send(previous[axis], tag + 1));
        }
        self.complete(&handles)?;
        self.compute(1.0);
        for axis in 0..3 {
            for (from, to, tag) in [(previous[axis], next[axis], 1), (next[axis], previous[axis], 2)] {
                for stage in 0..side {
                    if stage > 0 {
                        let handle = self.receive(Some(from), tag);
                        self.complete(&[handle])?;
                    }
                    self.compute(1.0);
                    if stage + 1 < side {
                        let handle = self.send(to, tag);
                        self.complete(&[handle])?;
                    }
                }
            }
        }
        Ok(())
    }
}
