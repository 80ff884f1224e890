//! `foretop wan profiles`: the published links that are built in.

use std::io::Write;

use clap::Args;
use netmodel::Profile;
use text::Table;

use text::help::examples;

/// List the published links that are built in
#[derive(Args)]
#[command(after_help = examples(&["foretop wan profiles"]))]
pub struct Profiles {}

impl Profiles {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut table = Table::of_figures(&["profile", "latency one way", "deviation", "bandwidth"]);
        for profile in Profile::all() {
            let span = |ns: f64| text::figure::span_ns(ns);
            let bandwidth = profile.means.bandwidth.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
            let deviation = profile.expected.map_or_else(|| "-".to_owned(), |of| span(of.latency_ns.deviation));
            table.row([profile.name, span(profile.means.latency.as_nanos() as f64), deviation, bandwidth]);
        }
        Ok(write!(out, "{table}")?)
    }
}
