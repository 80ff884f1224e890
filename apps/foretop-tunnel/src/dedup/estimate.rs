//! `foretop dedup estimate`: each method's encoder over files, one after the other.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clock::thread_cpu;
use dedup::Packing;
use dedup::estimate::{Estimate as Found, Estimator, Method, Shape};
use program::{Failure, written};
use serde_json::json;
use text::Table;
use text::help::examples;
use units::ByteCount;

/// Greatest number of bytes that can be flushed at once, and the least memory.
const FLUSH_MAX: u64 = 1 << 20;

/// Show the savings of each method of finding redundancy on these files, sent one after the other
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop dedup estimate release-1.tar release-2.tar",
    "foretop dedup estimate --segmenter anchors-7 --level 12 dumps/*.sql",
    "foretop dedup estimate --width 1280 --height 1024 --pixel 4 session.raw",
]))]
pub struct Estimate {
    /// Files in the order in which they would be sent; unpacked ones, because redundancy cannot be found in packed
    /// bytes
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The segmenter: anchors-N, static-BYTES, fastcdc-BYTES, manber-BYTES, lbfs-BYTES, spring-BYTES, fifo-MIB, zstd-N
    /// (zstd alone, a window of 2^N bytes), auto or none; for pixels grid-SIDE, varg-WIDTH, tiles-SIDE, squares-SIDE;
    /// may be repeated [default: several of them]
    #[arg(long, value_name = "SEGMENTER")]
    segmenter: Vec<Method>,

    /// Treat the files as pictures, one after the other, with this many pixels in a row
    #[arg(long, value_name = "PIXELS", requires = "height")]
    width: Option<u32>,

    /// The number of rows of a picture
    #[arg(long, value_name = "PIXELS", requires = "width")]
    height: Option<u32>,

    /// The number of bytes of a pixel
    #[arg(long, value_name = "BYTES", default_value_t = 4, requires = "width")]
    pixel: u32,

    /// The compression of new bytes: a level of zstd up to 19, 0 for none, or paced: level 5 if they compress well, 1
    /// if they do not
    #[arg(long, value_name = "LEVEL", default_value = "paced")]
    level: Packing,

    /// The number of bytes after which all that was read is flushed, at most 1MiB
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    flush: ByteCount,

    /// The memory for what a segmenter remembers, its index included; the oldest is forgotten, and new again when it
    /// comes back. The queue of fifo-MIB and the window of zstd-N have their own size
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: ByteCount,

    /// The wire format of segments with ids: short heads and packed bytes, or the paper's table 18; other segmenters
    /// have their own
    #[arg(long, value_enum, default_value = "packed")]
    wire: OnWire,

    /// The output: a table, or a line of JSON for each segmenter
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnWire {
    Packed,
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// Share of known bytes below which nobody gains much by them, and ratio below which nobody gains much at all.
const LITTLE: f64 = 0.01;
const RATIO_LITTLE: f64 = 1.1;

/// Returns the packing of new bytes. zstd alone has the level that its program has by default, as that is what people
/// compare with.
fn level_of(method: Method, given: Packing) -> Packing {
    match (method, given) {
        (Method::Zstd { .. }, Packing::Paced) => Packing::Zstd(3),
        _ => given,
    }
}

/// Result of one method, and its processor time.
struct Row {
    method: Method,
    level: Packing,
    found: Found,
    /// Processor time in encoding, reading left out.
    cpu_seconds: f64,
}

impl Estimate {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let n_flush = self.flush.bytes();
        if !(1..=FLUSH_MAX).contains(&n_flush) {
            return Err(Failure::usage(format!("--flush {} is not within 1B and 1MiB", self.flush)));
        }
        if self.memory.bytes() < FLUSH_MAX {
            return Err(Failure::usage(format!("--memory {} is below 1MiB", self.memory)));
        }
        let n_memory = usize::try_from(self.memory.bytes()).unwrap_or(usize::MAX);
        let shape = self.shape()?;
        // Every method reads the files again: those that shrink meanwhile would make rows of different data.
        let lengths = self.files.iter().map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()));
        let lengths: Vec<u64> = lengths.collect();
        let compared: &[Method] = match (&self.segmenter[..], shape) {
            ([], None) => &Method::COMPARED,
            ([], Some(_)) => &Method::OF_PIXELS,
            (given, _) => given,
        };
        let mut rows = Vec::new();
        for &method in compared {
            let level = level_of(method, self.level);
            let mut estimator = Estimator::new(method, level, shape, n_memory)
                .map_err(|error| Failure::usage(format!("{error}, with --width and --height")))?;
            if self.wire == OnWire::Paper {
                let told = format!(
                    "`{method}` sends no segments by ids, which --wire paper is for: give --segmenter static-32, say"
                );
                estimator = estimator.on_paper().ok_or_else(|| Failure::usage(told))?;
            }
            rows.push(row(method, level, estimator, &self.files, n_flush as usize)?);
        }
        for (path, length) in self.files.iter().zip(lengths) {
            let left = fs::metadata(path).map_or(0, |metadata| metadata.len());
            if left < length {
                let name = text::printable(&path.display().to_string());
                eprintln!(
                    "foretop dedup: warning: `{name}` shrank from {length} to {left} bytes while it was read, so the rows may be of different data"
                );
            }
        }
        match self.format {
            Format::Table => {
                written(write!(out, "{}\n{}{}", table(&rows), conclusion(&rows), forgotten(&rows, self.memory)))
            }
            Format::Json => rows.iter().try_for_each(|row| written(writeln!(out, "{}", row.json()))),
        }
    }

    fn shape(&self) -> Result<Option<Shape>, Failure> {
        let (Some(width), Some(height)) = (self.width, self.height) else {
            return Ok(None);
        };
        let shape = Shape::new(width, height, self.pixel).ok_or_else(|| {
            let given = format!("{width} by {height} pixels of {} bytes", self.pixel);
            Failure::usage(format!("{given} are no picture: each has to be 1 at least, and all of it below 1GiB"))
        })?;
        Ok(Some(shape))
    }
}

fn row(
    method: Method,
    level: Packing,
    mut estimator: Estimator,
    files: &[PathBuf],
    n_flush: usize,
) -> Result<Row, Failure> {
    let mut cpu_seconds = 0.0;
    let mut buffer = vec![0; n_flush];
    for path in files {
        let cannot = |error| Failure::work(format!("cannot read `{}`: {error}", path.display()));
        let mut file = File::open(path).map_err(cannot)?;
        loop {
            let n = fill(&mut file, &mut buffer).map_err(cannot)?;
            if n == 0 {
                break;
            }
            cpu_seconds += timed(|| estimator.add(&buffer[..n]));
        }
    }
    let mut found = None;
    cpu_seconds += timed(|| found = Some(estimator.finish()));
    let found = found.expect("the estimate was finished");
    if found.tally.n_given == 0 {
        return Err(Failure::work(format!("there is nothing in {}", names(files))));
    }
    Ok(Row { method, level, found, cpu_seconds })
}

/// Returns the processor time of the work on this thread, in seconds.
fn timed(work: impl FnOnce()) -> f64 {
    let before = thread_cpu();
    work();
    (thread_cpu() - before).as_secs_f64()
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match file.read(&mut buffer[n..])? {
            0 => break,
            n_read => n += n_read,
        }
    }
    Ok(n)
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|path: &PathBuf| format!("`{}`", Path::display(path))).collect();
    names.join(", ")
}

impl Row {
    /// Returns the name of the method, and the level of one that only packs.
    fn name(&self) -> String {
        match (self.method, self.level) {
            (Method::Zstd { .. }, Packing::Zstd(level)) => format!("{}, level {level}", self.method),
            (method, _) => method.to_string(),
        }
    }

    fn ratio(&self) -> f64 {
        self.found.tally.n_given as f64 / self.found.tally.n_wire.max(1) as f64
    }

    /// Returns the share of bytes that were there before.
    fn known(&self) -> f64 {
        self.found.tally.n_matched as f64 / self.found.tally.n_given as f64
    }

    /// Returns a cell, or `-` if it has no meaning because all is left to zstd.
    fn of_matches(&self, cell: String) -> String {
        if matches!(self.method, Method::None | Method::Zstd { .. }) { "-".to_owned() } else { cell }
    }

    fn bytes_per_sec(&self) -> f64 {
        self.found.tally.n_given as f64 / self.cpu_seconds.max(1e-9)
    }

    fn json(&self) -> serde_json::Value {
        let tally = self.found.tally;
        json!({
            "segmenter": self.method.to_string(),
            "level": self.level.to_string(),
            "given_bytes": tally.n_given,
            "matched_bytes": tally.n_matched,
            "matches": tally.n_matches,
            "wire_bytes": tally.n_wire,
            "entries": self.found.n_entries,
            "has_forgotten": self.found.has_forgotten,
            "cpu_seconds": self.cpu_seconds,
        })
    }
}

/// Returns the meaning of the rows, in a sentence or two.
fn conclusion(rows: &[Row]) -> String {
    let Some(row) = rows.iter().find(|row| matches!(row.method, Method::Anchors { .. })) else {
        return String::new();
    };
    let [given, sent] =
        [row.found.tally.n_given, row.found.tally.n_wire].map(|n| text::figure::format(n as f64, "bytes"));
    let told = format!("`foretop tunnel` does what {} does: {sent} sent instead of {given}.\n", row.method);
    if row.known() >= LITTLE {
        return told;
    }
    let known = text::figure::percent(row.known());
    let why = if row.ratio() < RATIO_LITTLE {
        "compressed or encrypted files hide what they have in common"
    } else {
        "nearly all that is saved comes from packing each part by itself"
    };
    format!("{told}Only {known} of it was there before: {why}.\n")
}

/// Returns a sentence about the segmenters that have forgotten data, if there are any.
fn forgotten(rows: &[Row], memory: ByteCount) -> String {
    let names: Vec<String> =
        rows.iter().filter(|row| row.found.has_forgotten).map(|row| format!("{}", row.method)).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("Forgot the oldest data, because --memory {memory} was not enough: {}.\n", names.join(", "))
}

fn table(rows: &[Row]) -> Table {
    let mut table =
        Table::of_figures(&["segmenter", "ratio", "known", "sent", "matches", "index entries", "speed of a core"]);
    for row in rows {
        let tally = row.found.tally;
        table.row([
            row.name(),
            format!("{:.2}", row.ratio()),
            row.of_matches(text::figure::percent(row.known())),
            text::figure::format(tally.n_wire as f64, "bytes"),
            row.of_matches(tally.n_matches.to_string()),
            row.of_matches(row.found.n_entries.to_string()),
            text::figure::bytes_per_sec(row.bytes_per_sec()),
        ]);
    }
    table
}
