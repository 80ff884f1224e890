//! Resources that will be exhausted, on all hosts whose signals the node has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use units::Timestamp;
use warn::{Comparison, Expression, HORIZON_MAX, Question, Subject};

use super::passage;
use super::running::Running;
use crate::api;
use crate::hub::{Hub, QueryError};
use crate::schedule::times;

/// The probability from which on a resource is listed.
const LISTED: f64 = 0.1;

/// Largest horizon, in lengths of the known past: what was seen for an hour does not tell the next week. An answer has
/// at most 360 steps, so that a third as many are known.
const N_PASTS_AHEAD: u32 = 3;

/// Length of the past from which on there is an answer.
const KNOWN_MIN: Duration = Duration::from_secs(3600);

/// Results for each resource, until the step of its outlook is over.
#[derive(Debug, Default)]
pub(crate) struct Exhaustions(BTreeMap<Arc<str>, (Timestamp, Found)>);

#[derive(Debug)]
enum Found {
    Young,
    Lasting,
    Exhausted(Box<api::Exhaustion>),
}

/// A signal of a resource, and the line beyond which that is exhausted.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) id: Arc<str>,
    /// The host that has it; `None` for the node's own.
    pub(crate) host: Option<Arc<str>>,
    /// The moment since which it is known.
    pub(crate) created: Timestamp,
    pub(crate) comparison: Comparison,
    pub(crate) line: f64,
}

impl Exhaustions {
    /// Looks at the resources of which a step has ended since the last look. Blocks while the store is read.
    pub(crate) fn look(&mut self, hub: &Hub) -> Result<api::ExhaustionList, QueryError> {
        let now = hub.now();
        let (mut n_lasting, mut n_too_young, mut n_silent) = (0, 0, 0);
        let mut resources = Vec::new();
        let mut before = std::mem::take(&mut self.0);
        for resource in hub.resources() {
            // A forecast from what was known long ago is none.
            if hub.no_sample_since(&Expression::from(&*resource.id), now).is_some() {
                n_silent += 1;
                continue;
            }
            let known = match before.remove(&resource.id).filter(|(until, _)| now < *until) {
                Some(known) => known,
                None => resource.look(hub, now)?,
            };
            match &known.1 {
                Found::Young => n_too_young += 1,
                Found::Lasting => n_lasting += 1,
                Found::Exhausted(found) => resources.push((**found).clone()),
            }
            self.0.insert(resource.id, known);
        }
        // Without a median, the event is improbable, and its time is not known.
        let after = |one: &api::Exhaustion| match one.is_exhausted {
            true => 0.0,
            false => one.after.p50_seconds.unwrap_or(f64::INFINITY),
        };
        resources.sort_by(|one, other| {
            after(one).total_cmp(&after(other)).then(other.probability.total_cmp(&one.probability))
        });
        Ok(api::ExhaustionList { resources, n_lasting, n_too_young, n_silent })
    }
}

impl Resource {
    /// Returns the result, and the moment until which no other can be.
    fn look(&self, hub: &Hub, now: Timestamp) -> Result<(Timestamp, Found), QueryError> {
        let known = now.saturating_since(self.created);
        if known < KNOWN_MIN {
            return Ok((self.created + KNOWN_MIN, Found::Young));
        }
        let horizon = known.saturating_mul(N_PASTS_AHEAD).min(HORIZON_MAX);
        let past = match hub.pasts_even_if_young(&Expression::from(&*self.id), horizon) {
            Ok(past) => past,
            Err(QueryError::TooYoung { step, .. }) => return Ok((now + step, Found::Young)),
            // It has gone since it was listed.
            Err(QueryError::UnknownSeries { .. }) => return Ok((now, Found::Young)),
            Err(error) => return Err(error),
        };
        let Resource { comparison, line, .. } = *self;
        let n_leads = past.n_leads();
        let question = Question { subject: Subject::Any, comparison, line, n_leads, n_sustained: 1 };
        let running = Running::after(&past, &[question]);
        let until = running.next + running.step;
        let is_exhausted = comparison.holds(running.last, line);
        if !is_exhausted && !running.foresight.may_come(&question, LISTED) {
            return Ok((until, if running.foresight.is_ready() { Found::Lasting } else { Found::Young }));
        }
        let Some(answer) = running.answer(&question) else { return Ok((until, Found::Young)) };
        if !is_exhausted && answer.chance.probability < LISTED {
            return Ok((until, Found::Lasting));
        }
        let found = api::Exhaustion {
            id: self.id.to_string(),
            host: self.host.as_deref().map_or_else(|| hub.info().host, str::to_owned),
            rises: matches!(comparison, Comparison::Above | Comparison::AtLeast),
            line,
            last: running.last,
            is_exhausted,
            within_seconds: times(running.step, n_leads as u64).as_secs_f64(),
            probability: answer.chance.probability,
            after: passage(answer.chance, running.step),
            origin: running.known,
            step_seconds: running.step.as_secs_f64(),
            history_seconds: times(running.step, running.n_taken as u64).as_secs_f64(),
            unit: running.unit,
        };
        Ok((until, Found::Exhausted(Box::new(found))))
    }
}
