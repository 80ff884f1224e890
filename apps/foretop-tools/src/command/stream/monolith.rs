//! `foretop stream monolith`: sensor and predictor in one process.

use std::io::Write;

use clap::Args;
use component::Monolith;
use predict::Spec;
use stream::Mirror;

use super::sensor::SensorArgs;
use super::wiring::Wiring;
use text::help::examples;

/// Measure this host, and forecast the measurements, in one process
///
/// Of several signals, the first is forecast.
#[derive(Args)]
#[command(after_help = examples(&["foretop stream monolith --signal cpu.availability --step 1s connect:tcp:5006"]))]
pub struct RunMonolith {
    #[command(flatten)]
    wiring: Wiring,

    #[command(flatten)]
    sensor: SensorArgs,

    /// The model; `foretop models` lists them
    #[arg(long, value_name = "TEXT", default_value = "AR(16)")]
    model: Spec,

    /// The number of samples that the model is fitted to
    #[arg(long, value_name = "N", default_value = "600", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    window: u32,

    /// The horizon, in steps
    #[arg(long, value_name = "N", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=65_000))]
    horizon: u32,
}

impl RunMonolith {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { wiring, sensor, model, window, horizon } = self;
        let stream = wiring.name.clone().unwrap_or_else(|| sensor.stream_name().to_owned());
        let system = Monolith::new(stream, wiring.host(), sensor.meter()?, model, window as usize, horizon as usize);
        let mirror = Mirror::new("monolith", system.with_step(sensor.step)).every(sensor.step);
        wiring.run("monolith", mirror, None, out).map(drop)
    }
}
