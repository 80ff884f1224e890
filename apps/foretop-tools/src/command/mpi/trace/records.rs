//! A trace as a file of records, which merges with what was measured of the kernel: `foretop kernel merge`.

use std::collections::BTreeMap;
use std::io::Write;

use mpi_trace::{Matching, Placed, Subject, Timeline};
use record::{Error, Field, RecordType, Value, Writer};
use units::Rank;

/// Writes all calls and all messages in the order of their begin, in the own format.
pub fn write(timeline: &Timeline, to: &mut dyn Write) -> Result<(), Error> {
    let mut writer = Writer::new(to)?;
    for (name, text) in attributes(timeline) {
        writer.attribute(name, &text)?;
    }
    let (call, message) = (writer.define(call_type())?, writer.define(message_type())?);
    let calls = timeline.calls();
    let matching = Matching::of(timeline);
    let hosts: BTreeMap<Rank, &str> =
        timeline.recordings().map(|recording| (recording.head.rank, recording.head.host.as_str())).collect();
    let values = |placed: &Placed| call_values(timeline, placed, hosts.get(&placed.rank).copied().unwrap_or_default());
    let mut all: Vec<(u64, usize, Vec<Value>)> =
        calls.iter().map(|placed| (placed.start_ns, call, values(placed))).collect();
    all.extend(matching.messages.iter().map(|pair| {
        let (send, receive) = (&calls[pair.send], &calls[pair.receive]);
        (send.start_ns, message, message_values(send, receive))
    }));
    all.sort_by_key(|(at_ns, ..)| *at_ns);
    for (_, of, values) in all {
        writer.record(of, &values)?;
    }
    writer.finish().map(drop)
}

fn attributes(timeline: &Timeline) -> Vec<(&'static str, String)> {
    let mut attributes = vec![
        ("Instrument", format!("foretop mpi trace {}", env!("CARGO_PKG_VERSION"))),
        ("NumRanks", timeline.n_ranks().to_string()),
        ("ClockBetweenHostsBound_ns", timeline.error_ns().to_string()),
    ];
    if let Some(first) = timeline.recordings().next() {
        let head = &first.head;
        attributes.extend([
            ("HostName", head.host.clone()),
            ("Program", head.program.clone()),
            ("Library", head.library.clone()),
        ]);
    }
    attributes
}

fn call_type() -> RecordType {
    let fields = vec![
        Field::integer("rank", "", "in MPI_COMM_WORLD"),
        Field::text("host", "where the rank ran"),
        Field::integer("thread", "", "of the rank, from 0"),
        Field::integer("start_ns", "ns", "begin, on the monotonic clock of rank 0's host"),
        Field::integer("end_ns", "ns", "end"),
        Field::text("call", "the function"),
        Field::integer("communicator", "", "as the rank counts them, 0 for MPI_COMM_WORLD; -1 for none"),
        Field::integer("peer", "", "a rank of MPI_COMM_WORLD; -1 for none, any or MPI_PROC_NULL"),
        Field::integer("tag", "", "of the message; -1 for none"),
        Field::integer("size_bytes", "bytes", "of one message"),
        Field::integer("is_failed", "", "1 if it gave an error"),
        Field::integer("is_part", "", "1 if the call before it did this too"),
    ];
    RecordType { name: "MPI Call".into(), attributes: Vec::new(), fields }
}

fn message_type() -> RecordType {
    let fields = vec![
        Field::integer("from", "", "the rank that sent it"),
        Field::integer("to", "", "the rank that received it"),
        Field::integer("start_ns", "ns", "begin of the send, on the monotonic clock of rank 0's host"),
        Field::integer("end_ns", "ns", "end of the receive"),
        Field::integer("send_ns", "ns", "how long the call that sent it took"),
        Field::integer("receive_ns", "ns", "how long the call that received it took, waiting included"),
        Field::integer("size_bytes", "bytes", "what was sent"),
    ];
    RecordType { name: "MPI Message".into(), attributes: Vec::new(), fields }
}

fn known(number: Option<impl Into<i64>>) -> Value {
    Value::Integer(number.map_or(-1, Into::into))
}

fn call_values(timeline: &Timeline, placed: &Placed, host: &str) -> Vec<Value> {
    let event = &placed.event;
    let tag = match event.subject {
        Subject::Call { tag, .. } | Subject::Part { tag, .. } => tag,
        Subject::Stage { .. } => None,
    };
    vec![
        Value::unsigned(placed.rank),
        Value::text(host),
        Value::unsigned(placed.thread),
        Value::unsigned(placed.start_ns),
        Value::unsigned(placed.end_ns),
        Value::text(event.operation.name()),
        known(placed.communicator_and_peer().map(|(communicator, _)| communicator)),
        known(timeline.peer(placed)),
        known(tag),
        Value::unsigned(event.bytes),
        Value::unsigned(event.is_failed),
        Value::unsigned(event.is_part()),
    ]
}

fn message_values(send: &Placed, receive: &Placed) -> Vec<Value> {
    vec![
        Value::unsigned(send.rank),
        Value::unsigned(receive.rank),
        Value::unsigned(send.start_ns),
        Value::unsigned(receive.end_ns),
        Value::unsigned(send.end_ns - send.start_ns),
        Value::unsigned(receive.end_ns - receive.start_ns),
        Value::unsigned(send.event.bytes),
    ]
}
