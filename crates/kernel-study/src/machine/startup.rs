//! Messages until a program under MPI is up, against its ranks.

use picture::Scale;
use statistics::Line;
use text::figure::{number, span_ns};

use crate::answer::names;
use crate::{Answer, Lines};

/// A start that was watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Startup {
    /// The MPI library, and by what its ranks talk.
    pub library: String,
    /// How many ranks.
    pub n_ranks: u64,
    /// Messages through sockets, of the launcher and all ranks, until all ranks were there.
    pub n_messages: u64,
    /// What was in them.
    pub n_bytes: u64,
    /// From the start of the launcher until all ranks were there.
    pub took_ns: u64,
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
