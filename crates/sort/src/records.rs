//! A sort as records: `sort-summary`, one for each rank, and `sort-trace`, one for each change of activity.

use record::{Field, RecordType, Value};
use serde::{Deserialize, Serialize};
use text::Table;
use text::figure::{counted, span_ns};
use units::Rank;

use crate::Phase;

/// The begin of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Time on the monotonic clock of the rank's host.
    pub at_ns: u64,
    /// The phase that begins.
    pub phase: Phase,
    /// Number of the round, from 0: the number of times that rank 0 has announced that another round is needed.
    pub round: u32,
    /// Bytes that are read, written or sent in the phase.
    pub n_bytes: u64,
    /// Processor time of the rank so far. What a phase adds to it was work, or polling where it waits.
    pub processor_ns: u64,
}

/// Record of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sorted {
    /// The rank.
    pub rank: Rank,
    /// Its host.
    pub host: String,
    /// All ranks.
    pub n_ranks: u32,
    /// Count of the numbers that it sorted.
    pub n_numbers: u64,
    /// Rounds until nothing overlapped, the last one, in which nothing was traded, included.
    pub n_rounds: u32,
    /// Numbers that it took from the rank below, in all rounds.
    pub n_taken: u64,
    /// Processor time in its own code, in steps of the kernel's clock.
    pub user_ns: u64,
    /// And in the kernel.
    pub system_ns: u64,
    /// Stamps from [`Phase::Start`] to [`Phase::End`].
    pub stamps: Vec<Stamp>,
}

impl Sorted {
    /// Returns the time that each phase took, all times together, in the order of [`Phase::ALL`].
    #[must_use]
    pub fn phases_ns(&self) -> Vec<u64> {
        let mut sums = vec![0; Phase::ALL.len()];
        for pair in self.stamps.windows(2) {
            sums[pair[0].phase as usize] += pair[1].at_ns - pair[0].at_ns;
        }
        sums
    }

    fn ends_ns(&self) -> [u64; 2] {
        [self.stamps.first(), self.stamps.last()].map(|stamp| stamp.map_or(0, |stamp| stamp.at_ns))
    }
}

/// Phases that take time.
fn timed() -> impl Iterator<Item = Phase> {
    Phase::ALL.into_iter().filter(|phase| phase.kind() != crate::Kind::Mark)
}

/// The type `sort-summary`.
#[must_use]
pub fn summary_type() -> RecordType {
    let mut fields = vec![
        Field::integer("start_ns", "ns", "when all ranks were there, on the monotonic clock"),
        Field::integer("end_ns", "ns", "when the output was closed"),
        Field::integer("rank", "", "which rank this is"),
        Field::text("host", "its host"),
        Field::integer("n_ranks", "", "ranks of the sort"),
        Field::integer("n_numbers", "", "numbers of 8 bytes that this rank sorted"),
        Field::integer("n_rounds", "", "rounds of trades, the last of which moved nothing"),
        Field::integer("n_taken", "", "numbers taken from the rank below, in all rounds"),
        Field::integer("user_ns", "ns", "processor time, in its own code"),
        Field::integer("sys_ns", "ns", "and in the kernel"),
    ];
    fields.extend(timed().map(|phase| {
        Field::integer(format!("{}_ns", phase.name()), "ns", format!("all time of the phase `{}`", phase.name()))
    }));
    RecordType { name: "sort-summary".into(), attributes: Vec::new(), fields }
}

/// The type `sort-trace`.
#[must_use]
pub fn trace_type() -> RecordType {
    let fields = vec![
        Field::integer("at_ns", "ns", "when the phase began, on the monotonic clock"),
        Field::integer("rank", "", "which rank this is"),
        Field::text("host", "its host"),
        Field::text("event", "the phase that begins"),
        Field::text("kind", "what it drives: memory, files, work, messages; or waiting, which polls and is no work"),
        Field::integer("round", "", "round of trades"),
        Field::integer("n_bytes", "bytes", "read, written or sent in it"),
        Field::integer(
            "processor_ns",
            "ns",
            "processor time of the rank until then; what a phase that waits adds to it was polling",
        ),
    ];
    RecordType { name: "sort-trace".into(), attributes: Vec::new(), fields }
}

/// The record `sort-summary` of a rank.
#[must_use]
pub fn summary_values(of: &Sorted) -> Vec<Value> {
    let [start_ns, end_ns] = of.ends_ns();
    let mut values = vec![
        Value::unsigned(start_ns),
        Value::unsigned(end_ns),
        Value::unsigned(of.rank),
        Value::Text(of.host.clone()),
        Value::unsigned(of.n_ranks),
        Value::unsigned(of.n_numbers),
        Value::unsigned(of.n_rounds),
        Value::unsigned(of.n_taken),
        Value::unsigned(of.user_ns),
        Value::unsigned(of.system_ns),
    ];
    let times = of.phases_ns();
    values.extend(timed().map(|phase| Value::unsigned(times[phase as usize])));
    values
}

/// The records `sort-trace` of a rank.
pub fn trace_values(of: &Sorted) -> impl Iterator<Item = Vec<Value>> + '_ {
    of.stamps.iter().map(|stamp| {
        vec![
            Value::unsigned(stamp.at_ns),
            Value::unsigned(of.rank),
            Value::Text(of.host.clone()),
            Value::Text(stamp.phase.name().into()),
            Value::Text(stamp.phase.kind().name().into()),
            Value::unsigned(stamp.round),
            Value::unsigned(stamp.n_bytes),
            Value::unsigned(stamp.processor_ns),
        ]
    })
}

/// Returns a table of the ranks for people: each phase, and how long it took on average and at most.
#[must_use]
pub fn table(ranks: &[Sorted]) -> String {
    let mut table = Table::of_figures(&["phase", "drives", "mean of ranks", "longest", "on rank"]);
    let times: Vec<Vec<u64>> = ranks.iter().map(Sorted::phases_ns).collect();
    for phase in timed() {
        let idx = phase as usize;
        let mean = times.iter().map(|times| times[idx] as f64).sum::<f64>() / times.len().max(1) as f64;
        let longest = ranks.iter().zip(&times).max_by_key(|(_, times)| times[idx]);
        let (rank, longest) = longest.map_or((0, 0), |(rank, times)| (rank.rank, times[idx]));
        table.row([
            phase.name().to_owned(),
            phase.kind().name().to_owned(),
            span_ns(mean),
            span_ns(longest as f64),
            rank.to_string(),
        ]);
    }
    let all: u64 = ranks.iter().map(|rank| rank.n_numbers).sum();
    let spans = ranks.iter().map(|rank| rank.ends_ns()).map(|[start, end]| end - start);
    let took = span_ns(spans.max().unwrap_or(0) as f64);
    let n_rounds = ranks.first().map_or(0, |rank| rank.n_rounds);
    let numbers = counted(all, "number");
    let [on, rounds] = [(ranks.len() as u64, "rank"), (u64::from(n_rounds), "round")].map(|(n, of)| counted(n, of));
    format!("{table}\n{numbers} on {on} in order after {rounds}, {took}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_last_to_the_next_stamp_and_records_suit_their_types() {
        let stamp = |at_ns, phase| Stamp { at_ns, phase, round: 0, n_bytes: 0, processor_ns: 0 };
        let stamps = [(5, Phase::Start), (6, Phase::Sort), (16, Phase::Ask), (19, Phase::Sort), (20, Phase::End)];
        let sorted = Sorted {
            rank: 1,
            host: "a".into(),
            n_ranks: 2,
            n_numbers: 8,
            n_rounds: 1,
            n_taken: 0,
            user_ns: 0,
            system_ns: 0,
            stamps: stamps.map(|(at_ns, phase)| stamp(at_ns, phase)).to_vec(),
        };
        let times = sorted.phases_ns();
        assert_eq!((times[Phase::Sort as usize], times[Phase::Ask as usize], times.iter().sum::<u64>()), (11, 3, 15));
        summary_type().check(&summary_values(&sorted)).unwrap();
        assert!(trace_values(&sorted).all(|values| trace_type().check(&values).is_ok()));
        let table = table(&[sorted]);
        assert!(table.contains("8 numbers on 1 rank in order after 1 round, 15 ns"), "{table}");
        assert!(Phase::ALL.into_iter().enumerate().all(|(idx, phase)| phase as usize == idx));
    }
}
