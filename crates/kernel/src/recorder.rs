//! Files of what was measured: a type of records for each subsystem's summary and each point's trace.
//!
//! Every summary type is defined at the start; a trace type with its first record. What an arm does not know is -1.

use std::collections::BTreeMap;
use std::io::Write;

use record::info::Info;
use record::{Field, Format, Kind, Output, RecordType, Value};

use crate::{Error, Figures, GroupLimits, Measure, N_GROUPS, Point, PointSummary, Pulled, Subsystem, Timing, Traced};

/// Writes a file.
pub struct Recorder<W: Write> {
    out: Output<W>,
    limits: GroupLimits,
    head: Vec<(String, String)>,
    types: Vec<(RecordType, u64)>,
    summaries: BTreeMap<&'static str, usize>,
    traces: BTreeMap<(&'static str, usize), usize>,
    alarm: usize,
    account: usize,
}

impl<W: Write> Recorder<W> {
    /// Begins a file that says this of itself.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn new(format: Format, out: W, head: Vec<(String, String)>, limits: GroupLimits) -> Result<Self, Error> {
        let mut out = Output::new(format, out)?;
        for (name, text) in &head {
            out.attribute(name, text)?;
        }
        let (summaries, traces) = (BTreeMap::new(), BTreeMap::new());
        let mut recorder = Self { out, limits, head, types: Vec::new(), summaries, traces, alarm: 0, account: 0 };
        recorder.alarm = recorder.define(alarm_type())?;
        recorder.account = recorder.define(account_type())?;
        Ok(recorder)
    }

    fn define(&mut self, of: RecordType) -> Result<usize, Error> {
        self.types.push((of.clone(), 0));
        Ok(self.out.define(of)?)
    }

    fn write(&mut self, of: usize, values: &[Value]) -> Result<(), Error> {
        self.types[of].1 += 1;
        Ok(self.out.record(of, values)?)
    }

    /// Writes the summary of a pull.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn summary(&mut self, pulled: &Pulled) -> Result<(), Error> {
        let subsystem = pulled.summary.subsystem;
        let of = match self.summaries.get(subsystem.name) {
            Some(of) => *of,
            None => {
                let of = self.define(summary_type(subsystem, &self.limits))?;
                self.summaries.insert(subsystem.name, of);
                of
            }
        };
        self.write(of, &summary_values(pulled))
    }

    /// Writes an event of a traced point.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn trace(&mut self, node: u32, traced: &Traced) -> Result<(), Error> {
        let Traced { subsystem, point, .. } = *traced;
        let key = (subsystem.name, point);
        let named = subsystem.fields(point);
        let of = match self.traces.get(&key) {
            Some(of) => *of,
            None => {
                let Some(point) = subsystem.points.get(point) else { return Ok(()) };
                let of = self.define(trace_type(subsystem, point, named))?;
                self.traces.insert(key, of);
                of
            }
        };
        let mut values = vec![
            Value::unsigned(node),
            Value::unsigned(traced.begin_ns),
            Value::unsigned(traced.end_ns),
            Value::unsigned(traced.asked),
            Value::Integer(traced.returned),
            Value::unsigned(traced.process),
            Value::unsigned(traced.thread),
            Value::unsigned(traced.processor),
            Value::unsigned(traced.weight),
        ];
        values.extend(traced.fields.iter().zip(named).map(|(field, _)| Value::Integer(*field)));
        self.write(of, &values)
    }

    /// Writes a further attribute of the file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn attribute(&mut self, name: &str, text: &str) -> Result<(), Error> {
        Ok(self.out.attribute(name, text)?)
    }

    /// Writes that something had to give way.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn alarm(&mut self, at_ns: u64, what: &str) -> Result<(), Error> {
        self.write(self.alarm, &[Value::unsigned(at_ns), Value::Text(what.into())])
    }

    /// Writes how many records of traced points were made, and what became of them.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn account(&mut self, node: u32, subsystem: &str, [made, received, dropped]: [u64; 3]) -> Result<(), Error> {
        let values = [
            Value::unsigned(node),
            Value::Text(subsystem.into()),
            Value::unsigned(made),
            Value::unsigned(received),
            Value::unsigned(dropped),
        ];
        self.write(self.account, &values)
    }

    /// Ends the file. Returns the data that belong into the text beside the file.
    ///
    /// # Errors
    /// Those of the writer that it is given.
    pub fn finish(self) -> Result<(W, Info), Error> {
        Ok((self.out.finish()?, Info { head: self.head, types: self.types }))
    }
}

fn alarm_type() -> RecordType {
    let fields = vec![Field::integer("at_ns", "ns", "when, on the monotonic clock"), Field::text("what", "in words")];
    RecordType { name: "Alarm".into(), attributes: Vec::new(), fields }
}

fn account_type() -> RecordType {
    let fields = vec![
        Field::integer("node", "", "the node's number"),
        Field::text("subsystem", "its name"),
        Field::integer("made", "", "records of traced points that the kernel made"),
        Field::integer("received", "", "those of them that were received"),
        Field::integer("dropped", "", "those of them that found no room in the ring"),
    ];
    RecordType { name: "Trace Account".into(), attributes: Vec::new(), fields }
}

/// Fields that records of all traced points have.
pub(crate) fn trace_fields() -> Vec<Field> {
    vec![
        Field::integer("node", "", "the node's number"),
        Field::integer("start_ns", "ns", "begin, on the monotonic clock"),
        Field::integer("end_ns", "ns", "end, on the monotonic clock"),
        Field::integer("asked", "bytes", "asked for"),
        Field::integer("returned", "bytes", "what came back; below zero for an error"),
        Field::integer("process", "", "the process"),
        Field::integer("thread", "", "its thread"),
        Field::integer("processor", "", "where it ended"),
        Field::integer("weight", "", "stands for so many events"),
    ]
}

fn trace_type(subsystem: &Subsystem, point: &Point, named: &[(&str, u8)]) -> RecordType {
    let mut fields = trace_fields();
    fields.extend(named.iter().map(|(name, argument)| Field::integer(*name, "", format!("argument {argument}"))));
    let attributes = vec![("label".into(), point.label.into())];
    RecordType { name: format!("{} {} Trace", subsystem.title, point.name), attributes, fields }
}

fn summary_type(subsystem: &Subsystem, limits: &GroupLimits) -> RecordType {
    let mut fields = vec![
        Field::integer("node", "", "the node's number"),
        Field::new(
            "source",
            Kind::Text,
            "",
            "bpf: programs in the kernel; proc: counts of /proc, which lack what is -1",
        ),
        Field::integer("start_ns", "ns", "begin of the interval, on the monotonic clock"),
        Field::integer("end_ns", "ns", "its end"),
        Field::integer(
            "weight",
            "",
            "one event in so many was looked at; 0 while the probes were off for the budget's sake",
        ),
        Field::new("cost_cores", Kind::Real, "cores", "what the probes took, by their calibrated prices"),
        Field::integer("dropped", "", "trace records that found no room in the interval"),
        Field::integer("lost", "", "events that could not be followed"),
    ];
    for point in subsystem.points {
        fields.extend(point_fields(point));
    }
    let groups: Vec<String> = (0..N_GROUPS).filter_map(|group| limits.name(group)).collect();
    let attributes = vec![("purpose".into(), subsystem.purpose.into()), ("groups".into(), groups.join("; "))];
    RecordType { name: format!("{} Summary", subsystem.title), attributes, fields }
}

fn point_fields(point: &Point) -> Vec<Field> {
    let name = |part: &str| format!("{}.{part}", point.name);
    let whole =
        |part: &str, unit: &str, meaning: &str| Field::integer(name(part), unit, format!("{}: {meaning}", point.label));
    let many = |part: &str, unit: &str, meaning: &str| {
        Field::new(name(part), Kind::Integers, unit, format!("{}: {meaning}", point.label))
    };
    let real = |part: &str, unit: &str, meaning: &str| {
        Field::new(name(part), Kind::Real, unit, format!("{}: {meaning}", point.label))
    };
    if point.timing == Timing::Spent {
        return vec![many("time_ns", "ns", "time in the interval, by processor")];
    }
    let mut fields = vec![
        whole("count", "", "events that ended in the interval"),
        real("per_sec_60s", "1/s", "events over the last minute"),
        whole("life_count", "", "events since the account began"),
    ];
    if point.timing != Timing::Counted {
        fields.extend([
            whole("time_ns", "ns", "how long they took together"),
            whole("min_ns", "ns", "the shortest"),
            whole("max_ns", "ns", "the longest"),
            real("mean_60s_ns", "ns", "mean over the last minute"),
            real("life_mean_ns", "ns", "mean since the account began"),
            many("ranges", "", "how many took from 2^i ns to twice as long"),
        ]);
    }
    if point.timing == Timing::Followed {
        fields.extend([
            whole("within_ns", "ns", "time of operations within the interval, also of those on their way"),
            whole("busy_ns", "ns", "for how long at least one was on its way"),
            real("concurrency", "", "how many were on their way on average"),
        ]);
    }
    if point.is_sized {
        fields.extend([
            whole("asked", "bytes", "asked for"),
            whole("returned", "bytes", "returned"),
            many("group_counts", "", "events by size group"),
            many("group_times_ns", "ns", "their time by size group"),
            many("group_asked", "bytes", "asked for, by size group"),
            many("group_returned", "bytes", "returned, by size group"),
        ]);
    }
    fields
}

fn known(number: Option<u64>) -> Value {
    Value::Integer(number.map_or(-1, u64::cast_signed))
}

fn known_real(number: Option<f64>) -> Value {
    Value::Real(number.unwrap_or(-1.0))
}

fn summary_values(pulled: &Pulled) -> Vec<Value> {
    let summary = &pulled.summary;
    let weight = match pulled.measure {
        Measure::Weight(weight) => i64::from(weight),
        Measure::Shed => 0,
    };
    let lost: u64 = summary.lost.values().sum();
    let mut values = vec![
        Value::unsigned(pulled.key.node),
        Value::Text(pulled.source.into()),
        Value::unsigned(summary.start_ns),
        Value::unsigned(summary.end_ns),
        Value::Integer(weight),
        Value::Real(pulled.cost.cores()),
        Value::unsigned(summary.records_dropped),
        Value::unsigned(lost.saturating_sub(summary.records_dropped)),
    ];
    for (point, summary) in summary.subsystem.points.iter().zip(&summary.points) {
        values.extend(point_values(point, summary));
    }
    values
}

fn point_values(point: &Point, summary: &PointSummary) -> Vec<Value> {
    let all = &summary.all;
    let by_group = |figure: fn(&Figures) -> Option<u64>, n: usize| {
        let number = |group| summary.groups.get(&group).and_then(figure).unwrap_or(0).cast_signed();
        Value::Integers((0..n).map(number).collect())
    };
    if point.timing == Timing::Spent {
        let n = summary.groups.keys().max().map_or(0, |last| last + 1);
        return vec![by_group(|figures| figures.time_ns, n)];
    }
    let mut values = vec![known(all.count), known_real(all.sliding_per_sec), known(all.life_count)];
    if point.timing != Timing::Counted {
        let ranges = all.ranges.map(|ranges| ranges.iter().map(|n| i64::from(*n)).collect()).unwrap_or_default();
        values.extend([
            known(all.time_ns),
            known(all.min_ns),
            known(all.max_ns),
            known_real(all.sliding_mean_ns),
            known_real(all.life_mean_ns),
            Value::Integers(ranges),
        ]);
    }
    if point.timing == Timing::Followed {
        values.extend([known(summary.within_ns), known(summary.busy_ns), known_real(summary.concurrency)]);
    }
    if point.is_sized {
        values.extend([
            known(all.asked),
            known(all.returned),
            by_group(|figures| figures.count, N_GROUPS),
            by_group(|figures| figures.time_ns, N_GROUPS),
            by_group(|figures| figures.asked, N_GROUPS),
            by_group(|figures| figures.returned, N_GROUPS),
        ]);
    }
    values
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::watch::Key;
    use crate::{FromProc, Price, Watch};

    #[test]
    fn every_subsystem_has_summaries_that_suit_their_type() {
        let mut watch = Watch::new();
        for subsystem in crate::all() {
            let arm = Box::new(FromProc::new(Path::new("/proc"), subsystem));
            watch.add(Key { node: 3, name: subsystem.name }, subsystem, arm, Price::default()).unwrap();
        }
        let head = vec![("HostName".to_owned(), "here".to_owned())];
        let mut recorder = Recorder::new(Format::Own, Vec::new(), head, GroupLimits::default()).unwrap();
        for pulled in watch.pull().unwrap() {
            recorder.summary(&pulled).unwrap();
        }
        recorder.trace(3, &Traced { subsystem: crate::all()[1], point: 0, returned: -5, ..Traced::default() }).unwrap();
        recorder.account(3, "fs", [5, 3, 2]).unwrap();
        let (file, info) = recorder.finish().unwrap();
        assert!(record::read(&file[..]).unwrap().all(|item| item.is_ok()));
        let text = info.text();
        assert!(text.starts_with("HostName: here\n") && text.contains("Record: VM Summary\nCount: 1\n"), "{text}");
    }
}
