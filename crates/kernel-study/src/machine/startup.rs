//! Messages until a program under MPI is up, against its ranks.

use picture::Scale;
use statistics::{Line, median};
use text::figure::{number, span_ns};

use crate::answer::names;
use crate::{Answer, Lines};

/// A start that was watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Startup {
    /// The MPI library, and by what its ranks talk.
    pub library: String,
    /// Number of ranks.
    pub n_ranks: u64,
    /// Messages through sockets, of the launcher and all ranks, until all ranks were there.
    pub n_messages: u64,
    /// Bytes in these messages.
    pub n_bytes: u64,
    /// Time from the start of the launcher until all ranks were there.
    pub took_ns: u64,
    /// Time from opening a file until all ranks had it open, the mean of the ranks, in one run after the other.
    pub opens_ns: Vec<f64>,
}

/// Exponents of N(N-1) and of N are told apart here.
const SQUARE: f64 = 1.5;

/// The table, and by what power of the ranks messages grow.
#[must_use]
pub fn startup(starts: &[Startup], conditions: String) -> Answer {
    let row = |start: &Startup| {
        let pairs = start.n_ranks * (start.n_ranks - 1);
        let by_pair = if pairs > 0 { number(start.n_messages as f64 / pairs as f64) } else { String::new() };
        vec![
            start.library.clone(),
            start.n_ranks.to_string(),
            start.n_messages.to_string(),
            number(start.n_messages as f64 / start.n_ranks as f64),
            by_pair,
            text::figure::format(start.n_bytes as f64, "bytes"),
            span_ns(start.took_ns as f64),
        ]
    };
    let mut libraries: Vec<&str> = starts.iter().map(|start| start.library.as_str()).collect();
    libraries.dedup();
    let points = |library: &str| -> Vec<(f64, f64)> {
        let own = starts.iter().filter(|start| start.library == library);
        own.map(|start| (start.n_ranks as f64, start.n_messages as f64)).collect()
    };
    let verdicts = libraries.iter().map(|library| {
        let exponent = exponent(&points(library));
        let law = match exponent {
            Some(power) if power >= SQUARE => {
                format!("messages grow about as N(N-1), by the power {power:.2} of the ranks")
            }
            Some(power) => format!("messages do not grow as N(N-1), but by the power {power:.2} of the ranks"),
            None => "too few runs to tell".to_owned(),
        };
        format!("{library}: {law}")
    });
    let verdict = verdicts.collect::<Vec<_>>().join("; ");
    let picture = Lines {
        title: "Messages until all ranks are there",
        caption: "through sockets, launcher included",
        x: ("ranks", Scale::Logarithmic),
        y: ("messages", Scale::Logarithmic),
        lines: libraries.iter().map(|library| ((*library).to_owned(), points(library))).collect(),
    };
    Answer {
        title: "Messages of MPI_Init against ranks (section 7.2)".into(),
        conditions,
        columns: names(&[
            "library",
            "ranks",
            "messages",
            "for each rank",
            "for each pair",
            "bytes",
            "until all are there",
        ]),
        rows: starts.iter().map(row).collect(),
        verdict,
        pictures: vec![("startup".into(), picture.picture())],
    }
}

/// Opening a file together, against ranks (table 7-3).
#[must_use]
pub fn opening(starts: &[Startup], conditions: String) -> Answer {
    let found: Vec<(&str, f64, f64)> = starts
        .iter()
        .filter_map(|start| Some((start.library.as_str(), start.n_ranks as f64, median(&start.opens_ns)?)))
        .collect();
    let row = |(library, n_ranks, ns): &(&str, f64, f64)| {
        vec![(*library).to_owned(), n_ranks.to_string(), span_ns(*ns), span_ns(ns / n_ranks)]
    };
    let mut libraries: Vec<&str> = found.iter().map(|(library, ..)| *library).collect();
    libraries.dedup();
    let points = |library: &str| -> Vec<(f64, f64)> {
        found.iter().filter(|one| one.0 == library).map(|(_, n_ranks, ns)| (*n_ranks, ns / 1e6)).collect()
    };
    let verdict = libraries.iter().filter_map(|library| {
        let line = Line::through(points(library).into_iter())?;
        Some(format!("{library}: {:.2} ms for each rank by a straight line, r2 {:.2}", line.slope, line.r_squared))
    });
    let verdict: Vec<String> = verdict.collect();
    let picture = Lines {
        title: "Opening a file in parallel",
        caption: "and waiting until all ranks have it open",
        x: ("ranks", Scale::Whole),
        y: ("ms", Scale::Logarithmic),
        lines: libraries.iter().map(|library| ((*library).to_owned(), points(library))).collect(),
    };
    Answer {
        title: "Opening a file in parallel, here (table 7-3)".into(),
        conditions,
        columns: names(&["library", "ranks", "open and synchronize, median", "for each rank"]),
        rows: found.iter().map(row).collect(),
        verdict: if verdict.is_empty() {
            "too few ranks to tell".into()
        } else {
            verdict.join("; ") + " (published: 137 ms)"
        },
        pictures: vec![("open".into(), picture.picture())],
    }
}

/// The power of the ranks that messages grow by from two ranks on, by least squares of logarithms.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let from_two = points.iter().filter(|(n_ranks, n)| *n_ranks >= 2.0 && *n > 0.0);
    Line::through(from_two.map(|(n_ranks, n)| (n_ranks.ln(), n.ln()))).map(|line| line.slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_ranks_are_told_apart() {
        let start = |library: &str, n_ranks: u64, n_messages| Startup {
            library: library.into(),
            n_ranks,
            n_messages,
            n_bytes: 0,
            took_ns: 0,
            opens_ns: vec![2e6 * n_ranks as f64 + 1e6, 0.0, 1e9],
        };
        let starts: Vec<_> = [2, 4, 8]
            .map(|n| start("a", n, n * (n - 1)))
            .into_iter()
            .chain([2, 4, 8].map(|n| start("b", n, 10 * n)))
            .collect();
        let told = startup(&starts, String::new()).verdict;
        assert!(
            told.contains("a: messages grow about as N(N-1)")
                && told.contains("b: messages do not grow as N(N-1), but by the power 1.00"),
            "{told}"
        );
    }
}
