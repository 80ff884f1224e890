//! Messages that have arrived at a process and were not taken, found by time as well as by source.

use std::collections::BTreeMap;

use units::SimTime;

use crate::process::{Arrival, ProcessIdx, Sent, Wants};

/// Messages by the order in which they are taken: time, source, order of sending.
pub(crate) struct Inbox<M> {
    by_time: BTreeMap<(SimTime, ProcessIdx, u64), M>,
    /// Messages by source, kept from the first time on that somebody's next message is asked for: most processes never
    /// do.
    by_source: Option<BTreeMap<(ProcessIdx, u64), SimTime>>,
}

impl<M> Default for Inbox<M> {
    fn default() -> Self {
        Self { by_time: BTreeMap::new(), by_source: None }
    }
}

impl<M> Inbox<M> {
    pub fn put(&mut self, sent: Sent<M>) {
        if let Some(by_source) = &mut self.by_source {
            by_source.insert((sent.source, sent.sequence), sent.at);
        }
        self.by_time.insert((sent.at, sent.source, sent.sequence), sent.message);
    }

    /// Returns the arrival time of the message that is taken next.
    pub fn next(&mut self, wants: Wants) -> Option<SimTime> {
        match wants {
            Wants::Any => self.by_time.first_key_value().map(|(&(at, _, _), _)| at),
            Wants::Next(source) => self.of(source).map(|(at, _)| at),
            Wants::Nothing => None,
        }
    }

    /// Removes the message that is taken next.
    pub fn take(&mut self, wants: Wants) -> Option<Arrival<M>> {
        let ((at, source, sequence), message) = match wants {
            Wants::Any => self.by_time.pop_first()?,
            Wants::Next(source) => {
                let (at, sequence) = self.of(source)?;
                self.by_time.remove_entry(&(at, source, sequence))?
            }
            Wants::Nothing => return None,
        };
        if let Some(by_source) = &mut self.by_source {
            by_source.remove(&(source, sequence));
        }
        Some(Arrival { at, source, message })
    }

    fn of(&mut self, source: ProcessIdx) -> Option<(SimTime, u64)> {
        let by_time = &self.by_time;
        let by_source = self
            .by_source
            .get_or_insert_with(|| by_time.keys().map(|&(at, source, sequence)| ((source, sequence), at)).collect());
        let (&(_, sequence), &at) = by_source.range((source, 0)..=(source, u64::MAX)).next()?;
        Some((at, sequence))
    }
}
