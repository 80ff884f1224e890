//! Answers that follow from the digits of SESAME's report, by the analyses that go for this machine as well.

use iow::hidden_buffer;
use picture::Scale;
use record::{Items, Value};
use record_view::{Error, rows};
use statistics::Line;
use text::figure::{percent, span_ns};

use crate::answer::names;
use crate::machine::{Served, served};
use crate::{Answer, Exchange, Lines, Message, Part, Span, layers, messages, operation, parts};

const TABLE_7_2: &str = include_str!("../../../testdata/kernel-study/table-7-2.sddf");
const TABLE_7_3: &str = include_str!("../../../testdata/kernel-study/table-7-3.sddf");
const TABLE_7_5: &str = include_str!("../../../testdata/kernel-study/table-7-5.sddf");
const TABLE_7_6: &str = include_str!("../../../testdata/kernel-study/table-7-6.sddf");
const TABLE_7_8: &str = include_str!("../../../testdata/kernel-study/table-7-8.sddf");

const MIB: f64 = 1024.0 * 1024.0;

/// Returns all of these answers.
///
/// # Errors
/// None, as long as the files that are compiled in are whole.
pub fn digits() -> Result<Vec<Answer>, Error> {
    [phase_of_messages, parallel_open, disks_unlike, hidden_cache, swapping]
        .into_iter()
        .map(|answer| answer())
        .collect()
}

fn read(file: &'static str) -> Result<Items<'static>, Error> {
    Ok(record::read(file.as_bytes())?)
}

fn outcome(is_so: bool) -> &'static str {
    if is_so { "as published" } else { "not as published" }
}

fn exchange() -> Result<Exchange, Error> {
    messages(|| read(TABLE_7_2), ["IPC Send Software Trace", "IPC Send Hardware Trace", "IPC Receive Software Trace"])
}

fn phase_of_messages() -> Result<Answer, Error> {
    let exchange = exchange()?;
    let path = exchange.critical_path();
    let row = |(at, message): (usize, &Message)| {
        let device = message.device.unwrap_or_default();
        let us = |ns: u64| (ns / 1000).to_string();
        vec![
            format!("{} {} to {}", char::from(b'A' + at as u8), message.from, message.to),
            us(message.sent.length_ns()),
            us(device.start_ns - message.sent.end_ns),
            us(device.length_ns()),
            us(message.held_ns()),
            us(message.received.length_ns()),
            us(message.end_to_end_ns()),
            if path.contains(&at) { "yes".into() } else { String::new() },
        ]
    };
    let rows = exchange.messages().iter().enumerate().map(row).collect();
    let nodes: Vec<String> = exchange.path_nodes().iter().map(u64::to_string).collect();
    let held = exchange.messages()[0].held_ns();
    let is_so =
        exchange.length_ns() == 446_000 && nodes.starts_with(&names(&["9", "5", "4"])) && exchange.cost_ns(0) < 100_000;
    Ok(Answer {
        title: "Messages of a phase of MPI_Init (table 7-2)".into(),
        conditions: "four nodes of a Paragon; microseconds".into(),
        columns: names(&[
            "message",
            "send, software",
            "to the device",
            "device",
            "until taken",
            "receive",
            "all",
            "on the critical path",
        ]),
        rows,
        verdict: format!(
            "{}: {} from the first send to the last reception; the critical path is {}; that A lay there for {} costs {} at most",
            outcome(is_so),
            span_ns(exchange.length_ns() as f64),
            nodes.join("-"),
            span_ns(held as f64),
            span_ns(exchange.cost_ns(0) as f64)
        ),
        pictures: Vec::new(),
    })
}

/// Ranks, and seconds of opening a file together.
fn opens() -> Result<Vec<(f64, f64)>, Error> {
    let rows = rows(read(TABLE_7_3)?, "open", &["n_nodes", "mean_s"])?;
    Ok(rows.iter().filter_map(|row| row[0].number().zip(row[1].number())).collect())
}

fn parallel_open() -> Result<Answer, Error> {
    let points = opens()?;
    let line = Line::through(points.iter().copied());
    let slope = line.map_or(0.0, |line| line.slope);
    let row = |(nodes, seconds): &(f64, f64)| {
        vec![format!("{nodes}"), format!("{seconds:.3}"), format!("{:.3}", seconds / nodes)]
    };
    let fit =
        line.map_or_else(Vec::new, |line| points.iter().map(|(n, _)| (*n, line.intercept + line.slope * n)).collect());
    let picture = Lines {
        title: "Opening a file in parallel (table 7-3)",
        caption: "as published, and a straight line",
        x: ("nodes", Scale::Whole),
        y: ("s", Scale::Linear),
        lines: vec![("published".into(), points.clone()), ("fit".into(), fit)],
    };
    Ok(Answer {
        title: "Opening a file in parallel (table 7-3)".into(),
        conditions: "a Paragon, opening and synchronizing, means of 10 to 264 events".into(),
        columns: names(&["nodes", "s", "s for each node"]),
        rows: points.iter().map(row).collect(),
        verdict: line.map_or_else(String::new, |line| {
            format!(
                "{}: {:.3} +- {:.3} s for each node (published: 0.14), r2 {:.3}; {:.1} min with 2000 nodes",
                outcome((slope - 0.137).abs() <= 0.002),
                line.slope,
                line.slope_error,
                line.r_squared,
                (line.intercept + 2000.0 * line.slope) / 60.0
            )
        }),
        pictures: vec![("open-published".into(), picture.picture())],
    })
}

/// Returns the operation that was done with the file, and the parts that the kernel's layer served it in.
fn done(event: &str, record: &str) -> Result<(Span, Vec<Part>), Error> {
    let span = operation(read(TABLE_7_5)?, event)?.unwrap_or_default();
    Ok((span, parts(read(TABLE_7_5)?, record, "node")?))
}

/// Parts of the write in the report: start latency, input and output, between, stop latency.
const PUBLISHED_WRITE_MS: [u64; 4] = [70, 1315, 186, 29];

fn disks_unlike() -> Result<Answer, Error> {
    let mut all = Vec::new();
    for (what, record) in [("write", "PFS Write Trace"), ("read", "PFS Read Trace")] {
        let (span, parts) = done(what, record)?;
        all.push(Served { what, span, parts });
    }
    let write = layers(all[0].span, &all[0].parts).unwrap_or_default();
    let ms = [write.start_ns, write.busy_ns, write.between_ns, write.stop_ns].map(|ns| (ns + 500_000) / 1_000_000);
    let conditions = "7,332,864 bytes, one compute node of a Paragon";
    let answer = served("A write and a read over two disks (table 7-5)", conditions.into(), &all, ["node 1", "node 2"]);
    let verdict = format!(
        "{}: 0.070 + 1.315 + 0.186 + 0.029 s of the write. {}. The report has no such sum for the read",
        outcome(ms == PUBLISHED_WRITE_MS),
        answer.verdict
    );
    Ok(Answer { verdict, ..answer })
}

/// Times of the records at both layers, in nanoseconds. A time that is not legible is that of the record before it.
fn record_times() -> Result<[Vec<f64>; 2], Error> {
    let mut times = [Vec::new(), Vec::new()];
    for row in rows(read(TABLE_7_6)?, "record", &["application_ms", "kernel_ms"])? {
        for (column, value) in times.iter_mut().zip(&row) {
            let ms = value.number().filter(|ms| *ms > 0.0);
            column.push(ms.map_or_else(|| column.last().copied().unwrap_or(0.0), |ms| ms * 1e6));
        }
    }
    Ok(times)
}

fn hidden_cache() -> Result<Answer, Error> {
    let [application, kernel] = record_times()?;
    let found = hidden_buffer(&application, &kernel);
    let speed = |times: &[f64]| 131_072.0 * times.len() as f64 / (times.iter().sum::<f64>() / 1e9) / MIB;
    let short = &application[..24];
    let calm: Vec<f64> = short.iter().copied().filter(|ns| *ns < 200e6).collect();
    let peak = application.iter().copied().fold(f64::INFINITY, f64::min);
    let steady = found.as_ref().map_or(&application[..], |found| &application[found.first_steady + 1..]);
    let row = |how: &str, times: &[f64]| vec![how.to_owned(), format!("{:.2}", speed(times))];
    let points = |times: &[f64]| times.iter().enumerate().map(|(at, ns)| (at as f64, ns / 1e6)).collect();
    let picture = Lines {
        title: "Records of 128 KB at two layers (table 7-6)",
        caption: "writes to one disk of a Paragon",
        x: ("record", Scale::Linear),
        y: ("ms", Scale::Logarithmic),
        lines: vec![("application".into(), points(&application)), ("kernel".into(), points(&kernel))],
    };
    Ok(Answer {
        title: "A hidden buffer (table 7-6)".into(),
        conditions: "32 records of 128 KB written to one disk of a Paragon, timed by the application and in the kernel; MiB/s".into(),
        columns: names(&["the disk's speed, taken from", "MiB/s"]),
        rows: vec![
            row("the first 3 MB", short),
            row("the same without its slowest record", &calm),
            row("the fastest legible record (published: more than 20)", &[peak]),
            row("what comes once the buffer is full", steady),
        ],
        verdict: found.map_or_else(
            || "not as published: no buffer is found".to_owned(),
            |found| {
                format!(
                    "as published: a buffer is flagged, with {} a record before record {}, {} on top of it above, and {} from then on; the three shortcuts above the last row are the traps",
                    span_ns(found.early_ns),
                    found.first_steady,
                    span_ns(found.gap_ns),
                    span_ns(found.steady_ns)
                )
            },
        ),
        pictures: vec![("hidden-buffer-published".into(), picture.picture())],
    })
}

/// The report's total of faults is below this, by its figure 7.17.
const TOTAL_MAX: f64 = 50_000.0;

fn swapping() -> Result<Answer, Error> {
    let counts = rows(read(TABLE_7_8)?, "vm", &["kind", "class", "count"])?;
    let count = |kind: &str, class: &str| {
        let is = |value: &Value, text: &str| matches!(value, Value::Text(found) if found == text);
        let found = counts.iter().find(|row| is(&row[0], kind) && is(&row[1], class));
        found.and_then(|row| row[2].number()).unwrap_or(0.0)
    };
    let kinds = ["page-in", "page-out", "reactivation"];
    let classes = ["executable", "file", "internal"];
    let row = |class: &&str| {
        std::iter::once((*class).to_owned()).chain(kinds.iter().map(|kind| format!("{}", count(kind, class)))).collect()
    };
    let all: f64 = kinds.iter().flat_map(|kind| classes.iter().map(|class| count(kind, class))).sum();
    let internal: f64 = kinds.iter().map(|kind| count(kind, "internal")).sum();
    let most = kinds.iter().map(|kind| count(kind, "internal")).fold(0.0, f64::max);
    Ok(Answer {
        title: "What memory does when it is full (table 7-8)".into(),
        conditions:
            "one node of a Paragon with 16 MB, a sort of about 10 MB; the other columns of the table are not legible"
                .into(),
        columns: std::iter::once("class").chain(kinds).map(str::to_owned).collect(),
        rows: classes.iter().map(row).collect(),
        verdict: format!(
            "as published: {} of these events are internal, which is swapping. A part contradicts its total: {most} reactivations alone are more than the {TOTAL_MAX} that figure 7.17 has for all. \
             On Linux they are no faults, and in no total",
            percent(internal / all)
        ),
        pictures: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layers, servers, unlike};

    #[test]
    fn table_7_2_has_the_report_s_times_and_critical_path() {
        let exchange = exchange().unwrap();
        let us = |figure: fn(&Message) -> u64| -> Vec<u64> {
            exchange.messages().iter().map(|message| figure(message) / 1000).collect()
        };
        assert_eq!(us(|message| message.sent.length_ns()), [11, 14, 15, 10, 8, 10]);
        assert_eq!(us(|message| message.device.unwrap().start_ns - message.sent.end_ns), [14, 12, 12, 18, 13, 17]);
        assert_eq!(us(|message| message.device.unwrap().length_ns()), [5, 6, 6, 6, 6, 5]);
        assert_eq!(us(Message::held_ns), [200, 1, 98, 0, 4, 3]);
        assert_eq!(us(|message| message.received.length_ns()), [11, 10, 8, 10, 17, 12]);
        assert_eq!(us(Message::end_to_end_ns), [241, 43, 139, 44, 48, 47]);
        assert_eq!(exchange.length_ns(), 446_000);
        assert_eq!(exchange.path_nodes(), [9, 5, 4, 5, 9]);
        assert_eq!(exchange.cost_ns(0), 98_000);
    }

    #[test]
    fn table_7_3_is_a_line_of_0_137_s_for_each_node() {
        let line = Line::through(opens().unwrap().into_iter()).unwrap();
        assert!((line.slope - 0.137).abs() <= 0.002 && line.r_squared > 0.99, "{line:?}");
    }

    #[track_caller]
    fn check_layers(event: &str, record: &str, expected_us: [u64; 4], alike: Option<u64>) {
        let (span, parts) = done(event, record).unwrap();
        let Layers { start_ns, busy_ns, between_ns, stop_ns } = layers(span, &parts).unwrap();
        assert_eq!([start_ns, busy_ns, between_ns, stop_ns].map(|ns| ns / 1000), expected_us);
        assert_eq!(unlike(&servers(span, &parts)).map(|(server, _)| server), alike);
    }

    #[test]
    fn table_7_5_is_decomposed_to_a_microsecond() {
        // In the report: 0.070 + 1.315 + 0.186 + 0.029 = 1.601; for the read, 0.007 + 2.617 + 0.091 + 0.051 by its
        // stamps.
        check_layers("write", "PFS Write Trace", [70_049, 1_314_920, 186_069, 29_496], None);
        check_layers("read", "PFS Read Trace", [6_816, 2_617_444, 90_870, 51_217], Some(1));
    }

    #[test]
    fn every_table_has_its_answer() {
        let answers = digits().unwrap();
        let page = crate::page("A study", &[], &answers);
        for answer in &answers {
            assert!(answer.verdict.starts_with("as published"), "{}", answer.to_text());
            assert!(answer.rows.iter().all(|row| row.len() == answer.columns.len()));
            assert!(page.contains(&answer.title));
        }
        assert_eq!(page.matches("<svg").count(), 2);
    }
}
