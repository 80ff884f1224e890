//! Texts that traces are read from: Foretop's own, Longcut's, and what `ping` prints.

use units::Bandwidth;

use super::Trace;

/// The first line of Foretop's own format.
pub(super) const HEADER: &str = "t_ns,latency_ns,rate_bits_per_sec";
/// Time between two lines of `ping` unless it was set otherwise: the moments of lines that have none.
const PING_STEP_NS: u64 = 1_000_000_000;

/// The reason why a text is no trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A link that never delivers is not meant.
    #[error("the trace has no latency, or lasts for no time: it needs at least one line, and opportunities after 0 ms")]
    Empty,
    /// Not a line of its format.
    #[error("line {line} of the trace is `{given}`, and should be {needed}")]
    Row {
        /// Number of the line, from 1.
        line: usize,
        /// The line.
        given: String,
        /// The form that the line should have.
        needed: &'static str,
    },
    /// Moments must ascend.
    #[error("the trace goes from {before_ns} ns to {at_ns} ns: each moment must be after the one before it")]
    Order {
        /// The moment before.
        before_ns: u64,
        /// The moment that should be later.
        at_ns: u64,
    },
    /// Nothing can be drawn from this.
    #[error(
        "a mean of {mean} and a standard deviation of {deviation}: the mean must be above 0, the deviation not below, both finite"
    )]
    Spread {
        /// The mean as given.
        mean: f64,
        /// The deviation as given.
        deviation: f64,
    },
}

/// Moments and values of a line: a latency in nanoseconds, and perhaps a rate in bits per second.
struct Row {
    latency: Option<(u64, u64)>,
    rate: Option<(u64, u64)>,
}

impl Trace {
    /// Reads Foretop's own format, `docs/formats/link-trace.md`.
    ///
    /// # Errors
    /// [`TraceError`] with the line that is wrong.
    pub fn read(text: &str) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty() && !row.starts_with('#'));
        if let Some((line, given)) = lines.next().filter(|(_, header)| header.trim() != HEADER) {
            return Err(TraceError::Row { line, given: given.to_owned(), needed: HEADER });
        }
        let row = |row: &str| {
            let mut cells = row.split(',').map(str::trim);
            let at: u64 = cells.next()?.parse().ok()?;
            let value = |cell: Option<&str>| match cell? {
                "" => Some(None),
                digits => digits.parse().ok().map(|value: u64| Some((at, value))),
            };
            let (latency, rate) = (value(cells.next())?, value(cells.next())?);
            let is_whole = cells.next().is_none() && rate.is_none_or(|(_, rate)| rate > 0);
            is_whole.then_some(Row { latency, rate })
        };
        let needed = "a moment, a latency or nothing, and a rate above 0 or nothing, in whole ns, ns and bit/s";
        collect(lines, row, needed)
    }

    /// Reads lines as Longcut's published traces have them: a number, the stamp of the latency, the two-way latency
    /// in milliseconds, the stamp of the bandwidth, the bandwidth in Mbit/s; or the first three with one `bandwidth`
    /// for all. Stamps count cycles of a clock of
    /// `cycles_per_sec`. One way is taken to be half of two.
    ///
    /// # Errors
    /// [`TraceError`] with the line that is wrong.
    pub fn read_longcut(text: &str, cycles_per_sec: u64, bandwidth: Option<Bandwidth>) -> Result<Self, TraceError> {
        let ns = |stamp: &str| {
            let ns = u128::from(stamp.parse::<u64>().ok()?) * 1_000_000_000 / u128::from(cycles_per_sec);
            u64::try_from(ns).ok()
        };
        let row = |row: &str| {
            let cells: Vec<&str> =
                row.split(|c: char| c == ',' || c.is_whitespace()).filter(|cell| !cell.is_empty()).collect();
            let (latency, rate) = match cells[..] {
                [_, at, latency, rate_at, rate] if bandwidth.is_none() => {
                    let rate = rate.parse().ok().filter(|rate: &f64| *rate > 0.0 && rate.is_finite())?;
                    (one_way(ns(at)?, latency)?, Some((ns(rate_at)?, (rate * 1e6).round() as u64)))
                }
                [_, at, latency] if bandwidth.is_some() => (one_way(ns(at)?, latency)?, None),
                _ => return None,
            };
            Some(Row { latency: Some(latency), rate })
        };
        let needed = "a number, a stamp, milliseconds, and, where no bandwidth is given for all, a stamp and Mbit/s";
        Ok(collect(lines(text), row, needed)?.with_bandwidth(bandwidth))
    }

    /// Reads what `ping` printed: lines with `time=… ms`, at the moments that `ping -D` writes, or one a second.
    /// Other lines are passed over.
    ///
    /// # Errors
    /// [`TraceError`] with the line that is wrong, or when no line has a time.
    pub fn read_ping(text: &str, bandwidth: Option<Bandwidth>) -> Result<Self, TraceError> {
        let answers = lines(text).filter(|(_, row)| row.contains("time="));
        let row = |row: &str| {
            let at = match row.strip_prefix('[') {
                Some(stamp) => (stamp.split_once(']')?.0.parse::<f64>().ok()? * 1e9) as u64,
                None => {
                    let number = row.split_once("icmp_seq=")?.1.split_whitespace().next()?;
                    number.parse::<u64>().ok()?.checked_mul(PING_STEP_NS)?
                }
            };
            let two_way = row.split_once("time=")?.1.strip_suffix(" ms")?;
            Some(Row { latency: Some(one_way(at, two_way)?), rate: None })
        };
        Ok(collect(answers, row, "a line of ping's, with icmp_seq=… and time=… ms")?.with_bandwidth(bandwidth))
    }

    fn with_bandwidth(mut self, bandwidth: Option<Bandwidth>) -> Self {
        self.bandwidth.0.extend(bandwidth.map(|rate| (0, rate.bits_per_sec())));
        self
    }
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty())
}

/// Half of a two-way time in milliseconds, rounded up to a nanosecond.
fn one_way(at: u64, two_way_ms: &str) -> Option<(u64, u64)> {
    let ms = two_way_ms.parse().ok().filter(|ms: &f64| *ms >= 0.0 && ms.is_finite())?;
    Some((at, ((ms * 1e6).round() as u64).div_ceil(2)))
}

/// All rows, with time from the first moment on.
fn collect<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    row: impl Fn(&str) -> Option<Row>,
    needed: &'static str,
) -> Result<Trace, TraceError> {
    let (mut latency, mut bandwidth) = (Vec::new(), Vec::new());
    for (line, text) in lines {
        let row = row(text).ok_or_else(|| TraceError::Row { line, given: text.to_owned(), needed })?;
        latency.extend(row.latency);
        bandwidth.extend(row.rate);
    }
    let first = latency.iter().chain(&bandwidth).map(|(at, _)| *at).min().unwrap_or(0);
    for (at, _) in latency.iter_mut().chain(&mut bandwidth) {
        *at -= first;
    }
    Trace::of_tracks(latency, bandwidth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_format_reads_back() {
        let text = format!("# a link\n{HEADER}\n0,5000000,100000000\n60000000000,,50000000\n60000000001,6000000,\n");
        let trace = Trace::read(&text).unwrap();
        assert_eq!(trace.n_points(), (2, 2));
        assert_eq!(Trace::read(&trace.to_csv()), Ok(trace));
    }

    #[test]
    fn longcuts_lines_have_two_way_times_and_stamps_in_cycles() {
        let trace =
            Trace::read_longcut("1 3200000 36.49 6400000 4.75\n2 6400000 37 9600000 4.5\n", 3_200_000_000, None);
        let trace = trace.unwrap();
        assert_eq!(trace.latency.0, [(0, 18_245_000), (1_000_000, 18_500_000)]);
        assert_eq!(trace.bandwidth.0, [(1_000_000, 4_750_000), (2_000_000, 4_500_000)]);
        let rate = Bandwidth::new(100_000_000);
        let trace = Trace::read_longcut("1, 100, 10\n2, 200, 12\n", 1_000_000_000, rate).unwrap();
        assert_eq!(
            (trace.latency.0, trace.bandwidth.0),
            (vec![(0, 5_000_000), (100, 6_000_000)], vec![(0, 100_000_000)])
        );
    }

    #[test]
    fn what_ping_prints_is_a_trace() {
        let text = "PING a (10.0.0.1) 56(84) bytes of data.\n64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=36.1 ms\n\
                    64 bytes from 10.0.0.1: icmp_seq=3 ttl=64 time=0.043 ms\n\n--- a ping statistics ---\n";
        assert_eq!(Trace::read_ping(text, None).unwrap().latency.0, [(0, 18_050_000), (2_000_000_000, 21_500)]);
        let dated =
            "[1700000000.5] 64 bytes from a: icmp_seq=1 ttl=64 time=2 ms\n[1700000002.0] x: icmp_seq=2 time=4 ms\n";
        assert_eq!(Trace::read_ping(dated, None).unwrap().latency.0, [(0, 1_000_000), (1_500_000_000, 2_000_000)]);
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let line_of = |result: Result<Trace, TraceError>| match result {
            Err(TraceError::Row { line, .. }) => line,
            other => panic!("{other:?}"),
        };
        for row in ["5", "5,1", "5,1,0", "5,-1,", "5,1,2,3", "5,1.5,", "x,1,"] {
            assert_eq!(line_of(Trace::read(&format!("{HEADER}\n0,1,1\n{row}\n"))), 3, "{row}");
        }
        assert_eq!(line_of(Trace::read("0,1,1\n")), 1);
        for row in ["1 2 3 4", "1 2 NaN 4 5", "1 2 3 4 0", "1 2 -3 4 5", "1 2 3"] {
            assert_eq!(line_of(Trace::read_longcut(&format!("1 1 3 3 5\n{row}\n"), 1, None)), 2, "{row}");
        }
        assert_eq!(Trace::read(HEADER), Err(TraceError::Empty));
        let backwards = Trace::read(&format!("{HEADER}\n5,1,1\n5,1,1\n"));
        assert_eq!(backwards, Err(TraceError::Order { before_ns: 0, at_ns: 0 }));
        assert_eq!(Trace::read_ping("PING a\n", None), Err(TraceError::Empty));
    }
}
