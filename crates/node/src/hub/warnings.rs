//! Warnings as of the last look, and the rules that are silent.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use units::{Timestamp, WeekHours, span};
use warn::Expression;

use super::{Hub, QueryError};
use crate::api;
use crate::engine::about::{About, Concern};
use crate::warnings::{Lookout, Resource};

/// The longest silence.
const SILENCE_MAX: Duration = Duration::from_secs(30 * 86_400);

/// Rules that a refusal names, at most.
const N_NAMED_MAX: usize = 10;

/// Acknowledgements by the names of rules, and when the warning of each was raised.
pub(crate) type Acknowledged = BTreeMap<String, (Timestamp, api::Acknowledgement)>;

/// State shared by those who look and those who ask.
#[derive(Debug, Default)]
pub(super) struct Board {
    warnings: api::Warnings,
    silences: BTreeMap<String, Timestamp>,
    /// Acknowledgements by rule, each with the moment since which the warning stands that is acknowledged.
    acknowledged: Acknowledged,
    /// Number of changes of the warnings.
    n_changes: u64,
}

impl Hub {
    /// Returns the warnings of the last look.
    pub(crate) fn warnings(&self) -> api::Warnings {
        self.board().warnings.clone()
    }

    /// Returns a number that distinguishes the warnings of [`Hub::warnings`] at different times.
    pub(crate) fn n_changes_of_warnings(&self) -> u64 {
        self.board().n_changes
    }

    /// Returns the problems that a person should look at.
    pub(super) fn problems_of_warnings(&self) -> Vec<String> {
        let board = self.board();
        let api::Warnings { problem, ways, .. } = &board.warnings;
        let of_way = |way: &api::WarningWay| {
            let problem = way.problem.as_ref()?;
            Some(format!("warnings are not delivered, {}: {problem}; {} wait", way.name, way.n_waiting))
        };
        let of_rules = problem.iter().map(|problem| format!("older rules for warnings are in force: {problem}"));
        of_rules.chain(ways.iter().filter_map(of_way)).collect()
    }

    /// Stores the warnings of a look, with the acknowledgements of those that stand. Drops all others.
    pub(crate) fn tell_warnings(&self, mut warnings: api::Warnings) {
        let mut board = self.board();
        let mut before = std::mem::take(&mut board.acknowledged);
        for warning in &mut warnings.rules {
            let Some((since, acknowledged)) = before.remove(&warning.name) else { continue };
            if warning.since == Some(since) {
                warning.acknowledged = Some(acknowledged.clone());
                board.acknowledged.insert(warning.name.clone(), (since, acknowledged));
            }
        }
        board.warnings = warnings;
        board.n_changes += 1;
    }

    /// The rules of which nobody is to be told at this moment, and until when.
    pub(crate) fn silences(&self, now: Timestamp) -> BTreeMap<String, Timestamp> {
        let mut board = self.board();
        board.silences.retain(|_, until| *until > now);
        board.silences.clone()
    }

    pub(crate) fn silence_until(&self, rule: String, until: Timestamp) {
        self.board().silences.insert(rule, until);
    }

    /// Returns the acknowledgements of warnings.
    pub(crate) fn acknowledged(&self) -> Acknowledged {
        self.board().acknowledged.clone()
    }

    pub(crate) fn restore_acknowledged(&self, acknowledged: Acknowledged) {
        self.board().acknowledged = acknowledged;
    }

    /// Acknowledges the warning of a rule that stands, or the one that has stood since a moment.
    pub(crate) fn acknowledge(
        &self,
        rule: &str,
        since: Option<Timestamp>,
        by: Option<String>,
    ) -> Result<api::Warning, QueryError> {
        let at = self.now().floor_to(Duration::from_secs(1));
        let mut board = self.board();
        let warning = board.warning_mut(rule)?;
        let is_meant = |stands_since: &Timestamp| since.is_none_or(|since| since == *stands_since);
        let Some(since) = warning.since.filter(|_| warning.stands).filter(is_meant) else {
            return Err(QueryError::NothingFires { name: rule.to_owned(), since });
        };
        let acknowledged = api::Acknowledgement { at, by };
        warning.acknowledged = Some(acknowledged.clone());
        let warning = warning.clone();
        board.acknowledged.insert(rule.to_owned(), (since, acknowledged));
        board.n_changes += 1;
        Ok(warning)
    }

    /// Returns whether a moment is in quiet hours, by the clock of the calendar's time zone.
    pub(crate) fn is_quiet(&self, quiet: &WeekHours, now: Timestamp) -> bool {
        quiet.contains(now, self.facts.outlooks.calendar.zone())
    }

    /// Returns the moment from which on there is neither a silence nor a quiet hour.
    pub(crate) fn silent_until(
        &self,
        silence: Option<Timestamp>,
        quiet: &WeekHours,
        now: Timestamp,
    ) -> Option<Timestamp> {
        quiet.end(silence.unwrap_or(now), self.facts.outlooks.calendar.zone()).or(silence)
    }

    /// Silences a rule for so long from now on; 0 ends its silence. Its quiet hours stay. Blocks while a rule is
    /// written.
    pub(crate) fn silence_rule(&self, rule: &str, length: Duration) -> Result<api::Warning, QueryError> {
        if length > SILENCE_MAX {
            let message = format!("`for` is {}; a silence lasts 30d at most", span::format(length));
            return Err(QueryError::BadParameter { field: "for", message });
        }
        let (now, quiet) = (self.now(), self.quiet_hours(rule));
        let silence = (!length.is_zero()).then_some(now + length);
        let mut board = self.board();
        let warning = board.warning_mut(rule)?;
        warning.silent_until = self.silent_until(silence, &quiet, now);
        let warning = warning.clone();
        match silence {
            Some(until) => board.silences.insert(rule.to_owned(), until),
            None => board.silences.remove(rule),
        };
        board.n_changes += 1;
        Ok(warning)
    }

    /// The series that are there, with their steps and what is looked for in them.
    pub(crate) fn concerns(&self) -> BTreeMap<Arc<str>, (Duration, Concern)> {
        let engine = self.engine();
        let of = |about: &About| (Arc::clone(&about.id), (about.step, about.concern()));
        engine.entries().filter(|entry| entry.is_awake()).map(|entry| of(&entry.about)).collect()
    }

    /// The signals of resources that can be exhausted.
    pub(crate) fn resources(&self) -> Vec<Resource> {
        let engine = self.engine();
        let last_of = |id: &str| Some(engine.get(id)?.last_value()).filter(|value| !value.is_nan());
        let of = |about: &About| {
            let (comparison, line) = about.exhausted_at(last_of)?;
            let (id, host) = (Arc::clone(&about.id), about.host().cloned());
            Some(Resource { id, host, created: about.created, comparison, line })
        };
        engine.entries().filter(|entry| entry.is_awake()).filter_map(|entry| of(&entry.about)).collect()
    }

    /// Returns the resources that will be exhausted. Blocks while the store is read.
    pub(crate) fn exhaustion(&self) -> Result<api::ExhaustionList, QueryError> {
        self.exhaustions.lock().unwrap_or_else(PoisonError::into_inner).look(self)
    }

    /// Returns the time since which one of these signals has had no sample: of several, the one that has been silent
    /// longest.
    pub(crate) fn no_sample_since(&self, of: &Expression, now: Timestamp) -> Option<Timestamp> {
        let engine = self.engine();
        of.signals().iter().filter_map(|id| engine.get(id)?.no_sample_since(now)).min()
    }

    /// Locks the outlooks of rules.
    pub(crate) fn lookout(&self) -> MutexGuard<'_, Lookout> {
        self.lookout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    fn warning_mut(&mut self, rule: &str) -> Result<&mut api::Warning, QueryError> {
        let rules = &mut self.warnings.rules;
        let Some(idx) = rules.iter().position(|warning| warning.name == rule) else {
            let known = named(rules.iter().map(|warning| &*warning.name));
            return Err(QueryError::UnknownRule { name: rule.to_owned(), known });
        };
        Ok(&mut rules[idx])
    }
}

/// The names of rules as a refusal has them.
pub(super) fn named<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.take(N_NAMED_MAX).map(|name| format!("`{name}`")).collect()
}
