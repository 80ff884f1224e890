//! `foretop stream to-measure`: one signal of measurements as generic samples.

use std::io::Write;

use clap::Args;
use component::{SignalChoice, ToSample};
use stream::Mirror;

use super::wiring::Wiring;
use text::help::examples;

/// Turn one signal of a stream of measurements into generic samples
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream to-measure load.1m source:tcp:localhost:5001 connect:tcp:5002",
    "foretop stream load-to-measure 0 source:tcp:localhost:5001 connect:tcp:5002",
]))]
pub struct ToMeasure {
    /// The signal, by its id or by its position, counted from 0
    #[arg(value_name = "SIGNAL|INDEX")]
    signal: SignalChoice,

    #[command(flatten)]
    wiring: Wiring,
}

impl ToMeasure {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mirror = Mirror::new("to-measure", ToSample::new(self.signal)).ending_with_inputs();
        self.wiring.run("to-measure", mirror, None, out).map(drop)
    }
}
