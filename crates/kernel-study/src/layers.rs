//! An operation of a program beside the parts that layers below served it in: where its time went, and who was slow.

use record::{Items, Value};
use record_view::{Error, rows};

/// Time from a moment to a later one, on one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Its begin.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// A part of an operation that a layer below served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The server: a node, a device, a thread.
    pub server: u64,
    /// Time of the part.
    pub span: Span,
    /// Amount that was moved.
    pub n_bytes: u64,
}

/// Division of the time of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Time until the first part began.
    pub start_ns: u64,
    /// Time while at least one part was on its way.
    pub busy_ns: u64,
    /// Time while none was, between the first and the last.
    pub between_ns: u64,
    /// Time after the last part had ended.
    pub stop_ns: u64,
}

/// Work of one of those that serve parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    /// The server.
    pub server: u64,
    /// Bytes in all its parts.
    pub n_bytes: u64,
    /// Time while it had a part at least.
    pub busy_ns: u64,
}

impl Span {
    /// Its length.
    #[must_use]
    pub fn length_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl Layers {
    /// The whole.
    #[must_use]
    pub fn total_ns(self) -> u64 {
        self.start_ns + self.busy_ns + self.between_ns + self.stop_ns
    }
}

impl Server {
    /// Bytes for each second that it was busy.
    #[must_use]
    pub fn bytes_per_sec(self) -> f64 {
        self.n_bytes as f64 / (self.busy_ns.max(1) as f64 / 1e9)
    }
}

/// The operation that begins with this event of the `sort-trace` and ends with the next one.
///
/// # Errors
/// Where the file is damaged or has no such records.
pub fn operation(items: Items<'_>, event: &str) -> Result<Option<Span>, Error> {
    let rows = rows(items, "sort-trace", &["at_ns", "event"])?;
    let found = rows.windows(2).find(|pair| matches!(&pair[0][1], Value::Text(text) if text == event));
    Ok(found.map(|pair| Span { start_ns: whole(&pair[0][0]), end_ns: whole(&pair[1][0]) }))
}

/// The records of this type as parts, served by whoever the field says.
///
/// # Errors
/// Where the file is damaged or has no such records.
pub fn parts(items: Items<'_>, record: &str, server: &str) -> Result<Vec<Part>, Error> {
    let rows = rows(items, record, &[server, "start_ns", "end_ns", "returned"])?;
    let part = |row: &Vec<Value>| Part {
        server: whole(&row[0]),
        span: Span { start_ns: whole(&row[1]), end_ns: whole(&row[2]) },
        n_bytes: whole(&row[3]),
    };
    Ok(rows.iter().map(part).collect())
}

pub(crate) fn whole(value: &Value) -> u64 {
    value.number().unwrap_or(0.0).max(0.0) as u64
}

/// Takes an operation apart by those of the parts that lie within it; nothing where there are none.
#[must_use]
pub fn layers(operation: Span, parts: &[Part]) -> Option<Layers> {
    let spans = within(operation, parts).map(|part| part.span);
    let joined = union(spans.collect());
    let (first, last) = (joined.first()?, joined.last()?);
    let busy_ns = joined.iter().map(|span| span.length_ns()).sum();
    Some(Layers {
        start_ns: first.start_ns - operation.start_ns,
        busy_ns,
        between_ns: last.end_ns - first.start_ns - busy_ns,
        stop_ns: operation.end_ns - last.end_ns,
    })
}

/// Returns the work of each server within an operation, in the order of the servers' numbers.
#[must_use]
pub fn servers(operation: Span, parts: &[Part]) -> Vec<Server> {
    let mut found: Vec<u64> = within(operation, parts).map(|part| part.server).collect();
    found.sort_unstable();
    found.dedup();
    let of = |server| {
        let own = || within(operation, parts).filter(move |part| part.server == server);
        let busy_ns = union(own().map(|part| part.span).collect()).iter().map(|span| span.length_ns()).sum();
        Server { server, n_bytes: own().map(|part| part.n_bytes).sum(), busy_ns }
    };
    found.into_iter().map(of).collect()
}

/// Servers whose speeds differ by more than this are unlike; the report's two disks differ by 1.2 in writes, which it
/// calls the same.
const UNLIKE: f64 = 1.5;

/// The slowest server and by what the fastest is faster, where that is too much for servers that are meant to be alike.
#[must_use]
pub fn unlike(servers: &[Server]) -> Option<(u64, f64)> {
    let by_speed = |a: &&Server, b: &&Server| a.bytes_per_sec().total_cmp(&b.bytes_per_sec());
    let (slow, fast) = (servers.iter().min_by(by_speed)?, servers.iter().max_by(by_speed)?);
    let ratio = fast.bytes_per_sec() / slow.bytes_per_sec();
    (ratio > UNLIKE).then_some((slow.server, ratio))
}

fn within(operation: Span, parts: &[Part]) -> impl Iterator<Item = &Part> {
    parts.iter().filter(move |part| part.span.start_ns >= operation.start_ns && part.span.end_ns <= operation.end_ns)
}

/// Spans that overlap as one.
fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(span.end_ns),
            _ => joined.push(span),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(server: u64, start_ns: u64, end_ns: u64) -> Part {
        Part { server, span: Span { start_ns, end_ns }, n_bytes: 100 }
    }

    #[test]
    fn the_shares_of_an_operation_add_up_to_it() {
        let operation = Span { start_ns: 10, end_ns: 100 };
        // Two that overlap, one inside of another, and one before the operation that is none of its.
        let parts = [part(1, 15, 30), part(2, 20, 40), part(1, 50, 80), part(2, 55, 60), part(3, 1, 9)];
        let found = layers(operation, &parts).unwrap();
        assert_eq!(found, Layers { start_ns: 5, busy_ns: 55, between_ns: 10, stop_ns: 20 });
        assert_eq!(found.total_ns(), operation.length_ns());
        assert_eq!(layers(operation, &parts[4..]), None);
    }

    #[test]
    fn a_server_is_slow_beside_others_only() {
        let operation = Span { start_ns: 0, end_ns: 1000 };
        let found = servers(operation, &[part(1, 0, 100), part(1, 200, 300), part(2, 0, 400), part(2, 400, 800)]);
        assert_eq!(found[1], Server { server: 2, n_bytes: 200, busy_ns: 800 });
        assert_eq!(unlike(&found), Some((2, 4.0)));
        assert_eq!(unlike(&found[..1]), None);
    }
}
