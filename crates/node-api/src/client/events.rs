//! A node's stream of server-sent events, as the HTML standard (section 9.2) frames them.

use std::io::{self, BufRead, BufReader, Read};

use serde::de::DeserializeOwned;

use super::{ClientError, NodeUrl};
use crate::{Health, Hello, Lagged, TickEvent, Warnings};

/// No event is longer: 1,100 series with seven leads each take some 300 kB.
const EVENT_BYTES_MAX: u64 = 16 << 20;

/// An event of a node's stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The node that sends the stream; always first.
    Hello(Hello),
    /// Samples and forecasts.
    Tick(TickEvent),
    /// Ticks were left out.
    Lagged(Lagged),
    /// The node's state, first and whenever it changes.
    Health(Health),
    /// Warnings, after the health and at every look ahead.
    Warnings(Warnings),
}

/// The events as they arrive; waits for each. Kinds that are not known are passed over.
pub struct Events {
    lines: Box<dyn BufRead + Send>,
    url: NodeUrl,
}

impl Events {
    pub(super) fn new(reader: impl Read + Send + 'static, url: NodeUrl) -> Self {
        Self { lines: Box::new(BufReader::new(reader)), url }
    }

    /// The next event; an error ends the stream.
    pub fn next_event(&mut self) -> Result<Event, ClientError> {
        loop {
            let (kind, data) = self.frame()?;
            let event = match kind.as_str() {
                "hello" => Event::Hello(self.parse(&data)?),
                "tick" => Event::Tick(self.parse(&data)?),
                "lagged" => Event::Lagged(self.parse(&data)?),
                "health" => Event::Health(self.parse(&data)?),
                "warnings" => Event::Warnings(self.parse(&data)?),
                _ => continue,
            };
            return Ok(event);
        }
    }

    /// Kind and data of the next frame that has data. Comments keep the connection alive and mean nothing.
    fn frame(&mut self) -> Result<(String, String), ClientError> {
        let (mut kind, mut data) = (String::new(), String::new());
        loop {
            let line = self.line()?;
            match line.split_once(':').map(|(field, value)| (field, value.strip_prefix(' ').unwrap_or(value))) {
                Some(("event", value)) => kind = value.to_owned(),
                Some(("data", value)) => {
                    if !data.is_empty() {
                        data.push('\n');
                    }
                    data.push_str(value);
                }
                Some(_) => {}
                None if line.is_empty() && data.is_empty() => kind.clear(),
                None if line.is_empty() => return Ok((kind, data)),
                None => {}
            }
        }
    }

    fn line(&mut self) -> Result<String, ClientError> {
        let mut line = String::new();
        let n_bytes = (&mut self.lines).take(EVENT_BYTES_MAX).read_line(&mut line).map_err(|error| self.lost(error))?;
        match line.strip_suffix('\n') {
            Some(whole) => Ok(whole.trim_end_matches('\r').to_owned()),
            None if n_bytes as u64 == EVENT_BYTES_MAX => Err(self.not_a_node("an event without end".to_owned())),
            None => Err(ClientError::Ended { url: self.url.clone() }),
        }
    }

    fn parse<T: DeserializeOwned>(&self, data: &str) -> Result<T, ClientError> {
        serde_json::from_str(data).map_err(|error| self.not_a_node(error.to_string()))
    }

    fn not_a_node(&self, reason: String) -> ClientError {
        ClientError::NotANode { url: self.url.clone(), reason }
    }

    fn lost(&self, error: io::Error) -> ClientError {
        ClientError::Lost { url: self.url.clone(), source: Box::new(error.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &'static str) -> Events {
        Events::new(text.as_bytes(), NodeUrl::default())
    }

    #[test]
    fn comments_and_unknown_kinds_are_passed_over() {
        let text = ": keep-alive\n\nevent: news\ndata: {}\n\nevent: lagged\r\ndata: {\"missed\":\r\ndata: 12}\r\n\r\n";
        let mut events = events(text);
        assert_eq!(events.next_event().unwrap(), Event::Lagged(Lagged { missed: 12 }));
        assert!(matches!(events.next_event(), Err(ClientError::Ended { .. })));
    }

    #[test]
    fn half_an_event_is_none() {
        assert!(matches!(events("event: lagged\ndata: {\"missed\":1}\n").next_event(), Err(ClientError::Ended { .. })));
    }

    #[test]
    fn nonsense_is_not_taken_for_an_event() {
        assert!(matches!(events("event: tick\ndata: 7\n\n").next_event(), Err(ClientError::NotANode { .. })));
    }
}
