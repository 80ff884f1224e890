//! Computation of ranks between their calls: recorded, given back, and as laws.
//!
//! [`Times`] is a recording of all ranks, `docs/formats/sim-compute.md`. [`Laws`] say for each call site how long the
//! computation before it takes, by the number of ranks and the size of the message: where a recording is of few
//! ranks, they are for many.

mod laws;

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use units::{Rank, SimDuration};

pub use laws::{Law, Laws, LawsError};

/// The one version of the format.
const FORMAT: u32 = 1;

/// The longest head that is recognized: names of sites take some tens of bytes each.
const HEAD_BYTES_MAX: u64 = 16 << 20;

/// The computation of all ranks between their calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    sites: Vec<String>,
    by_name: HashMap<String, u32>,
    ranks: Vec<Vec<Stretch>>,
}

/// Computation before one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The place of the call, as a position in [`Times::sites`].
    pub site: u32,
    /// Size of the call's message.
    pub size_bytes: u64,
    /// Duration of the computation on the host.
    pub span: SimDuration,
}

/// A difference between a program's calls and those that were recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Differs {
    /// A call from another place.
    #[error(
        "rank {rank} is at `{now}` in its call {call}, and was at `{recorded}` when compute times were recorded: record them anew"
    )]
    Site {
        /// The rank.
        rank: Rank,
        /// Position of the call among those of the rank, from 0.
        call: usize,
        /// The place of the call.
        now: String,
        /// The place of the recorded call.
        recorded: String,
    },
    /// More calls than were recorded.
    #[error("rank {rank} makes more calls than the {recorded} of which compute times were recorded: record them anew")]
    Longer {
        /// The rank.
        rank: Rank,
        /// Calls recorded.
        recorded: usize,
    },
}

/// The reason why a file holds no compute times.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimesError {
    /// It cannot be read.
    #[error("cannot read compute times")]
    Read(#[from] io::Error),
    /// A line that is none of such a file.
    #[error("line {line}: {what}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// The fault, and what would be right.
        what: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Head {
    foretop_compute: u32,
    n_ranks: u32,
    sites: Vec<String>,
}

impl Times {
    /// Builds an empty recording for `n_ranks` ranks.
    #[must_use]
    pub fn new(n_ranks: u32) -> Self {
        Self { ranks: vec![Vec::new(); n_ranks as usize], ..Self::default() }
    }

    /// Adds what a rank computed before a call.
    ///
    /// # Panics
    /// Where there is no such rank.
    pub fn record(&mut self, rank: Rank, site: &str, size_bytes: u64, span: SimDuration) {
        let site = match self.by_name.get(site) {
            Some(known) => *known,
            None => {
                let next = self.sites.len() as u32;
                self.sites.push(site.to_owned());
                self.by_name.insert(site.to_owned(), next);
                next
            }
        };
        self.ranks[rank as usize].push(Stretch { site, size_bytes, span });
    }

    /// Ranks.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// All call sites, in the order in which they were first met.
    #[must_use]
    pub fn sites(&self) -> &[String] {
        &self.sites
    }

    /// Returns the computation of a rank, in the order of its calls.
    #[must_use]
    pub fn of_rank(&self, rank: Rank) -> &[Stretch] {
        self.ranks.get(rank as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the time that a rank computed before a call, by the call's position; the call has to be from the same
    /// place.
    ///
    /// # Errors
    /// [`Differs`] where it is not.
    pub fn span(&self, rank: Rank, call: usize, site: &str) -> Result<SimDuration, Differs> {
        let of_rank = self.of_rank(rank);
        let stretch = of_rank.get(call).ok_or(Differs::Longer { rank, recorded: of_rank.len() })?;
        let recorded = &self.sites[stretch.site as usize];
        if recorded == site {
            return Ok(stretch.span);
        }
        Err(Differs::Site { rank, call, now: site.to_owned(), recorded: recorded.clone() })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let head = Head { foretop_compute: FORMAT, n_ranks: self.n_ranks(), sites: self.sites.clone() };
        serde_json::to_writer(&mut to, &head)?;
        writeln!(to)?;
        for (rank, stretches) in self.ranks.iter().enumerate() {
            for Stretch { site, size_bytes, span } in stretches {
                writeln!(to, "{rank} {site} {size_bytes} {}", span.as_nanos())?;
            }
        }
        to.flush()
    }

    /// Whether a file begins as one of compute times does, of any version.
    pub fn begins(from: impl BufRead) -> bool {
        #[derive(Deserialize)]
        struct Mark {
            #[serde(rename = "foretop_compute")]
            _format: u32,
        }
        let mut first = Vec::new();
        let is_read = from.take(HEAD_BYTES_MAX).read_until(b'\n', &mut first).is_ok();
        is_read && serde_json::from_slice::<Mark>(&first).is_ok()
    }

    /// Reads the file.
    ///
    /// # Errors
    /// [`TimesError`] with the first line that is wrong.
    pub fn read(from: impl BufRead) -> Result<Self, TimesError> {
        let mut lines = from.lines();
        let wrong = |line: usize, what: String| TimesError::Line { line, what };
        let first = lines.next().transpose()?.unwrap_or_default();
        let head: Head = serde_json::from_str(&first)
            .map_err(|error| wrong(1, format!("{error}: a file of compute times begins with a head in JSON")))?;
        if head.foretop_compute != FORMAT {
            return Err(wrong(1, format!("format {} is none that this program reads: {FORMAT}", head.foretop_compute)));
        }
        let by_name = (0..).zip(&head.sites).map(|(idx, name)| (name.clone(), idx)).collect();
        let mut times = Self { by_name, ranks: Vec::new(), sites: head.sites };
        for (line, text) in (2..).zip(lines) {
            let text = text?;
            let numbers: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
            let Some([rank, site, size_bytes, span_ns]) = numbers.as_deref() else {
                return Err(wrong(line, format!("`{text}` is not four whole numbers: rank, site, bytes, nanoseconds")));
            };
            if *rank >= u64::from(head.n_ranks) || *site >= times.sites.len() as u64 {
                let (n_ranks, n_sites) = (head.n_ranks, times.sites.len());
                return Err(wrong(
                    line,
                    format!("`{text}` is beyond the {n_ranks} ranks or {n_sites} sites of the head"),
                ));
            }
            // Ranks that the head names and no line does take no memory.
            let rank = *rank as usize;
            if times.ranks.len() <= rank {
                times.ranks.resize_with(rank + 1, Vec::new);
            }
            let (site, size_bytes, span) = (*site as u32, *size_bytes, SimDuration::from_nanos(*span_ns));
            times.ranks[rank].push(Stretch { site, size_bytes, span });
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_ranks() -> Times {
        let mut times = Times::new(2);
        times.record(0, "lu+0x120 MPI_Send", 64, SimDuration::from_nanos(1_500));
        times.record(0, "lu+0x188 MPI_Recv", 64, SimDuration::from_nanos(20));
        times.record(1, "lu+0x120 MPI_Send", 64, SimDuration::from_nanos(1_700));
        times
    }

    #[test]
    fn what_is_written_is_read_and_the_page_shows_it() {
        let mut written = Vec::new();
        two_ranks().write(&mut written).unwrap();
        assert_eq!(Times::read(&written[..]).unwrap(), two_ranks());
        assert!(Times::begins(&written[..]) && !Times::begins(&b"{\"foretop_trace\":1}\n"[..]));
        let page = include_str!("../../../docs/formats/sim-compute.md");
        assert!(page.contains(std::str::from_utf8(&written).unwrap()), "{}", String::from_utf8_lossy(&written));
    }

    #[test]
    fn a_program_that_went_another_way_is_told_where() {
        let times = two_ranks();
        assert_eq!(times.span(1, 0, "lu+0x120 MPI_Send"), Ok(SimDuration::from_nanos(1_700)));
        let told = times.span(0, 1, "lu+0x120 MPI_Send").unwrap_err().to_string();
        assert!(told.contains("call 1") && told.contains("was at `lu+0x188 MPI_Recv`"), "{told}");
        assert_eq!(times.span(1, 1, "x"), Err(Differs::Longer { rank: 1, recorded: 1 }));
    }

    #[test]
    fn what_is_no_such_file_is_refused_by_its_line() {
        let head = "{\"foretop_compute\":1,\"n_ranks\":1,\"sites\":[\"a\"]}\n";
        for (text, line) in [
            ("", 1),
            ("rank,start_ns\n", 1),
            ("{\"foretop_compute\":2,\"n_ranks\":1,\"sites\":[]}\n", 1),
            (&format!("{head}0 0 8\n"), 2),
            (&format!("{head}0 0 8 -1\n"), 2),
            (&format!("{head}0 0 8 1\n1 0 8 1\n"), 3),
            (&format!("{head}0 1 8 1\n"), 2),
        ] {
            let error = Times::read(text.as_bytes()).unwrap_err();
            assert!(matches!(error, TimesError::Line { line: found, .. } if found == line), "{text:?}: {error}");
        }
    }
}
