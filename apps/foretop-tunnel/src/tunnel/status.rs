//! `foretop tunnel status`: the status of a running end.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use program::{Failure, written};
use text::help::examples;
use text::{Align, Table};
use tunnel::{Config, Status};
use units::Timestamp;

use crate::run::failure;

/// Show the status of a running end: links and streams, savings, content of the store
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop tunnel status --config near.toml",
    "foretop tunnel status --config near.toml --history",
    "foretop tunnel status --config near.toml --format prometheus > /var/lib/node_exporter/tunnel.prom",
]))]
pub struct Ask {
    /// The configuration that the end was started with
    #[arg(long, value_name = "FILE.toml")]
    config: PathBuf,

    /// Show instead traffic and growth of the store since it was made, and the age of hits
    #[arg(long)]
    history: bool,

    /// The format: a table, JSON, which has the history as well, or that of Prometheus
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
    Prometheus,
}

impl Ask {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = Config::read(&self.config).map_err(failure)?;
        let path = config.status();
        let mut bytes = Vec::new();
        let asked = UnixStream::connect(&path).and_then(|mut stream| stream.read_to_end(&mut bytes));
        asked.map_err(|error| {
            Failure::work(format!("no end of a tunnel answers at `{}`: {error}; is it running?", path.display()))
        })?;
        let status: Status = serde_json::from_slice(&bytes)
            .map_err(|error| Failure::work(format!("what answers at `{}` is no tunnel: {error}", path.display())))?;
        let text = match self.format {
            Format::Table if self.history => format!("{}\n{}", history(&status), ages(&status)),
            Format::Table => table(&status),
            Format::Json => format!("{}\n", serde_json::to_string(&status).map_err(Failure::of)?),
            Format::Prometheus => prometheus(&status),
        };
        written(out.write_all(text.as_bytes()))
    }
}

fn table(status: &Status) -> String {
    let counts = &status.counts;
    let mut table = Table::new(&[("what", Align::Left), ("", Align::Right)]);
    table.row([format!("{} end, listening at", status.end), status.listens.join(", ")]);
    table.row(["ratio of what was sent".to_owned(), saved(counts.given_bytes_total, counts.sent_bytes_total)]);
    table.row(["ratio of what came".to_owned(), saved(counts.received_bytes_total, counts.came_bytes_total)]);
    table.row(["level".to_owned(), status.level.clone()]);
    let strange = status.store.filtered_total + status.store.filter_passed_total;
    if strange > 0 {
        let share = 100.0 * status.store.filter_passed_total as f64 / strange as f64;
        table.row(["strange sparse anchors that the filter let pass".to_owned(), format!("{share:.2} %")]);
    }
    for (name, count) in counts.named().into_iter().chain(store(status)) {
        let is_time = name.ends_with("_ns_total");
        let unit = if name.contains("bytes") { "bytes" } else { "" };
        let name = name.trim_end_matches("_total").trim_end_matches("_ns").replace('_', " ");
        table.row([
            name,
            match unit {
                _ if is_time => text::figure::format(count as f64 / 1e9, "s"),
                "" => count.to_string(),
                unit => text::figure::format(count as f64, unit),
            },
        ]);
    }
    table.to_string()
}

fn saved(given: u64, sent: u64) -> String {
    match sent {
        0 => "-".to_owned(),
        sent => format!("{:.1}:1", given as f64 / sent as f64),
    }
}

/// Returns the table of the bytes that passed, and of the store's growth.
fn history(status: &Status) -> String {
    let mut table = Table::of_figures(&[
        "until",
        "given",
        "known",
        "ratio",
        "received",
        "ratio of that",
        "store grew by",
        "on disk",
    ]);
    let size = |n_bytes: u64| text::figure::format(n_bytes as f64, "bytes");
    for period in &status.history {
        let known = 100.0 * period.matched_bytes as f64 / period.given_bytes.max(1) as f64;
        table.row([
            Timestamp::from_nanos(period.end_ns).to_string(),
            size(period.given_bytes),
            format!("{known:.1} %"),
            saved(period.given_bytes, period.sent_bytes),
            size(period.received_bytes),
            saved(period.received_bytes, period.came_bytes),
            size(period.appended_bytes),
            size(period.disk_bytes),
        ]);
    }
    table.to_string()
}

/// Returns the table of the ages of hits: by how much the store had grown since.
fn ages(status: &Status) -> String {
    let mut sums = [0; 32];
    for period in &status.history {
        sums.iter_mut().zip(period.hit_ages).for_each(|(sum, n)| *sum += n);
    }
    let all: u64 = sums.iter().sum();
    let mut table = Table::of_figures(&["written before", "hits", "so far"]);
    let mut n_so_far = 0;
    let last = sums.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1);
    for (i, n) in sums.iter().enumerate().take(last) {
        n_so_far += n;
        let share = 100.0 * n_so_far as f64 / all as f64;
        let size = text::figure::format(2.0_f64.powi(17 + i as i32), "bytes");
        table.row([format!("up to {size}"), n.to_string(), format!("{share:.1} %")]);
    }
    table.to_string()
}

fn prometheus(status: &Status) -> String {
    let all = status.counts.named().into_iter().chain(store(status));
    all.map(|(name, count)| {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        format!("# TYPE foretop_tunnel_{name} {kind}\nforetop_tunnel_{name}{{end=\"{}\"}} {count}\n", status.end)
    })
    .collect()
}

fn store(status: &Status) -> [(&'static str, u64); 18] {
    let store = &status.store;
    [
        ("store_containers", store.containers),
        ("store_disk_bytes", store.disk_bytes),
        ("store_memory_bytes", store.memory_bytes),
        ("store_index_bytes", store.index_bytes),
        ("store_filter_bytes", store.filter_bytes),
        ("store_filtered_total", store.filtered_total),
        ("store_filter_passed_total", store.filter_passed_total),
        ("store_shards_read_total", store.shards_read_total),
        ("store_snapshots_total", store.snapshots_total),
        ("store_rebuilt_total", store.rebuilt_total),
        ("store_ever_appended_bytes", store.ever_appended_bytes),
        ("store_appended_bytes_total", store.appended_bytes_total),
        ("store_lookups_total", store.lookups_total),
        ("store_hits_total", store.hits_total),
        ("store_loaded_total", store.loaded_total),
        ("store_lost_total", store.lost_total),
        ("store_unwritten_total", store.unwritten_total),
        ("store_given_up_total", store.given_up_total),
    ]
}
