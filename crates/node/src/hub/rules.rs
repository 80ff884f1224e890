//! The rules for warnings: those of the file, those that were made on the page, and what one would have done.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use predict::Cancel;
use statistics::median;
use units::{WeekHours, span};
use warn::{Alarm, Question, Rule, Rules, n_steps};

use super::outlook::SEED;
use super::past::{ENDLESS, bad, ends, no_question};
use super::warnings::named;
use super::{Hub, QueryError, unknown};
use crate::api::{self, RuleOrigin};
use crate::warnings::PageRules;

/// The rules that there are: those of the file, and those of the page.
#[derive(Debug, Default)]
pub(super) struct Book {
    file: Vec<Rule>,
    page: PageRules,
}

impl Book {
    fn is_of_file(&self, name: &str) -> bool {
        self.file.iter().any(|rule| rule.name == name)
    }

    fn file_names(&self) -> BTreeSet<&str> {
        self.file.iter().map(|rule| &*rule.name).collect()
    }

    /// The file's, and those of the page whose names it does not have.
    fn in_force(&self) -> impl Iterator<Item = (&Rule, RuleOrigin)> {
        let names = self.file_names();
        let page = self.page.rules().iter().filter(move |rule| !names.contains(&*rule.name));
        let of = |origin| move |rule| (rule, origin);
        self.file.iter().map(of(RuleOrigin::File)).chain(page.map(of(RuleOrigin::Page))).take(Rules::N_MAX)
    }
}

impl Hub {
    /// Goes on with the rules of the page that are kept.
    pub(crate) fn keep_rules(&self, page: PageRules) {
        self.book().page = page;
    }

    /// Takes what the file of rules has.
    pub(crate) fn tell_file_rules(&self, rules: &[Rule]) {
        let mut book = self.book();
        rules.clone_into(&mut book.file);
        let names = book.file_names();
        for rule in book.page.rules().iter().filter(|rule| names.contains(&*rule.name)) {
            tracing::warn!(rule = rule.name, "the file has a rule of this name; that of the page rests");
        }
    }

    /// The rules that are to be watched.
    pub(crate) fn rules_in_force(&self) -> Vec<Rule> {
        self.book().in_force().map(|(rule, _)| rule.clone()).collect()
    }

    /// Returns the quiet hours of a rule. Blocks while one is written.
    pub(super) fn quiet_hours(&self, name: &str) -> WeekHours {
        let book = self.book();
        book.in_force().find(|(rule, _)| rule.name == name).map(|(rule, _)| rule.quiet.clone()).unwrap_or_default()
    }

    /// The rules that there are. Blocks while one is written.
    pub(crate) fn rules(&self) -> api::Rules {
        let book = self.book();
        api::Rules {
            rules: book.in_force().map(|(rule, from)| told(rule, from)).collect(),
            toml: Rules::to_toml(book.page.rules()),
            is_kept: book.page.is_kept(),
        }
    }

    /// Makes a rule of the page that can have an answer, or replaces the one of its name. Blocks while it is written.
    pub(crate) fn put_rule(&self, rule: Rule) -> Result<api::Rule, QueryError> {
        let answer = told(&rule, RuleOrigin::Page);
        let mut book = self.book();
        if book.is_of_file(&rule.name) {
            return Err(QueryError::RuleOfFile { name: rule.name });
        }
        self.check_rule(&rule)?;
        let mut rules = book.page.rules().to_vec();
        match rules.iter().position(|known| known.name == rule.name) {
            Some(idx) => rules[idx] = rule,
            None if rules.len() + book.file.len() >= Rules::N_MAX => return Err(QueryError::TooManyRules),
            None => rules.push(rule),
        }
        book.page.replace(rules).map_err(unwritten)?;
        Ok(answer)
    }

    /// Removes a rule of the page. Blocks while that is written.
    pub(crate) fn remove_rule(&self, name: &str) -> Result<(), QueryError> {
        let mut book = self.book();
        let mut rules = book.page.rules().to_vec();
        let Some(idx) = rules.iter().position(|rule| rule.name == name) else {
            let name = name.to_owned();
            return Err(match book.is_of_file(&name) {
                true => QueryError::RuleOfFile { name },
                false => QueryError::UnknownRule { name, known: named(rules.iter().map(|rule| &*rule.name)) },
            });
        };
        rules.remove(idx);
        book.page.replace(rules).map_err(unwritten)
    }

    /// Computes what a rule would have done over so much of the past, unless nobody wants the result any more. Quiet
    /// hours make no difference. Blocks for seconds.
    pub(crate) fn try_rule(
        &self,
        rule: &Rule,
        length: Duration,
        seasons: api::Seasons,
        cancel: &Cancel,
    ) -> Result<api::TriedRule, QueryError> {
        if length.is_zero() {
            let message = format!("`past` is {}; it must be above 0", span::format(length));
            return Err(QueryError::BadParameter { field: "past", message });
        }
        let past = self.pasts(&rule.when.of, rule.within)?.with(seasons);
        let question = past.question(&rule.when, rule.within, rule.lasting)?;
        let n_tried = usize::try_from(n_steps(length, past.step())).unwrap_or(usize::MAX);
        let alarm = Alarm::new(rule.raise, rule.clear);
        let trial = warn::trial(past.history(), &question, alarm, past.n_steps().saturating_sub(n_tried), SEED, cancel)
            .ok_or_else(|| past.too_young())?;
        let leads: Vec<f64> = trial.leads.iter().map(|lead| past.seconds(*lead)).collect();
        Ok(api::TriedRule {
            past_seconds: past.seconds(trial.n_steps),
            n_warned: trial.n_warned,
            n_right: trial.n_right,
            n_late: trial.n_late,
            n_events: trial.n_events,
            n_foreseen: leads.len(),
            ahead_median_seconds: median(&leads),
        })
    }

    /// Whether a rule can have an answer, whatever is known of the past of its signals.
    pub(crate) fn check_rule(&self, rule: &Rule) -> Result<(), QueryError> {
        let Rule { when, within, lasting, .. } = rule;
        let (mut step, mut units, mut range) = (Duration::ZERO, Vec::new(), ENDLESS);
        for id in when.of.signals() {
            step = step.max(self.step_for(id, *within, "within")?);
            let engine = self.engine();
            let about = &engine.get(id).ok_or_else(|| unknown(id))?.about;
            units.push(about.unit().to_string());
            if when.of.is_signal() {
                range = ends(about.range());
            }
        }
        let units: Vec<&str> = units.iter().map(|unit| &**unit).collect();
        let unit = when.of.unit(&units).map_err(|error| bad("statement", error.to_string()))?;
        Question::of(when, &unit, range, *within, *lasting, step).map(|_| ()).map_err(no_question)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn told(rule: &Rule, from: RuleOrigin) -> api::Rule {
    let Rule { name, when, within, lasting, raise, clear, quiet } = rule;
    api::Rule {
        name: name.clone(),
        when: when.to_string(),
        within: span::format(*within),
        lasting: lasting.map(span::format),
        raise: *raise,
        clear: *clear,
        quiet: quiet.to_texts(),
        from,
    }
}

fn unwritten(error: std::io::Error) -> QueryError {
    QueryError::StoreUnavailable { problem: format!("the rules cannot be written: {error}") }
}
