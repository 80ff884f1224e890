//! Subjects of a NATS server, and what is kept of them in JetStream.

use std::time::Duration;

use super::Role;
use super::place::not_listening;

/// No subject that people read is longer.
const SUBJECT_BYTES_MAX: usize = 256;

/// A subject, and how JetStream is used with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NatsPlace {
    /// Words joined by dots; of a source, `*` stands for any word and `>` at the end for any that follow.
    pub subject: String,
    /// The point from which past messages are replayed, for a source.
    pub replay: Option<Replay>,
    /// The retention limits for messages of a target; if absent, the messages are not kept.
    pub keep: Option<Keep>,
}

/// The position in a JetStream stream at which a replay begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replay {
    /// The last messages of the subject: so many, or all that there are.
    Last(u64),
    /// Messages received during this time before the replay.
    Since(Duration),
    /// Messages after this number of the JetStream stream.
    After(u64),
}

/// Retention limits of a JetStream stream that a target makes; the oldest messages go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Keep {
    /// The maximum age.
    pub age: Duration,
    /// The maximum size in bytes.
    pub bytes: u64,
}

impl Default for Keep {
    /// A day, and 256 MiB.
    fn default() -> Self {
        Self { age: Duration::from_hours(24), bytes: 256 << 20 }
    }
}

impl NatsPlace {
    pub(super) fn parse(role: Role, subject: &str) -> Result<Self, String> {
        if role != Role::Server {
            not_listening(role, "to a subject")?;
        }
        let is_word = |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c.is_control());
        if subject.len() > SUBJECT_BYTES_MAX || !subject.split('.').all(is_word) {
            return Err(format!(
                "`{subject}` is not a subject: it must be words joined by dots, without space, up to {SUBJECT_BYTES_MAX} bytes"
            ));
        }
        if role != Role::Source && subject.split('.').any(|word| matches!(word, "*" | ">")) {
            return Err(format!("`{subject}` stands for many subjects, which only a source can have"));
        }
        Ok(Self { subject: subject.to_owned(), replay: None, keep: None })
    }

    /// Takes the options that belong to it.
    pub(super) fn take(&mut self, role: Role, keep: Option<Keep>, replay: Option<Replay>) -> Result<(), String> {
        if (keep.is_some() && role != Role::Target) || (replay.is_some() && role != Role::Source) {
            return Err("durable is for a target, replay for a source".to_owned());
        }
        (self.keep, self.replay) = (keep, replay);
        Ok(())
    }
}
