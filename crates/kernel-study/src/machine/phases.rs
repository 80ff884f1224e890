//! Activity of processors and memory in each phase of a sort, from a file in which its stamps and the kernel's
//! summaries are merged.

use std::collections::BTreeMap;

use record::{Items, Value};
use record_view::{Bands, Error, Line, Plot, plot, rows};
use text::figure::{number, percent, span_ns};

use crate::answer::{CHART, names};
use crate::layers::whole;
use crate::{Answer, Span};

/// Time that a kind of phase took of the sort, and how busy things were meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Phase {
    /// All phases of the kind.
    length_ns: f64,
    /// Processor time of the rank in it.
    processor_ns: f64,
    /// Processor time of the host in it.
    busy_ns: f64,
    /// Time of page faults in it.
    faults_ns: f64,
}

const CPU: &str = "CPU Utilization Summary";
const VM: &str = "VM Summary";
/// Names in `sort` of phases in which ranks wait for others, or for messages of others; both MPI libraries poll.
const WAITING: [&str; 2] = ["waiting (polls)", "messages"];

/// Name of moments that are no phases.
const MARK: &str = "mark";

/// Whoever sleeps while it waits is on a processor for less than this share of it, and whoever polls for more, also
/// beside neighbours.
const POLLS: f64 = 0.2;

/// Returns the answer for rank 0 of a sort.
///
/// # Errors
/// Where the file is damaged, or has no such records.
pub fn phases<'a>(
    read: impl Fn() -> Result<Items<'a>, Error>,
    conditions: String,
    n_processors: usize,
) -> Result<Answer, Error> {
    let stamps = rows(read()?, "sort-trace", &["at_ns", "rank", "kind", "processor_ns"])?;
    let mut own = stamps.into_iter().filter(|row| whole(&row[1]) == 0).collect::<Vec<_>>();
    own.sort_by_key(|row| whole(&row[0]));
    let cpu = pulls(rows(read()?, CPU, &["start_ns", "end_ns", "User.time_ns", "System.time_ns"])?);
    let vm = pulls(rows(read()?, VM, &["start_ns", "end_ns", "PageFaults.time_ns"])?);
    let mut kinds: BTreeMap<String, Phase> = BTreeMap::new();
    for pair in own.windows(2) {
        let Value::Text(kind) = &pair[0][2] else { continue };
        if kind == MARK {
            continue;
        }
        let span = Span { start_ns: whole(&pair[0][0]), end_ns: whole(&pair[1][0]) };
        let phase = kinds.entry(kind.clone()).or_default();
        phase.length_ns += span.length_ns() as f64;
        phase.processor_ns += whole(&pair[1][3]).saturating_sub(whole(&pair[0][3])) as f64;
        phase.busy_ns += within(span, &cpu);
        phase.faults_ns += within(span, &vm);
    }
    let all_ns: f64 = kinds.values().map(|phase| phase.length_ns).sum();
    let row = |(kind, phase): (&String, &Phase)| {
        vec![
            kind.clone(),
            span_ns(phase.length_ns),
            percent(phase.length_ns / all_ns.max(1.0)),
            percent(phase.processor_ns / phase.length_ns.max(1.0)),
            number(phase.busy_ns / phase.length_ns.max(1.0)),
            number(phase.faults_ns / phase.length_ns.max(1.0)),
        ]
    };
    let waits = || WAITING.iter().filter_map(|kind| kinds.get(*kind));
    let waited_ns: f64 = waits().map(|phase| phase.length_ns).sum();
    let polled = waits().map(|phase| phase.processor_ns).sum::<f64>() / waited_ns.max(1.0);
    let verdict = format!(
        "rank 0 waits for {} of {}, and is on a processor for {} of that: {}",
        span_ns(waited_ns),
        span_ns(all_ns),
        percent(polled),
        if polled > POLLS {
            "it polls, as the report found of MPI_Probe. Bands of waiting are no work, however busy the processors are"
        } else {
            "it sleeps"
        }
    );
    let line = |record: &str, y: &str| Line { record: record.into(), y: y.into() };
    let what = Plot {
        lines: vec![line(CPU, "User.time_ns"), line(VM, "PageFaults.time_ns")],
        x: "end_ns".into(),
        bands: Some(Bands {
            record: "sort-trace".into(),
            time: "at_ns".into(),
            name: "kind".into(),
            of: Some(("rank".into(), "0".into())),
        }),
        is_share: true,
        most: Some(n_processors as f64 + 0.5),
        files: "phases.sort-merge".into(),
        ..Plot::default()
    };
    let picture = plot(read()?, &what)?.picture(CHART);
    Ok(Answer {
        title: "Phases of a sort, over processors and memory (figures 7.19 and 7.20)".into(),
        conditions,
        columns: names(&[
            "phases of rank 0",
            "all together",
            "of the sort",
            "on a processor",
            "busy cores of the host",
            "faults under way",
        ]),
        rows: kinds.iter().map(row).collect(),
        verdict,
        pictures: vec![("phases".into(), picture)],
    })
}

/// The span of each pull, with the sum of all figures behind it.
fn pulls(rows: Vec<Vec<Value>>) -> Vec<(Span, f64)> {
    let sum = |value: &Value| match value {
        Value::Integers(numbers) => numbers.iter().map(|number| *number as f64).sum(),
        value => value.number().unwrap_or(0.0),
    };
    let pull = |row: &Vec<Value>| {
        let span = Span { start_ns: whole(&row[0]), end_ns: whole(&row[1]) };
        (span, row[2..].iter().map(sum).sum())
    };
    rows.iter().map(pull).collect()
}

/// Returns the amount of the pulls that falls into a span, each in the same proportion as its time does.
fn within(span: Span, pulls: &[(Span, f64)]) -> f64 {
    let part = |(pull, amount): &(Span, f64)| {
        let common = Span { start_ns: pull.start_ns.max(span.start_ns), end_ns: pull.end_ns.min(span.end_ns) };
        amount * common.length_ns() as f64 / pull.length_ns().max(1) as f64
    };
    pulls.iter().map(part).sum()
}

#[cfg(test)]
mod tests {
    use record::{Field, Kind, RecordType, Writer};

    use super::*;

    /// Rank 0 works from 0 to 100 and waits from 100 to 200, for so much of that on a processor; both cores are busy,
    /// the second one for half the time.
    fn file(polled_ns: i64) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let whole = |name: &str| Field::new(name, Kind::Integer, "ns", "");
        let mut define = |name: &str, fields: Vec<Field>| {
            writer.define(RecordType { name: name.into(), attributes: vec![], fields }).unwrap()
        };
        let kind = Field::new("kind", Kind::Text, "", "");
        let trace = define("sort-trace", vec![whole("at_ns"), whole("rank"), kind, whole("processor_ns")]);
        let array = |name: &str| Field::new(name, Kind::Integers, "ns", "");
        let cpu = define(CPU, vec![whole("start_ns"), whole("end_ns"), array("User.time_ns"), array("System.time_ns")]);
        let vm = define(VM, vec![whole("start_ns"), whole("end_ns"), whole("PageFaults.time_ns")]);
        let stamps =
            [(0, 0, "work", 0), (50, 1, "files", 0), (100, 0, WAITING[0], 90), (200, 0, "mark", 90 + polled_ns)];
        for (at, rank, kind, processor_ns) in stamps {
            let [at, rank, processor_ns] = [at, rank, processor_ns].map(Value::Integer);
            writer.record(trace, &[at, rank, Value::Text(kind.into()), processor_ns]).unwrap();
        }
        for start in [0, 100] {
            let ends = [Value::Integer(start), Value::Integer(start + 100)];
            let times = [Value::Integers(vec![100, 20]), Value::Integers(vec![0, 30])];
            writer.record(cpu, &[&ends[..], &times].concat()).unwrap();
            writer.record(vm, &[&ends[..], &[Value::Integer(30)]].concat()).unwrap();
        }
        writer.finish().unwrap()
    }

    fn told(polled_ns: i64) -> Answer {
        let file = file(polled_ns);
        phases(|| Ok(record::read(&file[..])?), String::new(), 2).unwrap()
    }

    #[test]
    fn a_wait_that_polls_is_no_work() {
        let answer = told(80);
        assert!(answer.verdict.contains("for 80.0 % of that: it polls"), "{}", answer.verdict);
        assert!(told(1).verdict.ends_with("it sleeps"));
        assert_eq!(answer.rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), [WAITING[0], "work"]);
        assert_eq!(answer.rows[0].len(), answer.columns.len());
        assert_eq!(answer.rows[0][2..], ["50.0 %", "80.0 %", "1.50", "0.30"]);
    }
}
