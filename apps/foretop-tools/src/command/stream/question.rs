//! Asking a component once; `foretop stream reconfig` and `pred-reconfig`, which change what it does while it runs.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use predict::Spec;
use stream::{Answer, Ask, CallError, Caller, Endpoint, Message, Role};
use units::span;

use super::wiring::Protection;
use command_line::failure::OrUsage;
use text::help::examples;

/// Limits of a request to a component.
#[derive(Args, Clone, Debug)]
pub struct Question {
    /// The time to wait for the answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = span::parse)]
    limit: Duration,

    #[command(flatten)]
    protection: Protection,
}

/// Change the step of a running sensor
#[derive(Args)]
#[command(after_help = examples(&["foretop stream reconfig source:tcp:localhost:5000 --step 100ms"]))]
pub struct Reconfig {
    /// The sensor's server, as source:
    #[arg(value_name = "ENDPOINT")]
    sensor: Endpoint,

    /// Time between measurements from now on
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    step: Duration,

    #[command(flatten)]
    question: Question,
}

/// Change the model of a running prediction server, or refit it
///
/// Settings that are not given stay. The model is fitted to the last samples before the answer is sent; if it cannot be
/// fitted, nothing changes.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream pred-reconfig source:tcp:localhost:5005 --model 'AR(32)' --horizon 60",
    "foretop stream pred-reconfig source:tcp:localhost:5005 --refit",
]))]
pub struct PredReconfig {
    /// The prediction server's server, as source:
    #[arg(value_name = "ENDPOINT")]
    server: Endpoint,

    /// The model; `foretop models` lists them
    #[arg(long, value_name = "TEXT")]
    model: Option<Spec>,

    /// The number of last samples to fit to
    #[arg(long, value_name = "N")]
    window: Option<u32>,

    /// The horizon, in steps
    #[arg(long, value_name = "N")]
    horizon: Option<u32>,

    /// Fit the same model again
    #[arg(long, conflicts_with_all = ["model", "window", "horizon"])]
    refit: bool,

    #[command(flatten)]
    question: Question,
}

impl Question {
    /// Sends a request, and returns the answer.
    ///
    /// # Errors
    /// When the component cannot be reached or refuses.
    pub fn ask(&self, server: &Endpoint, ask: Ask) -> anyhow::Result<(Answer, Vec<Message>)> {
        if server.role != Role::Source {
            let asked = Endpoint { role: Role::Source, ..server.clone() };
            return Err(anyhow::anyhow!("to ask a server, write {asked}, not {server}")).or_usage();
        }
        let mut caller = Caller::open(server, &self.protection.security().or_usage()?)?;
        Ok(caller.call(ask, self.limit)?)
    }
}

impl Reconfig {
    pub fn run(self) -> anyhow::Result<()> {
        let step_ns = u64::try_from(self.step.as_nanos()).unwrap_or(u64::MAX);
        match self.question.ask(&self.sensor, Ask::SetStep { step_ns })? {
            (Answer::Done {}, _) => Ok(()),
            (other, _) => Err(unexpected(&self.sensor, &other)),
        }
    }
}

impl PredReconfig {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { server, model, window, horizon, refit, question } = self;
        let ask = if refit {
            Ask::Refit {}
        } else if model.is_none() && window.is_none() && horizon.is_none() {
            return Err(anyhow::anyhow!("say what to change: --model, --window, --horizon, or --refit")).or_usage();
        } else {
            Ask::Reconfigure { model: model.map(|model| model.to_string()), window, horizon }
        };
        match question.ask(&server, ask)? {
            (Answer::Configuration(is), _) => {
                writeln!(out, "{} on the last {} samples, {} steps ahead", is.model, is.window, is.horizon)?;
                Ok(())
            }
            (other, _) => Err(unexpected(&server, &other)),
        }
    }
}

/// Returns the error of an answer to another question.
pub fn unexpected(server: &Endpoint, answer: &Answer) -> anyhow::Error {
    CallError::Unexpected { endpoint: server.to_string(), answer: format!("{answer:?}") }.into()
}
