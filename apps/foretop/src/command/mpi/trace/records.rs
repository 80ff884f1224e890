//! A trace as a file of records, which merges with what was measured of the kernel: `foretop kernel merge`.

use std::collections::BTreeMap;
use std::io::Write;

use mpi_trace::{Matching, Placed, Subject, Timeline};
use record::{Error, Field, Kind, RecordType, Value, Writer};
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

fn whole(name: &str, unit: &str, meaning: &str) -> Field {
    Field::new(name, Kind::Integer, unit, meaning)
}

fn call_type() -> RecordType {
    let fields = vec![
        whole("rank", "", "in MPI_COMM_WORLD"),
        Field::new("host", Kind::Text, "", "where the rank ran"),
        whole("thread", "", "of the rank, from 0"),
        whole("start_ns", "ns", "begin, on the monotonic clock of rank 0's host"),
        whole("end_ns", "ns", "end"),
        Field::new("call", Kind::Text, "", "the function"),
        whole("communicator", "", "as the rank counts them, 0 for MPI_COMM_WORLD; -1 for none"),
        whole("peer", "", "a rank of MPI_COMM_WORLD; -1 for none, any or MPI_PROC_NULL"),
        whole("tag", "", "of the message; -1 for none"),
        whole("size_bytes", "bytes", "of one message"),
        whole("is_failed", "", "1 if it gave an error"),
        whole("is_part", "", "1 if the call before it did this too"),
    ];
    RecordType { name: "MPI Call".into(), attributes: Vec::new(), fields }
}

fn message_type() -> RecordType {
    let fields = vec![
        whole("from", "", "the rank that sent it"),
        whole("to", "", "the rank that received it"),
        whole("start_ns", "ns", "begin of the send, on the monotonic clock of rank 0's host"),
        whole("end_ns", "ns", "end of the receive"),
        whole("send_ns", "ns", "how long the call that sent it took"),
        whole("receive_ns", "ns", "how long the call that received it took, waiting included"),
        whole("size_bytes", "bytes", "what was sent"),
    ];
    RecordType { name: "MPI Message".into(), attributes: Vec::new(), fields }
}

fn large(number: u64) -> Value {
    Value::Integer(number.cast_signed())
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
        known(Some(placed.rank)),
        Value::Text(host.into()),
        known(Some(placed.thread)),
        large(placed.start_ns),
        large(placed.end_ns),
        Value::Text(event.operation.name().into()),
        known(placed.communicator_and_peer().map(|(communicator, _)| communicator)),
        known(timeline.peer(placed)),
        known(tag),
        large(event.bytes),
        Value::Integer(i64::from(event.is_failed)),
        Value::Integer(i64::from(event.is_part())),
    ]
}

fn message_values(send: &Placed, receive: &Placed) -> Vec<Value> {
    vec![
        known(Some(send.rank)),
        known(Some(receive.rank)),
        large(send.start_ns),
        large(receive.end_ns),
        large(send.end_ns - send.start_ns),
        large(receive.end_ns - receive.start_ns),
        large(send.event.bytes),
    ]
}
