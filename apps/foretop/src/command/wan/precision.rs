//! `foretop wan self-test`: how precisely this machine can delay.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use statistics::quantile;
use text::Table;
use wan::{Way, measure};

use crate::help::examples;

/// What is delayed for, as on links within a country and beyond.
const DELAYS_MS: [u64; 3] = [1, 5, 20];

/// Measure how precisely this machine waits, beside other emulators' ways
#[derive(Args)]
#[command(after_help = examples(&["foretop wan self-test"]))]
pub struct SelfTest {
    /// Waits for each delay and way
    #[arg(long, value_name = "N", default_value_t = 200)]
    waits: usize,
}

impl SelfTest {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut table = Table::of_figures(&["way to wait", "delay", "earliest", "median error", "95%", "99.9%"]);
        for delay_ms in DELAYS_MS {
            for way in Way::ALL {
                let errors = measure(way, Duration::from_millis(delay_ms), self.waits.max(1))?.errors_ns;
                let at = |share: f64| {
                    quantile(&errors, share).map_or_else(|| "-".to_owned(), |ns| format!("{:.1} us", ns / 1e3))
                };
                table.row([way.name().to_owned(), format!("{delay_ms} ms"), at(0.0), at(0.5), at(0.95), at(0.999)]);
            }
        }
        Ok(write!(out, "{table}")?)
    }
}
