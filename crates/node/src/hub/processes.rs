//! Processes of the host, now and in minutes of the past.

use std::time::Duration;

use units::{Timestamp, span};
use warn::{Comparison, Expression, look_back};

use super::history::n_steps;
use super::{Hub, QueryError, TimeRange};
use crate::api::{ChangeCause, ProcessGrouping, ProcessOrder, ProcessTable, ProgramHistory};
use crate::engine::about::Behind;
use crate::processes::{ProcessQuestion, cause, of_minute, of_minutes};
use crate::store::{Batch, MINUTE, programs};

/// The most minutes of a history.
const MINUTES_MAX: u64 = 120;

/// The longest time over which a cause is looked for.
const CAUSE_MAX: Duration = Duration::from_secs(86_400);

impl Hub {
    /// Reads the processes whose turn it is, and stores the minute that is over, if one is.
    pub(crate) fn scan_processes(&self) {
        let minute = self.processes.scan(&*self.clock);
        if let Some(packed) = minute.and_then(|minute| minute.packed()) {
            self.store.put(Batch { programs: vec![packed], ..Batch::default() });
        }
    }

    /// Returns the processes as of the last scan, or the programs of the last stored minute that began by a moment.
    pub(crate) fn processes(&self, asked: &ProcessQuestion) -> Result<ProcessTable, QueryError> {
        let Some(at) = asked.at else {
            // A store that cannot be read does not keep anybody from seeing what is going on.
            let last = self.store.read(programs::ends).ok().flatten().map(|(_, last)| last);
            return Ok(ProcessTable { previous: last, ..self.processes.now(&*self.clock, asked) });
        };
        if asked.by != ProcessGrouping::Program {
            let by = asked.by.as_str();
            let message = format!("minutes of the past are by program, not by {by}; leave out `by`, or leave out `at`");
            return Err(QueryError::BadParameter { field: "by", message });
        }
        let at = at.resolve(self.now());
        let read = self.store.read(|sql| match programs::minute_at(sql, at)? {
            Some(found) => Ok(Ok(found)),
            None => Ok(Err(programs::ends(sql)?.map(|(first, _)| first))),
        });
        match read.map_err(|problem| QueryError::StoreUnavailable { problem })? {
            Ok(found) => Ok(of_minute(found, asked)),
            Err(first) => Err(QueryError::NoMinute { at, first }),
        }
    }

    /// Returns the use of a resource by the programs that used the most of it in the stored minutes that begin in a
    /// range.
    pub(crate) fn program_history(
        &self,
        range: TimeRange,
        sort: ProcessOrder,
        limit: usize,
    ) -> Result<ProgramHistory, QueryError> {
        let n = n_steps(range.from, range.to, MINUTE);
        if n > MINUTES_MAX {
            let message = format!("from … to is {n} minutes, but a history has at most {MINUTES_MAX}");
            return Err(QueryError::BadParameter { field: "from", message });
        }
        let read = self.store.read(|sql| Ok((programs::ends(sql)?, programs::minutes(sql, range.from..range.to)?)));
        let (ends, minutes) = read.map_err(|problem| QueryError::StoreUnavailable { problem })?;
        Ok(of_minutes(minutes, ends.map(|(first, _)| first), sort, limit))
    }

    /// Returns the programs whose use of a resource moved a series. Blocks while the store is read.
    pub(crate) fn cause(&self, id: &str, range: TimeRange) -> Result<ChangeCause, QueryError> {
        let TimeRange { from, to } = range;
        if to.saturating_since(from) > CAUSE_MAX {
            let message = format!("a cause is looked for over {} at most", span::format(CAUSE_MAX));
            return Err(QueryError::BadParameter { field: "from", message });
        }
        let behind = self.behind(id)?.ok_or_else(|| QueryError::NoCause { id: id.to_owned() })?;
        let read = self.store.read(|sql| programs::minutes(sql, from..to));
        let minutes = read.map_err(|problem| QueryError::StoreUnavailable { problem })?;
        let only_pid =
            |name: &str, unit: Option<&str>, container: Option<&str>| self.processes.only_pid(name, unit, container);
        cause(id, behind, &minutes, only_pid).ok_or(QueryError::TooFewMinutes { n: minutes.len() })
    }

    /// Returns the cause of what will come of some signals `within` a time, if a resource is behind one of them, and
    /// its use changes towards that. Blocks while the store is read.
    pub(crate) fn cause_of(
        &self,
        of: &Expression,
        comparison: Comparison,
        within: Duration,
        now: Timestamp,
    ) -> Option<ChangeCause> {
        let signals = of.signals();
        let (id, behind) = signals.iter().find_map(|id| Some((id, self.behind(id).ok()??)))?;
        let cause = self.cause(id, TimeRange { from: now - look_back(within), to: now }).ok()?;
        let is_for_more = matches!(comparison, Comparison::Above | Comparison::AtLeast);
        let is_towards = (cause.change > 0.0) == (is_for_more != behind.is_what_is_left);
        // In a ratio or a difference more of one signal can be less of the whole.
        (is_towards || signals.len() > 1).then_some(cause)
    }

    fn behind(&self, id: &str) -> Result<Option<Behind>, QueryError> {
        let engine = self.engine();
        let entry = engine.get(id).ok_or_else(|| QueryError::UnknownSeries { id: id.to_owned() })?;
        Ok(entry.about.behind())
    }
}
