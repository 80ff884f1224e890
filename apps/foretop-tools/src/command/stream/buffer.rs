//! `foretop stream buffer` and `buffer-client`: the last messages of any stream, kept and asked for.

use std::io::Write;

use clap::Args;
use component::Buffer;
use stream::{Ask, Endpoint, Message, Mirror};

use super::line::Lines;
use super::question::Question;
use super::wiring::Wiring;
use command_line::argument::TextOrJson;
use command_line::failure::OrUsage;
use text::help::examples;

/// Store the last messages of any stream for requests of clients, and pass the stream on
#[derive(Args)]
#[command(name = "buffer", after_help = examples(&[
    "foretop stream buffer 1000 source:tcp:localhost:5002 server:tcp:5003 connect:tcp:5004",
]))]
pub struct KeepBuffer {
    /// The number of messages
    #[arg(value_name = "N")]
    n: usize,

    #[command(flatten)]
    wiring: Wiring,
}

/// Request messages from a buffer
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream buffer-client source:tcp:localhost:5003 --latest 10",
    "foretop stream pred-buffer-client source:tcp:localhost:5007 --since 4711 --json",
]))]
pub struct BufferClient {
    /// The buffer's server, as source:
    #[arg(value_name = "ENDPOINT")]
    buffer: Endpoint,

    #[command(flatten)]
    which: Which,

    /// Print JSON lines; see docs/formats/cli.md
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print number, time, signal and values as CSV; for a forecast, one line per lead
    #[arg(long)]
    csv: bool,

    #[command(flatten)]
    question: Question,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The last N messages
    #[arg(long, value_name = "N")]
    latest: Option<u32>,

    /// The messages after the one with this number
    #[arg(long, value_name = "NUMBER")]
    since: Option<u64>,
}

impl KeepBuffer {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let buffer = Buffer::new(self.n).or_usage()?;
        self.wiring.run("buffer", Mirror::new("buffer", buffer), None, out).map(drop)
    }
}

impl BufferClient {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let ask = match (self.which.latest, self.which.since) {
            (Some(n), _) => Ask::Latest { n },
            (None, since) => Ask::Since { number: since.unwrap_or(0), n: u32::MAX },
        };
        let (_, messages) = self.question.ask(&self.buffer, ask)?;
        if self.csv {
            return write_csv(out, &messages);
        }
        let mut lines = Lines::new(if self.json { TextOrJson::Json } else { TextOrJson::Text });
        for line in messages.iter().filter_map(|message| lines.line(message)) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

/// Cells are empty for gaps.
fn write_csv(out: &mut dyn Write, messages: &[Message]) -> anyhow::Result<()> {
    let cell = |value: f64| if value.is_nan() { String::new() } else { value.to_string() };
    let is_forecast = messages.iter().any(|message| matches!(message, Message::Forecast(_)));
    writeln!(
        out,
        "{}",
        if is_forecast { "number,time,signal,lead,mean,standard_error" } else { "number,time,signal,value" }
    )?;
    for message in messages {
        match message {
            Message::Measurement(measurement) => {
                for (place, value) in measurement.values.iter().enumerate() {
                    writeln!(out, "{},{},{place},{}", measurement.number, measurement.time, cell(*value))?;
                }
            }
            Message::Sample(sample) => writeln!(out, "{},{},0,{}", sample.number, sample.time, cell(sample.value))?,
            Message::Forecast(forecast) => {
                let (number, time, signal) = (forecast.number, forecast.time, forecast.signal);
                for (idx, (mean, error)) in forecast.means.iter().zip(&forecast.standard_errors).enumerate() {
                    writeln!(out, "{number},{time},{signal},{},{},{}", idx + 1, cell(*mean), cell(*error))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
