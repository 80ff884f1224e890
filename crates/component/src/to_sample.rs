//! One signal of a stream of measurements as a stream of generic samples (RPS's `load2measure` and `flowbw2measure`).

use std::convert::Infallible;
use std::str::FromStr;

use stream::{Carries, Description, Handler, InputId, Message, Outputs, Sample};

/// Choice of a signal of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalChoice {
    /// Id of the signal, such as `load.1m`.
    Named(String),
    /// Position of the signal in the description, from 0.
    At(usize),
}

impl FromStr for SignalChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::Named(text.to_owned()), Self::At))
    }
}

/// Makes samples of one signal of measurements. Samples that come in go on as they are.
#[derive(Debug)]
pub struct ToSample {
    choice: SignalChoice,
    /// Position of the signal, once the stream's description came.
    place: Option<usize>,
    problem: Option<String>,
    n_without: u64,
}

impl ToSample {
    /// Builds the conversion of this signal.
    #[must_use]
    pub fn new(choice: SignalChoice) -> Self {
        let place = match choice {
            SignalChoice::At(place) => Some(place),
            SignalChoice::Named(_) => None,
        };
        Self { choice, place, problem: None, n_without: 0 }
    }

    fn describe(&mut self, mut description: Description, outputs: &mut Outputs) {
        self.place = match &self.choice {
            SignalChoice::At(place) => Some(*place),
            SignalChoice::Named(id) => description.signals.iter().position(|signal| signal.id == *id),
        };
        let Some(signal) = self.place.and_then(|place| description.signals.get(place)).cloned() else {
            let there = description.signals.iter().map(|signal| signal.id.as_str()).collect::<Vec<_>>().join(", ");
            let problem = format!("the stream does not carry {:?}; it carries {there}", self.choice);
            tracing::warn!(problem, "no samples");
            (self.place, self.problem) = (None, Some(problem));
            return;
        };
        self.problem = None;
        (description.signals, description.carries) = (vec![signal], Carries::Sample);
        outputs.describe(&description);
    }
}

impl Handler for ToSample {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        match message {
            Message::Description(description) if description.carries == Carries::Sample => {
                outputs.describe(&description)
            }
            Message::Description(description) => self.describe(description, outputs),
            Message::Measurement(measurement) => match self.place.and_then(|place| measurement.values.get(place)) {
                Some(value) => {
                    outputs.send(&Sample { number: measurement.number, time: measurement.time, value: *value });
                }
                None => self.n_without += 1,
            },
            sample @ Message::Sample(_) => outputs.forward(&sample),
            _ => self.n_without += 1,
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("messages_without_the_signal".to_owned(), self.n_without.to_string())];
        facts.extend(self.problem.clone().map(|problem| ("problem".to_owned(), problem)));
        facts
    }
}
