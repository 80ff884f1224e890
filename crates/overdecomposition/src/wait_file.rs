//! Reader of `wait-RANK.jsonl`, which each rank writes at `MPI_Finalize` (docs/formats/mpi-concurrency.md).

use serde::{Deserialize, Serialize};
use units::Rank;

use crate::phase::phases;
use crate::{PhaseTotals, WaitMode};

/// Value of `format` in the first line.
const FORMAT: &str = "foretop-wait";
/// Newest version that is read.
const VERSION: u32 = 1;

/// Sums of one rank from `MPI_Init` to `MPI_Finalize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankWait {
    /// The rank.
    pub rank: Rank,
    /// Name of its host.
    pub host: String,
    /// Way in which it waited.
    pub mode: WaitMode,
    /// Processor that it is bound to, if it is.
    pub processor: Option<u32>,
    /// Wall time.
    pub run_seconds: f64,
    /// Time in which the rank was blocked in MPI.
    pub blocked_seconds: f64,
    /// Time in all calls of MPI.
    pub call_seconds: f64,
    /// User time.
    pub user_seconds: f64,
    /// System time.
    pub system_seconds: f64,
    /// Time in which the rank was ready to run and had no core, if the kernel counts it.
    pub ready_seconds: Option<f64>,
    /// Time that the hypervisor took from all cores of the host, if the kernel counts it.
    pub stolen_seconds: Option<f64>,
    /// Context switches because the rank waited.
    pub voluntary_switches: u64,
    /// Context switches because others had their turn.
    pub involuntary_switches: u64,
    /// Page faults without a read from disk.
    pub minor_faults: u64,
    /// Page faults with one.
    pub major_faults: u64,
    /// Seconds for which 0, 1, 2 … ranks of the host could compute (thread-level parallelism), if it was measured. One
    /// rank of each host reports them.
    pub tlp_seconds: Option<Vec<f64>>,
    /// Totals of each phase; none if the program does not call `MPI_Pcontrol`.
    #[serde(default)]
    pub phases: Vec<PhaseTotals>,
}

/// Sums of one MPI function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallWait {
    /// The function, as in `MPI_Recv`.
    pub call: String,
    /// Number of calls.
    pub calls: u64,
    /// Bytes sent and received.
    pub bytes: u64,
    /// Time in the function.
    pub seconds: f64,
    /// Part of the time in which the rank was blocked.
    pub blocked_seconds: f64,
}

/// The reason why a file is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitFileError {
    /// A line that is not what it should be.
    #[error("line {line} is not what it should be")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// The fault.
        source: serde_json::Error,
    },
    /// Another format, or a version that is not known yet.
    #[error(
        "it is `{format}`, version {version}, and only `{FORMAT}` up to version {VERSION} is read: use one version of Foretop for both"
    )]
    Format {
        /// Format in the first line.
        format: String,
        /// Its version.
        version: u32,
    },
    /// A file of a run with another number of ranks.
    #[error(
        "it is of a run with {found} ranks instead of {wanted}: is the program linked with the MPI library of this launcher?"
    )]
    OtherRanks {
        /// Number of ranks in the file.
        found: u32,
        /// Number of ranks that were started.
        wanted: u32,
    },
    /// A file that breaks off, as that of a rank that did not reach `MPI_Finalize`.
    #[error("the last line with the sums of the rank is missing: it did not end by MPI_Finalize")]
    Truncated,
}

#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
    rank: Rank,
    ranks: u32,
    host: String,
    mode: WaitMode,
    #[serde(default)]
    processor: Option<u32>,
}

#[derive(Deserialize)]
struct Sums {
    run_seconds: f64,
    blocked_seconds: f64,
    user_seconds: f64,
    system_seconds: f64,
    #[serde(default)]
    ready_seconds: Option<f64>,
    #[serde(default)]
    stolen_seconds: Option<f64>,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
    #[serde(default)]
    tlp_seconds: Option<Vec<f64>>,
}

/// Totals up to a call of `MPI_Pcontrol`.
#[derive(Deserialize)]
struct Mark {
    level: i64,
    #[serde(flatten)]
    sums: Sums,
}

/// A line between the first and the last.
#[derive(Deserialize)]
#[serde(untagged)]
enum Inner {
    Call(CallWait),
    Mark(Mark),
}

impl RankWait {
    /// Reads the file of one rank of so many: its sums, and those of each call.
    ///
    /// # Errors
    /// [`WaitFileError`] if it is another format or of another number of ranks, has a line that is not of the form, or
    /// breaks off.
    pub fn read(text: &str, n_ranks: u32) -> Result<(Self, Vec<CallWait>), WaitFileError> {
        let lines: Vec<&str> = text.lines().collect();
        let head: Head = line(&lines, 0)?;
        if head.format != FORMAT || head.version > VERSION {
            return Err(WaitFileError::Format { format: head.format, version: head.version });
        }
        if head.ranks != n_ranks {
            return Err(WaitFileError::OtherRanks { found: head.ranks, wanted: n_ranks });
        }
        let last = lines.len() - 1;
        let (mut calls, mut marks) = (Vec::new(), Vec::new());
        for idx in 1..last {
            match line(&lines, idx)? {
                Inner::Call(call) => calls.push(call),
                Inner::Mark(mark) => marks.push((mark.level, mark.sums.totals())),
            }
        }
        if last == 0 || line::<Inner>(&lines, last).is_ok() {
            return Err(WaitFileError::Truncated);
        }
        let sums: Sums = line(&lines, last)?;
        let phases = phases(&marks, &sums.totals());
        let rank = Self {
            rank: head.rank,
            host: head.host,
            mode: head.mode,
            processor: head.processor,
            run_seconds: sums.run_seconds,
            blocked_seconds: sums.blocked_seconds,
            call_seconds: calls.iter().map(|call| call.seconds).sum(),
            user_seconds: sums.user_seconds,
            system_seconds: sums.system_seconds,
            ready_seconds: sums.ready_seconds,
            stolen_seconds: sums.stolen_seconds,
            voluntary_switches: sums.voluntary_switches,
            involuntary_switches: sums.involuntary_switches,
            minor_faults: sums.minor_faults,
            major_faults: sums.major_faults,
            tlp_seconds: sums.tlp_seconds,
            phases,
        };
        Ok((rank, calls))
    }
}

impl Sums {
    fn totals(&self) -> PhaseTotals {
        PhaseTotals {
            level: None,
            run_seconds: self.run_seconds,
            blocked_seconds: self.blocked_seconds,
            user_seconds: self.user_seconds,
            system_seconds: self.system_seconds,
            ready_seconds: self.ready_seconds,
            stolen_seconds: self.stolen_seconds,
            tlp_seconds: self.tlp_seconds.clone(),
        }
    }
}

fn line<T: serde::de::DeserializeOwned>(lines: &[&str], idx: usize) -> Result<T, WaitFileError> {
    let text = lines.get(idx).copied().unwrap_or_default();
    serde_json::from_str(text).map_err(|source| WaitFileError::Line { line: idx + 1, source })
}

impl CallWait {
    /// Adds up the calls of several ranks by function, those that took longest first.
    #[must_use]
    pub fn merged(calls: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for call in calls {
            match merged.iter_mut().find(|known| known.call == call.call) {
                Some(known) => known.add(&call),
                None => merged.push(call),
            }
        }
        merged.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.call.cmp(&b.call)));
        merged
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.blocked_seconds += other.blocked_seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        r#"{"format":"foretop-wait","version":1,"rank":3,"ranks":4,"host":"a","mode":"block","processor":1}"#;
    const CALL: &str = r#"{"call":"MPI_Recv","calls":10,"bytes":800,"seconds":2.5,"blocked_seconds":2.0}"#;
    const SUMS: &str = r#"{"run_seconds":4.0,"blocked_seconds":2.0,"user_seconds":1.5,"system_seconds":0.25,"voluntary_switches":9,"involuntary_switches":2,"minor_faults":100,"major_faults":0,"tlp_seconds":[1.0,3.0]}"#;

    #[test]
    fn a_file_has_the_sums_of_its_rank_and_of_each_call() {
        let (rank, calls) = RankWait::read(&format!("{HEAD}\n{CALL}\n{SUMS}\n"), 4).unwrap();
        assert_eq!((rank.rank, rank.host.as_str(), rank.processor), (3, "a", Some(1)));
        assert_eq!((rank.call_seconds, rank.blocked_seconds, rank.voluntary_switches), (2.5, 2.0, 9));
        assert_eq!(rank.tlp_seconds, Some(vec![1.0, 3.0]));
        assert_eq!((calls.len(), calls[0].bytes), (1, 800));
    }

    #[test]
    fn totals_at_calls_of_pcontrol_become_phases_by_level() {
        let at = |level: i64, run: f64, user: f64| {
            let sums = SUMS.replace("1.5,", &format!("{user},")).replace("4.0", &run.to_string());
            sums.replacen('{', &format!("{{\"level\":{level},"), 1).replace("[1.0,3.0]", "null")
        };
        // Level 1 from 0.5 to 1.5 s and from 2 to 3 s, level 2 from 1.5 to 2 s and from 3 s to the end.
        let marks = [at(1, 0.5, 0.1), at(2, 1.5, 0.5), at(1, 2.0, 0.6), at(2, 3.0, 1.2)].join("\n");
        let (rank, calls) = RankWait::read(&format!("{HEAD}\n{CALL}\n{marks}\n{SUMS}\n"), 4).unwrap();
        let rounded = |seconds: f64| (seconds * 1e6).round() / 1e6;
        let found: Vec<_> =
            rank.phases.iter().map(|one| (one.level, rounded(one.run_seconds), rounded(one.user_seconds))).collect();
        assert_eq!(found, [(None, 0.5, 0.1), (Some(1), 2.0, 1.0), (Some(2), 1.5, 0.4)]);
        assert_eq!((calls.len(), rank.run_seconds), (1, 4.0));
        assert!(RankWait::read(&format!("{HEAD}\n{CALL}\n{marks}"), 4).is_err(), "a mark is not the end");
    }

    #[test]
    fn unbound_ranks_without_counters_of_parallelism_are_read() {
        let (head, sums) = (HEAD.replace(":1}", ":null}"), SUMS.replace("[1.0,3.0]", "null"));
        let (rank, _) = RankWait::read(&format!("{head}\n{sums}\n"), 4).unwrap();
        assert_eq!((rank.processor, rank.tlp_seconds), (None, None));
    }

    #[test]
    fn files_that_break_off_or_are_something_else_are_refused() {
        let refused = |text: &str| RankWait::read(text, 4).unwrap_err().to_string();
        for text in [HEAD.to_owned(), format!("{HEAD}\n{CALL}")] {
            assert!(refused(&text).contains("MPI_Finalize"), "{text}");
        }
        assert!(refused("").starts_with("line 1"));
        assert!(refused(&HEAD.replace("\"ranks\":4", "\"ranks\":1")).contains("1 ranks instead of 4"));
        assert!(refused(&format!("{HEAD}\n{CALL}\n{{\"run")).starts_with("line 3"));
        assert!(refused(&HEAD.replace("\"version\":1", "\"version\":2")).contains("version 2"));
    }

    #[test]
    fn calls_of_several_ranks_are_added_up_and_sorted_by_time() {
        let call = |name: &str, seconds| CallWait {
            call: name.to_owned(),
            calls: 1,
            bytes: 8,
            seconds,
            blocked_seconds: seconds,
        };
        let merged = CallWait::merged([call("MPI_Send", 1.0), call("MPI_Recv", 0.5), call("MPI_Recv", 2.0)]);
        let names: Vec<_> = merged.iter().map(|call| (call.call.as_str(), call.calls, call.seconds)).collect();
        assert_eq!(names, [("MPI_Recv", 2, 2.5), ("MPI_Send", 1, 1.0)]);
    }
}
