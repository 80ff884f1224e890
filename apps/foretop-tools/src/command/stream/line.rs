//! Messages as lines, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;
use stream::{Carries, Description, Message};
use text::printable;

use command_line::argument::TextOrJson;

/// Writes messages as lines; it remembers what the stream carries.
#[derive(Debug)]
pub struct Lines {
    format: TextOrJson,
    description: Option<Description>,
}

/// A message as JSON.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    Description(&'a Description),
    Measurement { number: u64, time: String, values: &'a [f64] },
    Sample { number: u64, time: String, value: f64 },
    Forecast { number: u64, time: String, completed: String, signal: u32, means: &'a [f64], standard_errors: &'a [f64] },
}

impl Lines {
    pub fn new(format: TextOrJson) -> Self {
        Self { format, description: None }
    }

    /// The line of a message, without its end; `None` for what is no part of a stream.
    pub fn line(&mut self, message: &Message) -> Option<String> {
        if let Message::Description(description) = message {
            self.description = Some(description.clone());
        }
        match self.format {
            TextOrJson::Json => json(message).map(|line| serde_json::to_string(&line).expect("a line has a JSON form")),
            TextOrJson::Text => self.text(message).map(|line| printable(&line)),
        }
    }

    fn text(&self, message: &Message) -> Option<String> {
        Some(match message {
            Message::Description(description) => {
                let carries = match description.carries {
                    Carries::Measurement => "measurements",
                    Carries::Sample => "samples",
                    Carries::Forecast => "forecasts",
                    Carries::Results => "results",
                };
                let signals: Vec<_> = description.signals.iter().map(|signal| signal.id.as_str()).collect();
                let step = units::span::format(description.step());
                let (stream, host) = (&description.stream, &description.host);
                format!("# {stream} of {host}: {carries} of {}, every {step}", signals.join(", "))
            }
            Message::Measurement(measurement) => {
                let mut line = format!("{} {}", measurement.number, measurement.time);
                for (place, value) in measurement.values.iter().enumerate() {
                    let _ = write!(line, " {}={value}", self.signal(place));
                }
                line
            }
            Message::Sample(sample) => format!("{} {} {}={}", sample.number, sample.time, self.signal(0), sample.value),
            Message::Forecast(forecast) => {
                let place = usize::try_from(forecast.signal).unwrap_or(usize::MAX);
                let mut line = format!("{} {} {}", forecast.number, forecast.time, self.signal(place));
                for (mean, standard_error) in forecast.means.iter().zip(&forecast.standard_errors) {
                    let _ = write!(line, " {mean:.6}±{standard_error:.6}");
                }
                line
            }
            Message::Request(_) | Message::Reply(_) | Message::Greeting(_) | Message::Results(_) => return None,
        })
    }

    fn signal(&self, place: usize) -> &str {
        let signal = self.description.as_ref().and_then(|description| description.signals.get(place));
        signal.map_or("?", |signal| signal.id.as_str())
    }
}

fn json(message: &Message) -> Option<Line<'_>> {
    Some(match message {
        Message::Description(description) => Line::Description(description),
        Message::Measurement(measurement) => Line::Measurement {
            number: measurement.number,
            time: measurement.time.to_string(),
            values: &measurement.values,
        },
        Message::Sample(sample) => {
            Line::Sample { number: sample.number, time: sample.time.to_string(), value: sample.value }
        }
        Message::Forecast(forecast) => Line::Forecast {
            number: forecast.number,
            time: forecast.time.to_string(),
            completed: forecast.completed.to_string(),
            signal: forecast.signal,
            means: &forecast.means,
            standard_errors: &forecast.standard_errors,
        },
        Message::Request(_) | Message::Reply(_) | Message::Greeting(_) | Message::Results(_) => return None,
    })
}
