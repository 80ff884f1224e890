//! `/api/v1/events`: what readers get, and what slow ones do not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use node::Config;
use node_api::ErrorCode::{BadParameter, TooMany};
use node_api::{Health, Hello, Lagged, NodeInfo, TickEvent, Warnings};
use testkit::{PATIENCE, wait_until};

use super::Host;

fn fast() -> Host {
    Host::with(Config { step: Duration::from_millis(20), ..Config::default() }).ready()
}

/// A reader of events that has not read anything yet.
fn subscribe(host: &Host, query: &str) -> TcpStream {
    let mut stream = host.connect();
    write!(stream, "GET /api/v1/events{query} HTTP/1.1\r\nHost: {}\r\n\r\n", host.address()).unwrap();
    stream
}

/// The events of a stream as `(name, data)`; comments, chunk sizes and the head left out.
fn events(stream: TcpStream) -> impl Iterator<Item = (String, String)> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    std::iter::from_fn(move || {
        let name = lines.find_map(|line| line.strip_prefix("event: ").map(str::to_owned))?;
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned))?;
        Some((name, data))
    })
}

fn first_tick(stream: TcpStream) -> TickEvent {
    let (_, tick) = events(stream).find(|(name, _)| name == "tick").unwrap();
    serde_json::from_str(&tick).unwrap()
}

#[test]
fn a_stream_begins_with_hello_health_and_warnings_and_goes_on_with_ticks() {
    let host = fast();
    let mut events = events(subscribe(&host, ""));
    let (name, hello) = events.next().unwrap();
    assert_eq!(name, "hello");
    let about: NodeInfo = serde_json::from_str::<Hello>(&hello).unwrap().node;
    assert!(!about.version.is_empty());
    let (name, health) = events.next().unwrap();
    assert_eq!(name, "health");
    serde_json::from_str::<Health>(&health).unwrap();
    let (name, warnings) = events.next().unwrap();
    assert_eq!(name, "warnings");
    serde_json::from_str::<Warnings>(&warnings).unwrap();
    let mut ticks = events.filter(|(name, _)| name == "tick").map(|(_, tick)| serde_json::from_str::<TickEvent>(&tick));
    let (first, second) = (ticks.next().unwrap().unwrap(), ticks.next().unwrap().unwrap());
    assert!(first.time < second.time, "{first:?} {second:?}");
    assert!(first.values.contains_key("load.1m"), "{first:?}");
}

#[test]
fn a_choice_of_series_and_leads_is_what_comes() {
    let host = fast().with_pushed("trace");
    let stream = subscribe(&host, "?series=trace&series=load.1m&leads=5,1&confidence=0.8");
    let tick = first_tick(stream);
    assert!(tick.values.keys().all(|id| ["trace", "load.1m"].contains(&&**id)), "{tick:?}");
    let pushed = subscribe(&host, "?series=trace&leads=5,1");
    // What is written first reaches the node first, and hello shows that the reader is in. The tick of what was pushed
    // before may still be on its way to it.
    let mut events = events(pushed);
    events.next().unwrap();
    assert_eq!(host.post("/api/v1/series/trace/samples", r#"{"samples":[{"value":0.5}]}"#).status, 200);
    let mut ticks = events.filter(|(name, _)| name == "tick").map(|(_, tick)| {
        let tick: TickEvent = serde_json::from_str(&tick).unwrap();
        assert!(tick.values.keys().map(|id| &**id).eq(["trace"]), "{tick:?}");
        tick
    });
    let tick = ticks.find(|tick| tick.values["trace"] == Some(0.5)).unwrap();
    assert_eq!(tick.forecasts["trace"].leads, [1, 5]);
}

#[test]
fn a_second_band_comes_where_it_is_asked_for_and_lies_within_the_first() {
    let host = fast();
    let with_forecast = |query| {
        let mut ticks = events(subscribe(&host, query)).filter(|(name, _)| name == "tick").map(|(_, tick)| tick);
        ticks.find_map(|tick| {
            let tick: TickEvent = serde_json::from_str(&tick).unwrap();
            tick.forecasts.contains_key("load.1m").then_some(tick)
        })
    };
    let tick = with_forecast("?series=load.1m&leads=1,10&inner=0.5").unwrap();
    let (forecast, band) = (&tick.forecasts["load.1m"], &tick.inner["load.1m"]);
    assert_eq!((band.lower.len(), band.upper.len()), (2, 2), "{tick:?}");
    for at in 0..2 {
        assert!(forecast.lower[at] <= band.lower[at] && band.upper[at] <= forecast.upper[at], "{tick:?}");
    }
    assert!(with_forecast("?series=load.1m&leads=1,10").unwrap().inner.is_empty());
    host.get("/api/v1/events?inner=2").check_refused(400, BadParameter, Some("inner"));
}

#[test]
fn readers_of_the_same_choice_get_the_same_bytes() {
    let host = fast();
    let read = |stream| {
        let mut ticks = events(stream).filter(|(name, _)| name == "tick").map(|(_, tick)| tick);
        ticks.by_ref().take(20).collect::<Vec<_>>()
    };
    let (one, other) = (subscribe(&host, ""), subscribe(&host, "?confidence=0.95"));
    let (one, other) = (read(one), read(other));
    assert!(one.iter().any(|tick| other.contains(tick)), "{one:?} {other:?}");
}

/// Both ends of every connection are files of this process, and 1,024 is what a shell commonly allows.
pub(super) fn allow_more_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[test]
fn five_hundred_readers_that_never_read_hold_nobody_up() {
    allow_more_files();
    let host = fast();
    let silent: Vec<_> = (0..500).map(|_| subscribe(&host, "")).collect();
    let n_readers = || {
        let text = host.get("/metrics").body;
        let line = text.lines().find(|line| line.starts_with("foretop_event_readers ")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
    };
    wait_until("all places for readers are taken", PATIENCE, || (n_readers() == 256).then_some(()));
    // The 257th is told so, and a request that is not for events is answered as ever.
    host.get("/api/v1/events").check_refused(503, TooMany, None);
    for _ in 0..50 {
        assert_eq!(host.get("/api/v1/series").status, 200);
    }
    drop(silent);
    wait_until("the places are free again", PATIENCE, || (n_readers() == 0).then_some(()));
    first_tick(subscribe(&host, ""));
}

#[test]
fn a_reader_that_falls_behind_is_told_how_much_it_missed() {
    let host = fast();
    // Many leads make events of tens of kilobytes, which fill what the kernel keeps for a reader within a few ticks.
    let leads: Vec<_> = (1..=32).map(|lead| lead.to_string()).collect();
    let slow = subscribe(&host, &format!("?leads={}", leads.join(",")));
    let mut prompt = events(subscribe(&host, ""));
    let mut slow = events(slow);
    assert_eq!(slow.next().unwrap().0, "hello");
    for _ in 0..150 {
        prompt.next().unwrap();
    }
    let (_, lagged) = slow.find(|(name, _)| name == "lagged").unwrap();
    assert!(serde_json::from_str::<Lagged>(&lagged).unwrap().missed > 0);
    assert_eq!(slow.find(|(name, _)| name == "tick").map(|(name, _)| name).as_deref(), Some("tick"));
}

#[test]
fn stopping_ends_the_streams_cleanly() {
    let host = fast();
    let mut stream = subscribe(&host, "");
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    host.stop();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n"), "the stream was cut off in the middle");
}
