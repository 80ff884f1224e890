//! The last samples of a prediction server's stream: what models are fitted to, and what the core still has to answer.
//!
//! Two marks divide them: what was answered, then what was sent and not answered yet, then what was not sent yet.

use std::collections::VecDeque;

use stream::Measurement;

/// A row of a stream, of one value or many.
pub(crate) type Moment = Measurement;

#[derive(Debug, Default)]
pub(crate) struct Past {
    moments: VecDeque<Moment>,
    n_max: usize,
    n_answered: usize,
    n_sent: usize,
    /// Number of moments that had to go before they were answered.
    n_lost: u64,
}

impl Past {
    /// Keeps so many moments.
    pub(crate) fn new(n_max: usize) -> Self {
        Self { n_max, ..Self::default() }
    }

    /// Keeps so many moments from here on.
    pub(crate) fn resize(&mut self, n_max: usize) {
        self.n_max = n_max;
        self.cut();
    }

    /// Removes everything, for a stream that became another.
    pub(crate) fn clear(&mut self) {
        *self = Self { n_max: self.n_max, n_lost: self.n_lost, ..Self::default() };
    }

    pub(crate) fn n_max(&self) -> usize {
        self.n_max
    }

    pub(crate) fn push(&mut self, moment: Moment) {
        self.moments.push_back(moment);
        self.cut();
    }

    pub(crate) fn last(&self) -> Option<&Moment> {
        self.moments.back()
    }

    /// Whether the moment is there already, as it is when it came from a buffer before.
    pub(crate) fn contains(&self, moment: &Moment) -> bool {
        // One with a higher number than the last is a new one; that is the rule, and cheap to see.
        self.last().is_some_and(|last| moment.number <= last.number)
            && self.moments.iter().rev().any(|other| is_same(other, moment))
    }

    /// Whether numbers are missing between those that are there.
    pub(crate) fn has_hole(&self) -> bool {
        let numbers = || self.moments.iter().map(|moment| moment.number);
        numbers().zip(numbers().skip(1)).any(|(one, next)| next > one.wrapping_add(1))
    }

    pub(crate) fn n_unanswered(&self) -> usize {
        self.moments.len() - self.n_answered
    }

    pub(crate) fn is_waiting_for_answers(&self) -> bool {
        self.n_sent > self.n_answered
    }

    pub(crate) fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// Returns the next moment that was not sent yet, and marks it as sent.
    pub(crate) fn send_next(&mut self) -> Option<&Moment> {
        let next = self.moments.get(self.n_sent)?;
        self.n_sent += 1;
        Some(next)
    }

    /// Marks the next moment as answered; `false` if the answer is not to that one.
    pub(crate) fn answer(&mut self, number: u64) -> bool {
        let is_next = self.n_sent > self.n_answered && self.moments[self.n_answered].number == number;
        self.n_answered += usize::from(is_next);
        is_next
    }

    /// Marks all that was sent and not answered as unsent.
    pub(crate) fn rewind(&mut self) {
        self.n_sent = self.n_answered;
    }

    /// Returns the last `n_max` moments before the next one to be sent.
    pub(crate) fn before_unsent(&self, n_max: usize) -> impl ExactSizeIterator<Item = &Moment> {
        self.moments.range(self.n_sent - self.n_sent.min(n_max)..self.n_sent)
    }

    /// Merges moments that a buffer has kept. What is older than all that came by the stream is history and needs no
    /// answer; what is missing after the last that was answered needs one.
    pub(crate) fn merge(&mut self, kept: Vec<Moment>) {
        let answered = self.n_answered.checked_sub(1).map(|last| identity(&self.moments[last]));
        let unanswered = self.moments.get(self.n_answered).map(identity);
        let n_in_flight = self.n_sent - self.n_answered;
        let mut all: Vec<Moment> = self.moments.drain(..).chain(kept).collect();
        // By time, because a number says nothing across a restart of the sensor.
        all.sort_by_key(|moment| (moment.time, moment.number));
        all.dedup_by(|one, other| is_same(one, other));
        let place = |wanted: (u64, units::Timestamp)| all.iter().position(|moment| identity(moment) == wanted);
        self.n_answered = match (answered.and_then(place), unanswered.and_then(place)) {
            (Some(last), _) => last + 1,
            (None, Some(first)) => first,
            (None, None) => all.len(),
        };
        self.n_sent = self.n_answered + n_in_flight;
        self.moments = all.into();
        self.cut();
    }

    fn cut(&mut self) {
        while self.moments.len() > self.n_max {
            self.moments.pop_front();
            self.n_lost += u64::from(self.n_answered == 0);
            self.n_answered = self.n_answered.saturating_sub(1);
            self.n_sent = self.n_sent.saturating_sub(1);
        }
    }
}

fn identity(moment: &Moment) -> (u64, units::Timestamp) {
    (moment.number, moment.time)
}

fn is_same(one: &Moment, other: &Moment) -> bool {
    identity(one) == identity(other)
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    fn moment(number: u64) -> Moment {
        let time = Timestamp::from_nanos(i64::try_from(number).unwrap() * 1000);
        Moment { number, time, values: vec![number as f64] }
    }

    fn past(numbers: std::ops::Range<u64>) -> Past {
        let mut past = Past::new(100);
        numbers.for_each(|number| past.push(moment(number)));
        past
    }

    fn sent(past: &mut Past) -> Vec<u64> {
        std::iter::from_fn(|| past.send_next().map(|moment| moment.number)).collect()
    }

    #[test]
    fn what_was_not_answered_is_sent_again() {
        let mut past = past(0..5);
        assert_eq!(sent(&mut past), [0, 1, 2, 3, 4]);
        assert!(past.answer(0) && past.answer(1) && !past.answer(3));
        past.rewind();
        let history: Vec<_> = past.before_unsent(1).map(|moment| moment.number).collect();
        assert_eq!((history, sent(&mut past)), (vec![1], vec![2, 3, 4]));
    }

    #[test]
    fn history_comes_before_what_the_stream_brought() {
        let mut past = past(7..9);
        past.merge((3..8).map(moment).collect());
        assert_eq!(past.n_answered, 4);
        assert_eq!(sent(&mut past), [7, 8]);
        past.merge((3..12).map(moment).collect());
        assert_eq!(sent(&mut past), [9, 10, 11], "what the stream missed is made up for, and nothing comes twice");
    }

    #[test]
    fn history_alone_needs_no_answer() {
        let mut past = past(0..0);
        past.merge((3..8).map(moment).collect());
        assert_eq!((past.n_answered, sent(&mut past)), (5, vec![]));
        assert!(past.contains(&moment(4)) && !past.contains(&moment(8)));
    }

    #[test]
    fn what_nobody_answers_for_too_long_is_lost_and_counted() {
        let mut past = past(0..103);
        assert_eq!((past.n_lost(), past.n_unanswered()), (3, 100));
        assert_eq!(sent(&mut past).len(), 100);
        past.push(moment(103));
        assert!(!past.answer(3) && past.answer(4));
    }
}
