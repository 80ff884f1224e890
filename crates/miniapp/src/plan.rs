//! Plan of a run, as people write it, and the errors of plans that make no sense.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::{ByteCount, Rank, span};

/// The sums must fit into the integers that are summed.
const N_RANKS_MAX: u32 = 1 << 14;
/// A buffer of gsum; far beyond any size at which a tree is of interest.
const SUM_BYTES_MAX: u64 = 1 << 20;
/// Sizes of sums in turn.
const N_SIZES_MAX: u32 = 64;
/// A grid of 2 GiB.
const SIDE_MAX: u32 = 1 << 14;

/// A program, and who is slow in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The program.
    pub app: App,
    /// A rank that does additional work before each allreduce.
    pub straggler: Option<Straggler>,
}

/// One of the programs.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// Sums, one after the other, and perhaps sorting between them.
    Sum(SumPlan),
    /// Successive over-relaxation.
    Sor(SorPlan),
    /// Work of the same length on all ranks, and an allreduce that asks whether to go on.
    Noise(NoisePlan),
}

/// Global sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumPlan {
    /// Number of sums.
    pub n_calls: u64,
    /// Size of each sum: integers of 4 bytes.
    pub size: ByteCount,
    /// Sums have so many sizes in turn: that one, twice that, three times that, so that a tree file can lead each over
    /// a tree of its own.
    pub n_sizes: u32,
    /// Share of the time that sums are to take beside sorting, in (0,1); none for sums alone.
    pub communication_ratio: Option<f64>,
}

/// Successive over-relaxation on a square grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SorPlan {
    /// The data on the grid at the start.
    pub data: Data,
    /// The size of the grid.
    pub length: Length,
    /// It has converged when the sum of all changes of an iteration is below this.
    pub epsilon: f64,
    /// Whether that is asked.
    pub test: ConvergenceTest,
    /// It ends after so many iterations whether it has converged or not.
    pub n_iterations_max: u64,
}

/// Work and allreduces in turn: how much of what delays ranks delays all of them (Bongo 2007, paper 3).
#[derive(Clone, Debug, PartialEq)]
pub struct NoisePlan {
    /// Time that each rank works before each allreduce.
    pub work: Duration,
    /// Number of allreduces.
    pub n_calls: u64,
    /// The contributions of ranks.
    pub contributions: Contributions,
    /// It goes on as long as the sum is not below this; else it begins again.
    pub epsilon: f64,
    /// The test whether the sum is below that.
    pub test: ConvergenceTest,
}

/// Contributions of ranks to allreduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contributions {
    /// Each rank's alone decides, but for the last call's.
    Best,
    /// All are needed each time.
    Worst,
    /// Those of a file, again and again.
    File(PathBuf),
}

/// Size of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// So many points on a side.
    Points(u32),
    /// The number of points that leaves this share of the time, in (0,1), to communication.
    BlockedRatio(f64),
}

/// Data on the grid at the start (Bongo 2007, section 6.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Heat: the top row at 27,760 degrees, everything else at -273.15.
    Frosty,
    /// 0 to 10,000 at random on the diagonal and the three beside it on either side, else 0.
    Tridiagonal,
    /// 0 to 10,000 at random everywhere.
    Random,
}

/// Test by which ranks find out that they have converged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConvergenceTest {
    /// An allreduce after each iteration.
    Plain,
    /// Not at all.
    None,
    /// A conditional allreduce, which waits for other clusters only if it has to.
    Conditional,
}

/// A rank that is late on purpose: `RANK:TIME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Straggler {
    /// Which.
    pub rank: Rank,
    /// Time that it works more than others before each allreduce, by calibration.
    pub span: Duration,
}

/// The reason why a plan makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A word that an argument does not know.
    #[error("`{}` is not {what}: use {known}", given.escape_debug())]
    Word {
        /// The kind of word that it should be.
        what: &'static str,
        /// The given word.
        given: String,
        /// The words that can be given.
        known: &'static str,
    },
    /// No file of contributions.
    #[error(
        "line {line} is none of a file of contributions: it has a number from 0 for each strip, after a first line \
         `foretop-contributions 1`; `foretop-miniapp contributions` writes one"
    )]
    Contributions {
        /// Counted from 1.
        line: usize,
    },
    /// A file that cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Unread {
        /// Which.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// Conditional allreduces that have no answer.
    #[error("a conditional allreduce has no answer: {0}")]
    Conditional(String),
    /// No straggler.
    #[error("`{}` is not a straggler: write RANK:TIME, as in 3:1ms", given.escape_debug())]
    Straggler {
        /// The given text.
        given: String,
    },
    /// A straggler that is not there.
    #[error("there is no rank {rank} to be late: this run has ranks 0 to {last}")]
    NoStraggler {
        /// The rank that should be late.
        rank: Rank,
        /// The highest rank.
        last: Rank,
    },
    /// A share that nothing can have.
    #[error("`{}` is not a share of the time: write a percentage above 0 and below 100, as in 50%", given.escape_debug())]
    Share {
        /// The given text.
        given: String,
    },
    /// A number that is not between these.
    #[error("{what} is {given}; it must be {needed}")]
    Bounds {
        /// The name of the number.
        what: &'static str,
        /// The given number.
        given: String,
        /// The range that it must be in.
        needed: String,
    },
}

impl FromStr for Straggler {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let parsed = text
            .split_once(':')
            .and_then(|(rank, time)| Some(Self { rank: rank.parse().ok()?, span: span::parse(time).ok()? }));
        parsed.ok_or_else(|| PlanError::Straggler { given: text.to_owned() })
    }
}

impl fmt::Display for Straggler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.rank, span::format(self.span))
    }
}

impl FromStr for Data {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        match text {
            "frosty" => Ok(Self::Frosty),
            "tridiagonal" => Ok(Self::Tridiagonal),
            "random" => Ok(Self::Random),
            _ => Err(PlanError::Word {
                what: "a set of data",
                given: text.to_owned(),
                known: "frosty, tridiagonal, random",
            }),
        }
    }
}

impl FromStr for ConvergenceTest {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        match text {
            "plain" => Ok(Self::Plain),
            "none" => Ok(Self::None),
            "conditional" => Ok(Self::Conditional),
            _ => {
                Err(PlanError::Word { what: "an allreduce", given: text.to_owned(), known: "plain, none, conditional" })
            }
        }
    }
}

/// A share of the time as people write it: `50%`.
///
/// # Errors
/// [`PlanError::Share`] for all else.
pub fn share(text: &str) -> Result<f64, PlanError> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let percent = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
    percent.map(|percent| percent / 100.0).ok_or_else(|| PlanError::Share { given: text.to_owned() })
}

impl Plan {
    /// Whether all of it makes sense on so many ranks.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self, n_ranks: u32) -> Result<(), PlanError> {
        bounds("the number of ranks", n_ranks.into(), 1, N_RANKS_MAX.into())?;
        if let Some(Straggler { rank, .. }) = self.straggler.filter(|straggler| straggler.rank >= n_ranks) {
            return Err(PlanError::NoStraggler { rank, last: n_ranks - 1 });
        }
        match &self.app {
            App::Sum(plan) => {
                bounds("--calls", plan.n_calls, 1, u64::from(u32::MAX))?;
                bounds("--size in bytes", plan.size.bytes(), 4, SUM_BYTES_MAX)?;
                bounds("--sizes", plan.n_sizes.into(), 1, N_SIZES_MAX.into())?;
                if !plan.size.bytes().is_multiple_of(4) {
                    let needed = "a multiple of 4B, the size of an integer".to_owned();
                    return Err(PlanError::Bounds { what: "--size", given: plan.size.to_string(), needed });
                }
                Ok(())
            }
            App::Sor(plan) => {
                bounds("--iterations", plan.n_iterations_max, 1, u64::from(u32::MAX))?;
                epsilon(plan.epsilon)?;
                match plan.length {
                    // Each rank has a row, and between the fixed ones on the sides there is a point.
                    Length::Points(side) => {
                        let (least, most) = SorPlan::sides(n_ranks);
                        bounds("--points", side.into(), least.into(), most.into())
                    }
                    Length::BlockedRatio(_) => Ok(()),
                }
            }
            App::Noise(plan) => {
                bounds("--calls", plan.n_calls, 1, u64::from(u32::MAX))?;
                epsilon(plan.epsilon)
            }
        }
    }
}

impl App {
    /// Returns the name of the program for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sum(SumPlan { communication_ratio: None, .. }) => "gsum",
            Self::Sum(_) => "compute-gsum",
            Self::Sor(_) => "sor",
            Self::Noise(_) => "noise-allreduce",
        }
    }
}

impl FromStr for Contributions {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "best" => Self::Best,
            "worst" => Self::Worst,
            path => Self::File(path.into()),
        })
    }
}

impl SorPlan {
    /// The sides that a grid may have on so many ranks.
    pub(crate) fn sides(n_ranks: u32) -> (u32, u32) {
        (n_ranks.max(3), SIDE_MAX)
    }
}

fn epsilon(epsilon: f64) -> Result<(), PlanError> {
    if epsilon >= 0.0 && epsilon.is_finite() {
        return Ok(());
    }
    Err(PlanError::Bounds { what: "--epsilon", given: epsilon.to_string(), needed: "a number from 0".to_owned() })
}

fn bounds(what: &'static str, given: u64, least: u64, most: u64) -> Result<(), PlanError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(PlanError::Bounds { what, given: given.to_string(), needed: format!("{least} to {most}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straggler_is_a_rank_and_a_time() {
        assert_eq!("3:1ms".parse(), Ok(Straggler { rank: 3, span: Duration::from_millis(1) }));
        for text in ["3", "3:1", "x:1ms", "-1:1ms", ""] {
            assert!(text.parse::<Straggler>().unwrap_err().to_string().contains(&format!("`{text}`")));
        }
    }

    #[test]
    fn a_share_is_a_percentage_between_nothing_and_all() {
        assert_eq!(share("50%"), Ok(0.5));
        for text in ["0%", "100%", "50", "NaN%", "-1%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_on_these_ranks_is_told() {
        let sums = |bytes| {
            App::Sum(SumPlan { n_calls: 1, size: ByteCount::new(bytes), n_sizes: 1, communication_ratio: None })
        };
        let grid = |side, epsilon| {
            let test = ConvergenceTest::Plain;
            let length = Length::Points(side);
            App::Sor(SorPlan { data: Data::Frosty, length, epsilon, test, n_iterations_max: 1 })
        };
        let straggler = |rank| Some(Straggler { rank, span: Duration::from_millis(1) });
        let told = |app, straggler| Plan { app, straggler }.check(4).unwrap_err().to_string();
        assert_eq!(Plan { app: sums(8), straggler: straggler(3) }.check(4), Ok(()));
        assert_eq!(told(sums(8), straggler(4)), "there is no rank 4 to be late: this run has ranks 0 to 3");
        assert_eq!(told(sums(6), None), "--size is 6B; it must be a multiple of 4B, the size of an integer");
        assert_eq!(told(grid(3, 0.1), None), "--points is 3; it must be 4 to 16384");
        assert_eq!(told(grid(9, f64::NAN), None), "--epsilon is NaN; it must be a number from 0");
    }
}
