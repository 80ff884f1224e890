//! `foretop stream status`: how a component is.

use std::io::Write;

use clap::Args;
use stream::{Answer, Ask, Endpoint};
use text::printable;

use super::question::{Question, unexpected};
use command_line::terminal::write_json;
use text::help::examples;

/// Show the state of a component: its own report, and the events at its endpoints
#[derive(Args)]
#[command(after_help = examples(&["foretop stream status source:tcp:localhost:5005"]))]
pub struct Status {
    /// The component's server, as source:
    #[arg(value_name = "ENDPOINT")]
    component: Endpoint,

    /// Print JSON; see docs/formats/stream.md
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    question: Question,
}

impl Status {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let status = match self.question.ask(&self.component, Ask::Status {})? {
            (Answer::Status(status), _) => status,
            (other, _) => return Err(unexpected(&self.component, &other)),
        };
        if self.json {
            return Ok(write_json(out, &status)?);
        }
        writeln!(out, "{}", printable(&status.component))?;
        for (name, value) in &status.facts {
            writeln!(out, "  {:<20} {}", printable(name), printable(value))?;
        }
        for endpoint in &status.endpoints {
            let counted = &endpoint.counted;
            let at = endpoint.address.as_ref().map(|address| format!(" at {address}")).unwrap_or_default();
            let logins = match counted.n_failed_logins {
                0 => String::new(),
                n => format!(", {n} failed logins"),
            };
            let line = format!(
                "{}{at}: {} frames, {} bytes, {} dropped, {} bad, {} connected, {} bytes waiting{logins}{}",
                endpoint.endpoint,
                counted.n_frames,
                counted.n_bytes,
                counted.n_dropped,
                counted.n_bad,
                counted.n_connected,
                counted.backlog_bytes,
                counted.last_error.as_ref().map(|error| format!("; last error: {error}")).unwrap_or_default(),
            );
            writeln!(out, "  {}", printable(&line))?;
        }
        Ok(())
    }
}
