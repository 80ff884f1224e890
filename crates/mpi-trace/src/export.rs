//! A timeline in formats of others: CSV for models of the application, JSON, and the trace events that Perfetto and
//! Chrome show.

use std::io::{self, Write};

use serde::Serialize;
use units::Rank;

use crate::{Matching, Operation, Peer, Placed, Subject, Timeline, Waits};

/// Writes `docs/formats/communication-trace.md`.
///
/// # Errors
/// If it cannot be written.
pub fn write_csv(timeline: &Timeline, mut to: impl Write) -> io::Result<()> {
    writeln!(to, "rank,start_ns,end_ns,call,peer,size_bytes")?;
    for (operation, row) in timeline.rows() {
        let peer = row.peer.map_or_else(String::new, |peer| peer.to_string());
        let call = name_in_csv(operation);
        writeln!(to, "{},{},{},{call},{peer},{}", row.rank, row.start_ns, row.end_ns, row.size_bytes)?;
    }
    to.flush()
}

/// Returns an operation's name in the CSV: `MPI_Mrecv` is a receive like others to a model, and has no name of its own
/// there.
fn name_in_csv(operation: Operation) -> &'static str {
    match operation {
        Operation::MRECV => Operation::RECV.name(),
        Operation::IMRECV => Operation::IRECV.name(),
        _ => operation.name(),
    }
}

#[derive(Serialize)]
struct Process<'a> {
    rank: Rank,
    host: &'a str,
    pid: u32,
    program: &'a str,
    library: &'a str,
    n_lost: u64,
}

#[derive(Serialize)]
struct Called<'a> {
    rank: Rank,
    thread: u32,
    start_ns: u64,
    end_ns: u64,
    call: &'a str,
    communicator: u32,
    /// Rank in `MPI_COMM_WORLD`; `"any"` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Whom>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<i32>,
    size_bytes: u64,
    is_failed: bool,
    /// Whether the call before it did this too.
    is_part: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Whom {
    Rank(Rank),
    Word(&'static str),
}

#[derive(Serialize)]
struct Staged<'a> {
    rank: Rank,
    start_ns: u64,
    end_ns: u64,
    call: &'a str,
    collector: u16,
    sequence: u32,
    size_bytes: u64,
}

#[derive(Serialize)]
struct Waited {
    rank: Rank,
    waited_for: Rank,
    span_ns: u64,
}

/// Writes one JSON object: `ranks`, `calls`, `stages`, `messages` (positions in `calls`), `waits`;
/// `docs/formats/cli.md`.
///
/// # Errors
/// If it cannot be written.
pub fn write_json(timeline: &Timeline, mut to: impl Write) -> io::Result<()> {
    let matching = Matching::of(timeline);
    let Waits { span_ns, .. } = matching.waits(timeline);
    writeln!(to, "{{\"n_ranks\":{},\"error_ns\":{},", timeline.n_ranks(), timeline.error_ns())?;
    let ranks = timeline.recordings().map(|recording| {
        let head = &recording.head;
        let n_lost = recording.rings.iter().map(|recorded| recorded.n_lost).sum();
        let (host, program, library) = (&head.host, &head.program, &head.library);
        Process { rank: head.rank, host, pid: head.pid, program, library, n_lost }
    });
    write_list("ranks", ranks, &mut to)?;
    writeln!(to, ",")?;
    write_list("calls", timeline.calls().iter().filter_map(|call| called(timeline, call)), &mut to)?;
    writeln!(to, ",")?;
    write_list("stages", timeline.stages().filter_map(|stage| staged(&stage)), &mut to)?;
    writeln!(to, ",")?;
    write_list("messages", matching.messages.iter().map(|message| [message.send, message.receive]), &mut to)?;
    writeln!(to, ",")?;
    let waits = span_ns.into_iter().map(|((rank, waited_for), span_ns)| Waited { rank, waited_for, span_ns });
    write_list("waits", waits, &mut to)?;
    writeln!(to, "}}")?;
    to.flush()
}

fn write_list(name: &str, values: impl Iterator<Item = impl Serialize>, to: &mut impl Write) -> io::Result<()> {
    write!(to, "\"{name}\":[")?;
    for (at, value) in values.enumerate() {
        to.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *to, &value)?;
    }
    write!(to, "]")
}

fn called<'a>(timeline: &Timeline, placed: &Placed) -> Option<Called<'a>> {
    let (Subject::Call { communicator, peer, tag } | Subject::Part { communicator, peer, tag }) = placed.event.subject
    else {
        return None;
    };
    let peer = match peer {
        Peer::None => None,
        Peer::Any => Some(Whom::Word("any")),
        Peer::Null => Some(Whom::Word("null")),
        Peer::Rank(_) => timeline.peer(placed).map(Whom::Rank),
    };
    let &Placed { rank, thread, start_ns, end_ns, event } = placed;
    let (call, size_bytes, is_failed) = (event.operation.name(), event.bytes, event.is_failed);
    let is_part = event.is_part();
    Some(Called { rank, thread, start_ns, end_ns, call, communicator, peer, tag, size_bytes, is_failed, is_part })
}

fn staged<'a>(placed: &Placed) -> Option<Staged<'a>> {
    let Subject::Stage { collector, sequence } = placed.event.subject else { return None };
    let &Placed { rank, start_ns, end_ns, event, .. } = placed;
    let (call, size_bytes) = (event.operation.name(), event.bytes);
    Some(Staged { rank, start_ns, end_ns, call, collector, sequence, size_bytes })
}

/// An event of the Trace Event Format. Times are in microseconds.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    cat: &'a str,
    ph: &'a str,
    pid: Rank,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<serde_json::Value>,
}

/// Writes the JSON that `ui.perfetto.dev` and `chrome://tracing` open: a process for each rank, a track for each of its
/// threads and one for its stages in trees, an arrow for each message. Times start at the first call.
///
/// # Errors
/// If it cannot be written.
pub fn write_perfetto(timeline: &Timeline, mut to: impl Write) -> io::Result<()> {
    let origin = timeline.calls().iter().map(|call| call.start_ns).min().unwrap_or(0);
    let us = |ns: u64| Some(ns.saturating_sub(origin) as f64 / 1e3);
    let calls = timeline.calls();
    let names = timeline.recordings().map(|recording| {
        let name = format!("rank {} on {}", recording.head.rank, recording.head.host);
        shown("process_name", "", "M", recording.head.rank, 0).with(serde_json::json!({ "name": name }))
    });
    let slices = calls.iter().filter(|call| !call.event.is_part()).filter_map(|call| {
        let args = serde_json::to_value(called(timeline, call)?).ok()?;
        let family = family_name(call.event.operation);
        let slice = shown(call.event.operation.name(), family, "X", call.rank, call.thread).with(args);
        Some(Shown { ts: us(call.start_ns), dur: Some(call.span_ns() as f64 / 1e3), ..slice })
    });
    let stages = timeline.stages().filter_map(|stage| {
        let staged = staged(&stage)?;
        // Stages overlap: each collector has a track of its own, after those of the threads.
        let track = STAGE_TRACKS + u32::from(staged.collector);
        let slice = shown(staged.call, "stage", "X", stage.rank, track).with(serde_json::to_value(&staged).ok()?);
        Some(Shown { ts: us(stage.start_ns), dur: Some(stage.span_ns() as f64 / 1e3), ..slice })
    });
    let matching = Matching::of(timeline);
    let arrows = matching.messages.iter().enumerate().flat_map(|(id, message)| {
        let (send, receive) = (&calls[message.send], &calls[message.receive]);
        let begin = shown("message", "message", "s", send.rank, send.thread);
        let end = shown("message", "message", "f", receive.rank, receive.thread);
        // An arrow ends within the slice that it points at, and not before it began.
        let at_ns = receive.end_ns.max(send.start_ns);
        [
            Shown { ts: us(send.start_ns), id: Some(id), ..begin },
            Shown { ts: us(at_ns), id: Some(id), bp: Some("e"), ..end },
        ]
    });
    write!(to, "{{\"displayTimeUnit\":\"ns\",")?;
    write_list("traceEvents", names.chain(slices).chain(stages).chain(arrows), &mut to)?;
    writeln!(to, "}}")?;
    to.flush()
}

/// First number of the tracks of stages: no process has as many threads that call MPI.
const STAGE_TRACKS: u32 = 1 << 20;

fn shown<'a>(name: &'a str, cat: &'a str, ph: &'a str, pid: Rank, tid: u32) -> Shown<'a> {
    Shown { name, cat, ph, pid, tid, ts: None, dur: None, id: None, bp: None, args: None }
}

impl Shown<'_> {
    fn with(self, args: serde_json::Value) -> Self {
        Self { args: Some(args), ..self }
    }
}

fn family_name(operation: Operation) -> &'static str {
    use crate::Family::{
        Barrier, Collective, Communicator, Exchange, File, Life, OneSided, Receive, Request, Send, Wait,
    };
    match operation.family() {
        Life => "life",
        Send => "send",
        Receive => "receive",
        Exchange => "exchange",
        Wait => "wait",
        Request => "request",
        Barrier => "barrier",
        Collective => "collective",
        Communicator => "communicator",
        OneSided => "one-sided",
        File => "file",
    }
}
