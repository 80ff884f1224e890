//! A statement with a line and a time: what can be true or false of a stretch of values.

use std::time::Duration;

use predict::Paths;
use units::span;

use crate::statement::{Comparison, Statement, StatementError, Subject};
use crate::steps::n_steps;

/// Whether a series does something within so many steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The quantity that is compared.
    pub subject: Subject,
    /// The comparison.
    pub comparison: Comparison,
    /// Line of the comparison, in the unit of the series.
    pub line: f64,
    /// Number of steps within which it is to come true, at least 1.
    pub n_leads: usize,
    /// Number of steps in a row for which [`Subject::Any`] has to hold, at least 1.
    pub n_sustained: usize,
}

/// State of one course of values so far.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    n: usize,
    sum: f64,
    n_holding: usize,
    n_in_row: usize,
    /// The lead at which it became true.
    first: Option<usize>,
}

/// The reason why a statement and a time make no question.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// The statement is in another unit.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The signal is never beyond the line, or always.
    #[error(
        "`{}` is {}, so `{statement}` is {} true{}", statement.of, range_text(*range), if *is_true { "always" } else { "never" }, hint(*range, *line)
    )]
    Range {
        /// The statement.
        statement: Box<Statement>,
        /// Whether it is true of all values in the range, rather than of none.
        is_true: bool,
        /// The number that it compares with, in the unit of the signal.
        line: f64,
        /// The least and the greatest that the signal can be.
        range: (f64, f64),
    },
    /// Only values can hold for a time.
    #[error("`for` is about values in a row; leave it out, or leave out `max`, `min` and `mean`")]
    ForOfAll,
    /// It cannot become true in time.
    #[error("`for` is longer than `within`, which is {}", span::format(*within))]
    ForTooLong {
        /// The time that it is about.
        within: Duration,
    },
}

fn range_text((least, most): (f64, f64)) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, true) => format!("from {least} to {most}"),
        (true, false) => format!("{least} or more"),
        _ => format!("{most} or less"),
    }
}

/// Whoever writes `cpu.busy > 90` means a percentage.
fn hint(range: (f64, f64), line: f64) -> &'static str {
    if range == (0.0, 1.0) && line > 1.0 { "; a share is written as `0.9` or `90 %`" } else { "" }
}

impl Question {
    /// Whether `statement` about a series in this unit, of values in this range and of this step comes true `within` a
    /// time, and holds for `lasting`. Both are rounded up to whole steps.
    ///
    /// # Errors
    /// For a statement in another unit, for one that is true of no value in the range or of all, and for a `lasting`
    /// that is longer than `within` or beside a maximum, minimum or mean.
    pub fn of(
        statement: &Statement,
        unit: &str,
        range: (f64, f64),
        within: Duration,
        lasting: Option<Duration>,
        step: Duration,
    ) -> Result<Self, QuestionError> {
        let line = statement.line(unit)?;
        // What holds at both ends holds of all between.
        let [of_least, of_most] = [range.0, range.1].map(|end| statement.comparison.holds(end, line));
        if of_least == of_most {
            return Err(QuestionError::Range {
                statement: Box::new(statement.clone()),
                is_true: of_least,
                line,
                range,
            });
        }
        if lasting.is_some() && statement.subject != Subject::Any {
            return Err(QuestionError::ForOfAll);
        }
        let n = |length: Duration| usize::try_from(n_steps(length, step)).unwrap_or(usize::MAX).max(1);
        let (n_leads, n_sustained) = (n(within), lasting.map_or(1, n));
        if n_sustained > n_leads {
            return Err(QuestionError::ForTooLong { within });
        }
        Ok(Self { subject: statement.subject, comparison: statement.comparison, line, n_leads, n_sustained })
    }

    /// The lead at which each path makes it true, if it does. What only the end of the time can tell becomes true at
    /// the last lead.
    #[must_use]
    pub fn of_paths(&self, paths: &Paths) -> Vec<Option<usize>> {
        let mut courses = vec![Course::default(); paths.n_paths()];
        for lead in 1..=self.n_leads.min(paths.n_leads()) {
            courses.iter_mut().zip(paths.at(lead)).for_each(|(course, value)| self.take(course, lead, *value));
        }
        courses.into_iter().map(|course| self.end(course)).collect()
    }

    /// The share of the paths that make it true.
    #[must_use]
    pub fn probability(&self, paths: &Paths) -> f64 {
        share(&self.of_paths(paths))
    }

    /// The lead at which these values, the next ones of a series, made it true, if they did; `None` if they cannot
    /// tell, because more than half of them are gaps, or because its time is not over: to count then what has come
    /// already would count more of what comes than of what does not.
    #[must_use]
    pub fn of_samples(&self, samples: &[f64]) -> Option<Option<usize>> {
        let mut course = Course::default();
        for (lead, sample) in (1..).zip(samples.get(..self.n_leads)?) {
            self.take(&mut course, lead, *sample);
        }
        (2 * course.n >= self.n_leads || course.first.is_some()).then(|| self.end(course))
    }

    /// Whether it is true at this sample: the last ones, as many as it has to last, make it true.
    ///
    /// # Panics
    /// When there is no such sample.
    #[must_use]
    pub fn is_on(&self, samples: &[f64], idx: usize) -> bool {
        let n = if self.is_of_one() { self.n_sustained } else { self.n_leads };
        let last = &samples[(idx + 1).saturating_sub(n)..=idx];
        last.len() == n && Self { n_leads: n, ..*self }.of_samples(last).is_some_and(|lead| lead.is_some())
    }

    fn take(&self, course: &mut Course, lead: usize, value: f64) {
        if value.is_nan() {
            course.n_in_row = 0;
            return;
        }
        let holds = self.comparison.holds(value, self.line);
        course.n += 1;
        course.sum += value;
        course.n_holding += usize::from(holds);
        course.n_in_row = if holds { course.n_in_row + 1 } else { 0 };
        if self.is_of_one() && course.n_in_row >= self.n_sustained && course.first.is_none() {
            course.first = Some(lead);
        }
    }

    /// Whether one value, or one stretch of them, makes it true.
    #[must_use]
    pub fn is_of_one(&self) -> bool {
        let is_upper = matches!(self.comparison, Comparison::Above | Comparison::AtLeast);
        match self.subject {
            Subject::Any => true,
            Subject::Max => is_upper,
            Subject::Min => !is_upper,
            Subject::Mean => false,
        }
    }

    fn end(&self, course: Course) -> Option<usize> {
        let holds = match self.subject {
            _ if self.is_of_one() => return course.first,
            Subject::Mean => self.comparison.holds(course.sum / course.n as f64, self.line),
            // The largest is below a line, or the smallest above it, when all are.
            Subject::Any | Subject::Max | Subject::Min => course.n > 0 && course.n_holding == course.n,
        };
        holds.then_some(self.n_leads)
    }
}

/// The share of courses that make it true.
pub(crate) fn share(leads: &[Option<usize>]) -> f64 {
    leads.iter().flatten().count() as f64 / leads.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(subject: Subject, comparison: Comparison, n_sustained: usize) -> Question {
        Question { subject, comparison, line: 3.0, n_leads: 5, n_sustained }
    }

    #[test]
    fn the_first_value_beyond_the_line_makes_it_true() {
        let any = question(Subject::Any, Comparison::Above, 1);
        assert_eq!(any.of_samples(&[1.0, 3.0, 4.0, 5.0, 1.0]), Some(Some(3)));
        assert_eq!(any.of_samples(&[1.0, 3.0, 3.0, 3.0, 1.0, 9.0]), Some(None));
        assert_eq!(any.of_samples(&[4.0]), None, "what is false has to wait as long");
        assert_eq!(any.of_samples(&[1.0, 1.0]), None);
        assert_eq!(any.of_samples(&[f64::NAN, f64::NAN, f64::NAN, 1.0, 1.0]), None);
    }

    #[test]
    fn what_is_true_of_no_value_or_of_all_makes_no_question() {
        let told = |text: &str, range: (f64, f64)| {
            let (statement, minute) = (text.parse().unwrap(), Duration::from_secs(60));
            Question::of(&statement, "ratio", range, minute, None, minute).map_err(|error| error.to_string())
        };
        let (share, amount) = ((0.0, 1.0), (0.0, f64::INFINITY));
        let never = told("x > 90", share).unwrap_err();
        assert_eq!(never, "`x` is from 0 to 1, so `x > 90` is never true; a share is written as `0.9` or `90 %`");
        assert!(told("x < 0", amount).unwrap_err().contains("`x` is 0 or more, so `x < 0` is never true"));
        let always = told("x >= 0", amount).unwrap_err();
        assert_eq!(always, "`x` is 0 or more, so `x >= 0` is always true");
        assert_eq!(
            told("x < 90", share).unwrap_err(),
            "`x` is from 0 to 1, so `x < 90` is always true; a share is written as `0.9` or `90 %`"
        );
        for text in ["x > -1", "max(x) <= 1", "x >= 0"] {
            assert!(told(text, share).unwrap_err().ends_with("is always true"), "{text}");
        }
        for text in ["x >= 100 %", "x <= 0", "x > 0", "x < 1"] {
            assert!(told(text, share).is_ok(), "{text}");
        }
        assert!(told("x > 0", amount).is_ok() && told("x < 4", amount).is_ok());
        assert!(told("x < -4", (f64::NEG_INFINITY, f64::INFINITY)).is_ok());
    }

    #[test]
    fn what_has_to_last_is_not_true_before_it_has() {
        let lasting = question(Subject::Any, Comparison::AtLeast, 2);
        assert_eq!(lasting.of_samples(&[3.0, 1.0, 3.0, 3.0, 1.0]), Some(Some(4)));
        assert_eq!(lasting.of_samples(&[3.0, f64::NAN, 3.0, 1.0, 3.0]), Some(None));
    }

    #[test]
    fn extremes_and_means_are_of_all_values() {
        let values = [2.0, 2.5, 4.0, 2.0, 2.5];
        let holds = |subject, comparison| question(subject, comparison, 1).of_samples(&values).unwrap();
        assert_eq!(holds(Subject::Max, Comparison::Above), Some(3));
        assert_eq!(holds(Subject::Max, Comparison::Below), None);
        assert_eq!(holds(Subject::Min, Comparison::Below), Some(1));
        assert_eq!(holds(Subject::Min, Comparison::Above), None);
        assert_eq!(holds(Subject::Mean, Comparison::Below), Some(5));
        assert_eq!(holds(Subject::Mean, Comparison::Above), None);
    }
}
