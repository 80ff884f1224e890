//! `foretop dedup plan`: ids, groups and memory for so much data, by the published formulas and by what this store
//! takes.

use std::io::Write;

use clap::Args;
use dedup::plan::{Model, filter_false_positives, filter_redundancy, memory_split};
use program::{Failure, written};
use text::Table;
use text::help::examples;
use units::{ByteCount, Ratio};

/// Bytes of data for each sparse anchor of this store, and of its index for each, with six bits of filter: at three
/// quarters and five eighths full.
const SPARSE_BYTES: f64 = 8192.0;
const INDEX_BYTES: [f64; 2] = [8.75 / 0.75, 8.75 / 0.625];

/// Cost of a known byte on a link: a group of 64 KiB that is known takes 17 bytes, and 10 before it.
const KNOWN_COST: f64 = 27.0 / 65_536.0;
/// Bytes that a stored byte takes on disk, with one anchor of twelve bytes in 256 and checksums.
const DISK_COST: f64 = 1.0 + 12.0 / 256.0 + 4.0 / 65_536.0;

/// Show the ids, groups and memory that an amount of data needs: by the published formulas, and in this store
#[derive(Args)]
#[command(after_help = examples(&["foretop dedup plan --data 1TB --redundancy 75%", "foretop dedup plan --data 100GB --redundancy 50% --segment 64B"]))]
pub struct Plan {
    /// The amount of data to send
    #[arg(long, value_name = "SIZE")]
    data: ByteCount,

    /// The share of the data that the receiver has, below 100%
    #[arg(long, value_name = "SHARE")]
    redundancy: Ratio,

    /// The size of a segment, if segments are sent by ids
    #[arg(long, value_name = "SIZE", default_value = "32B")]
    segment: ByteCount,

    /// The size of each segment's meta-data on the wire
    #[arg(long, value_name = "SIZE", default_value = "0B")]
    meta_data: ByteCount,

    /// The memory of the machine
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    memory: ByteCount,
}

impl Plan {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.redundancy.share() >= 1.0 {
            return Err(Failure::usage("--redundancy has to be below 100%: something has to be sent once"));
        }
        if self.data.bytes() == 0 || self.segment.bytes() == 0 {
            return Err(Failure::usage("--data and --segment have to be 1B at least"));
        }
        let model = Model {
            segment_bytes: self.segment.bytes() as f64,
            meta_bytes: self.meta_data.bytes() as f64,
            ..Model::new(self.data.bytes() as f64, self.redundancy.share())
        };
        let published = format!("{}\n{}\n{}", models(&model), filters(&model), self.memory(&model));
        let segment = self.segment;
        written(write!(
            out,
            "{}\nBy the published formulas, if segments of {segment} were sent by ids:\n\n{published}",
            self.tunnel(&model)
        ))
    }

    /// Returns the needs of `foretop tunnel`.
    fn tunnel(&self, model: &Model) -> String {
        let size = |n_bytes: f64| text::figure::format(n_bytes, "bytes");
        let new = model.new_bytes();
        let sent = new + (model.n_bytes - new) * KNOWN_COST;
        // Less than that is for shards without anything in them.
        let index = INDEX_BYTES.map(|bytes| size((new / SPARSE_BYTES * bytes).max(1024.0)));
        format!(
            "With `foretop tunnel`, if what is known comes in long runs:\n\n\
             sent              {} of {}, {:.1}:1, before new bytes are packed\n\
             disk at each end  {} to remember what is new\n\
             memory            {} to {} of index, on top of `memory`, 256MiB unless set\n",
            size(sent),
            self.data,
            model.n_bytes / sent,
            size(new * DISK_COST),
            index[0],
            index[1],
        )
    }

    fn memory(&self, model: &Model) -> String {
        let mb = self.memory.bytes() as f64 / f64::from(1 << 20);
        // The published filter for 100 GB and more; smaller ones for less.
        let bloom_mb = (model.new_bytes() / model.segment_bytes / 1e6).min(1024.0).min(mb / 2.0).round();
        let split = memory_split(mb, bloom_mb);
        let size = |mb: f64| text::figure::format(mb * f64::from(1 << 20), "bytes");
        format!(
            "{} of memory as published: filter {}, pipeline {}, hash tables {}, segments {}\n",
            self.memory,
            size(split.bloom),
            size(split.pipeline),
            size(split.tables),
            size(split.segments),
        )
    }
}

fn models(model: &Model) -> Table {
    let best = model.best();
    let rows = [
        ("published defaults", *model),
        ("published group of 22", Model { group: 22.0, ..*model }),
        ("the formula's group", Model { group: model.best_group().round(), ..*model }),
        ("recommended", best),
    ];
    let mut table = Table::of_figures(&[
        "two levels",
        "id bits",
        "segments a hash",
        "ratio by formula",
        "with table 18's headers",
        "ids and hashes",
        "collisions",
    ]);
    for (name, model) in rows {
        table.row([
            name.to_owned(),
            model.id_bits.to_string(),
            format!("{:.0}", model.group),
            format!("{:.2}", model.ratio()),
            format!("{:.2}", model.on_the_wire()),
            text::figure::format(model.fingerprint_bytes(), "bytes"),
            text::figure::format(model.collision_bytes(), "bytes"),
        ]);
    }
    let one = format!("{:.2}", model.one_level());
    let none = || "-".to_owned();
    table.row(["one level, 160 bits".to_owned(), none(), "1".to_owned(), one, none(), none(), none()]);
    table
}

fn filters(model: &Model) -> String {
    let mut table = Table::of_figures(&["Bloom filter of 8 bits a segment", "enough from a redundancy of"]);
    for mb in [64, 128, 256, 512, 1024, 2048] {
        let redundancy = filter_redundancy(f64::from(mb) * 1e6, model.n_bytes, model.segment_bytes);
        let from = if redundancy > 0.0 { text::figure::percent(redundancy) } else { "any".to_owned() };
        table.row([format!("{mb} MB"), from]);
    }
    format!(
        "{table}With 6 probes it takes {} of strange segments for known ones (published: 1.56 %).\n",
        text::figure::percent(filter_false_positives())
    )
}
