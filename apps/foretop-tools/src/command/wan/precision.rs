//! `foretop wan self-test`: how precisely this machine can delay, and what it can carry.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use netmodel::Description;
use serde::Serialize;
use statistics::{median, quantile};
use text::Table;
use units::Bandwidth;
use wan::{Arm, Bed, Way, lateness, measure};
use watch::Watch;

use command_line::terminal::{say, write_json};
use text::help::examples;

/// Delays, as on links within a country and beyond.
const DELAYS_MS: [u64; 3] = [1, 5, 20];
/// The delay of what many send at once.
const SHARED_DELAY: Duration = Duration::from_millis(5);
/// Messages of each number of senders: a quantile of 99.9 % has five beyond it.
const N_MESSAGES: usize = 5_000;
/// The link that is filled and played ping-pong over.
const LATENCY: Duration = Duration::from_millis(10);
/// Time that a link is filled.
const FILLED: Duration = Duration::from_secs(3);
/// Sizes of ping-pongs: what TCP sends at once however new its connection is.
const SIZES: [u32; 3] = [1, 1 << 10, 8 << 10];
const N_PING_PONGS: usize = 50;

/// Measure how precisely this machine waits, beside other emulators' methods, and the capacity of its emulated links
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop wan self-test",
    "foretop wan self-test --connections 2,40 --rates 100Mbit/s,1Gbit/s",
]))]
pub struct SelfTest {
    /// The number of waits for each delay and method
    #[arg(long, value_name = "N", default_value_t = 200)]
    waits: usize,

    /// Measure instead how late messages of this many concurrent senders are
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    connections: Vec<usize>,

    /// Measure instead links of these rates, with 10 ms each way, over a relay and, as root, between emulated hosts
    #[arg(long, value_name = "RATE,…", value_delimiter = ',')]
    rates: Vec<Bandwidth>,

    /// Print an array of tables, each with `title`, `head` and `rows`
    #[arg(long)]
    json: bool,
}

/// Measurements as a table.
#[derive(Serialize)]
struct Figures {
    title: String,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl SelfTest {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let watch = Watch::new(Arc::new(clock::System::start()));
        let mut measured = Vec::new();
        if self.connections.is_empty() && self.rates.is_empty() {
            measured.push(self.precision()?);
        }
        if !self.connections.is_empty() {
            measured.push(self.connections(&watch)?);
        }
        if !self.rates.is_empty() {
            measured.extend(self.rates(&watch)?);
        }
        if self.json {
            return Ok(write_json(out, &measured)?);
        }
        for Figures { title, head, rows } in measured {
            let mut table = Table::of_figures(&head);
            rows.into_iter().for_each(|row| table.row(row));
            write!(out, "{title}:\n{table}")?;
        }
        Ok(())
    }

    fn precision(&self) -> anyhow::Result<Figures> {
        let mut rows = Vec::new();
        for delay_ms in DELAYS_MS {
            for way in Way::ALL {
                let errors = measure(way, Duration::from_millis(delay_ms), self.waits.max(1))?.errors_ns;
                let at = |share: f64| quantile(&errors, share).map_or_else(|| "-".to_owned(), us);
                let name = way.name().to_owned();
                rows.push(vec![name, format!("{delay_ms} ms"), at(0.0), at(0.5), at(0.95), at(0.999)]);
            }
        }
        let title = format!("how late {} waits ended", self.waits.max(1));
        Ok(Figures { title, head: vec!["way to wait", "delay", "earliest", "median", "95%", "99.9%"], rows })
    }

    fn connections(&self, watch: &Watch) -> anyhow::Result<Figures> {
        let mut rows = Vec::new();
        let mut first = None;
        for n in &self.connections {
            let traffic = lateness(*n, SHARED_DELAY, N_MESSAGES, watch)?;
            let ns = |late: Option<Duration>| late.map_or(f64::NAN, |late| late.as_nanos() as f64);
            let last = ns(traffic.late_999);
            let ratio = format!("{:.2}", last / *first.get_or_insert(last));
            let [median, most] = [traffic.late_median, traffic.late_95].map(|late| us(ns(late)));
            rows.push(vec![n.to_string(), median, most, us(last), ratio]);
        }
        let title =
            format!("how late {N_MESSAGES} messages were over a relay of {SHARED_DELAY:?}, each sender one in 10 ms");
        Ok(Figures { title, head: vec!["senders", "median", "95%", "99.9%", "by the first row's"], rows })
    }

    fn rates(&self, watch: &Watch) -> anyhow::Result<[Figures; 2]> {
        let (mut carried, mut played) = (Vec::new(), Vec::new());
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            say("emulated hosts are left out: they need root");
        }
        let arms = [("relay", Arm::Relay), ("hosts", Arm::Hosts)];
        for (name, arm) in arms.into_iter().filter(|(_, arm)| is_root || *arm == Arm::Relay) {
            for rate in &self.rates {
                let link = Description { latency: Some(LATENCY), bandwidth: Some(*rate), ..Description::default() };
                let bed = Bed::new(arm, &link, watch)?;
                let named = || vec![name.to_owned(), rate.to_string()];
                for size in SIZES {
                    let times = bed.ping_pongs(size, N_PING_PONGS)?;
                    let times: Vec<f64> = times.iter().map(|took| took.as_nanos() as f64).collect();
                    let model = bed.modelled(size)?.map_or(f64::NAN, |took| took.as_nanos() as f64);
                    let measured = median(&times).unwrap_or(f64::NAN);
                    let ratio = format!("{:+.2}%", (measured / model - 1.0) * 100.0);
                    let cells = [size.to_string(), us(model), us(measured), us(measured - model), ratio];
                    played.push([named(), cells.to_vec()].concat());
                }
                let found = bed.rate(FILLED)?.map_or(0, Bandwidth::bits_per_sec) as f64;
                let share = format!("{:.2}%", 100.0 * found / rate.bits_per_sec() as f64);
                carried.push([named(), vec![format!("{:.1} Mbit/s", found / 1e6), share]].concat());
            }
        }
        Ok([
            Figures {
                title: format!("what one connection gets of a link of {LATENCY:?}"),
                head: vec!["arm", "link", "carried", "share"],
                rows: carried,
            },
            Figures {
                title: format!("round trips over it beside the model, medians of {N_PING_PONGS}"),
                head: vec!["arm", "link", "bytes", "model", "measured", "error", "ratio"],
                rows: played,
            },
        ])
    }
}

fn us(ns: f64) -> String {
    format!("{:.1} us", ns / 1e3)
}
