//! Operations that are served by two devices: where their time goes, and whether one of the two is slow.

use crate::answer::names;
use crate::{Answer, Part, Span, layers, servers, unlike};

/// An operation, and the parts that layers below served it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// `read` or `write`.
    pub what: &'static str,
    /// The whole.
    pub span: Span,
    /// Servers are two, by ascending numbers.
    pub parts: Vec<Part>,
}

const MIB: f64 = 1024.0 * 1024.0;

/// Each operation in four shares, and the speed of each server while it was busy.
#[must_use]
pub fn served(title: &str, conditions: String, all: &[Served], called: [&str; 2]) -> Answer {
    let seconds = |ns: u64| format!("{:.3}", ns as f64 / 1e9);
    let row = |one: &Served| {
        let shares = layers(one.span, &one.parts).unwrap_or_default();
        let mut row = vec![one.what.to_owned()];
        row.extend(
            [shares.start_ns, shares.busy_ns, shares.between_ns, shares.stop_ns, shares.total_ns()].map(seconds),
        );
        let mut speeds = servers(one.span, &one.parts).into_iter().map(|server| server.bytes_per_sec() / MIB);
        row.extend(called.map(|_| speeds.next().map_or_else(String::new, |speed| format!("{speed:.2}"))));
        row
    };
    let verdict = |one: &Served| {
        let found = servers(one.span, &one.parts);
        match unlike(&found) {
            Some((slow, ratio)) => {
                let name =
                    found.iter().zip(called).find(|(server, _)| server.server == slow).map_or("one", |(_, name)| name);
                format!("{name} is slow in {}s, by a factor of {ratio:.2}", one.what)
            }
            None => format!("{} and {} are alike in {}s", called[0], called[1], one.what),
        }
    };
    Answer {
        title: title.to_owned(),
        conditions: format!("{conditions}; seconds, and MiB/s of each while it was busy"),
        columns: names(&["", "start", "I/O", "between", "stop", "all", called[0], called[1]]),
        rows: all.iter().map(row).collect(),
        verdict: all.iter().map(verdict).collect::<Vec<_>>().join("; "),
        pictures: Vec::new(),
    }
}
