//! `foretop tunnel status`: how a running end does.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use program::{Failure, written};
use text::help::examples;
use text::{Align, Table};
use tunnel::{Config, Status};

use crate::run::failure;

/// Say how a running end does: its links and streams, what it saved, what its store has
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop tunnel status --config near.toml",
    "foretop tunnel status --config near.toml --format prometheus > /var/lib/node_exporter/tunnel.prom",
]))]
pub struct Ask {
    /// The configuration that the end was started with
    #[arg(long, value_name = "FILE.toml")]
    config: PathBuf,

    /// A table, JSON, or what Prometheus reads
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
    let saved = |given: u64, sent: u64| match sent {
        0 => "-".to_owned(),
        sent => format!("{:.1}:1", given as f64 / sent as f64),
    };
    table.row(["ratio of what was sent".to_owned(), saved(counts.given_bytes_total, counts.sent_bytes_total)]);
    for (name, count) in counts.named().into_iter().chain(store(status)) {
        let unit = if name.contains("bytes") { "bytes" } else { "" };
        let name = name.trim_end_matches("_total").replace('_', " ");
        let count = if unit.is_empty() { count.to_string() } else { text::figure::format(count as f64, unit) };
        table.row([name, count]);
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

fn store(status: &Status) -> [(&'static str, u64); 11] {
    let store = &status.store;
    [
        ("store_containers", store.containers),
        ("store_disk_bytes", store.disk_bytes),
        ("store_memory_bytes", store.memory_bytes),
        ("store_index_bytes", store.index_bytes),
        ("store_appended_bytes_total", store.appended_bytes_total),
        ("store_lookups_total", store.lookups_total),
        ("store_hits_total", store.hits_total),
        ("store_loaded_total", store.loaded_total),
        ("store_lost_total", store.lost_total),
        ("store_unwritten_total", store.unwritten_total),
        ("store_given_up_total", store.given_up_total),
    ]
}
