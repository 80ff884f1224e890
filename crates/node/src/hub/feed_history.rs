//! History of a feed's source before its first tick: replayed like the history in the store, and stored.

use std::collections::BTreeMap;

use signal::{History, Signal};
use units::Timestamp;

use super::Hub;
use crate::engine::{Entry, FeedPlan, Past};
use crate::schedule::times;
use crate::store::{Batch, Row, minute_of};

/// Samples that are handed to the store before it is waited for: a part of what its queue has room for, so that the
/// past of many series never pushes live samples out of it. To wait after each series takes longer than to write it.
const N_UNWAITED_MAX: usize = 50_000;

impl Hub {
    /// Takes the history of a feed's signals. Called by the feed's own thread, which it holds up; nobody else waits.
    pub(crate) fn take_history(&self, feed: &FeedPlan, history: History) {
        let select = self.facts.select_of(Some(feed), history.iter().map(|(signal, _)| &**signal.id()));
        let mut n_unwaited = 0;
        for (signal, samples) in history.iter().filter(|(signal, _)| select(signal.id())) {
            self.take_past(feed, signal, samples);
            n_unwaited += samples.len();
            if n_unwaited >= N_UNWAITED_MAX {
                self.wait_for_store(feed);
                n_unwaited = 0;
            }
        }
        self.wait_for_store(feed);
    }

    fn take_past(&self, feed: &FeedPlan, signal: &Signal, samples: &[(Timestamp, f64)]) {
        let Some((first, _)) = samples.first() else { return };
        let begun = self.engine().begin_past(feed, signal, *first);
        let Some(Past { about, known, counts, is_new }) = begun else { return };
        let mut batch = Batch { rows: self.rows(about.key, samples), ..Batch::default() };
        batch.added.extend(is_new.then(|| about.clone()));
        // What was measured here counts, where there is both.
        let all: BTreeMap<Timestamp, f64> = samples.iter().copied().chain(known).collect();
        let newest = all.last_key_value().map_or(*first, |(time, _)| *time);
        let oldest = newest - times(feed.plan.step, feed.plan.n_kept as u64 - 1);
        let mut entry = Entry::new(about, feed.plan.clone());
        entry.replay(all.range(oldest..).map(|(time, value)| (*time, *value)));
        entry.live.counts = counts;
        self.engine().put_past(entry, &mut batch);
        self.store.put(batch);
    }

    fn wait_for_store(&self, feed: &FeedPlan) {
        if let Err(problem) = self.store.flush() {
            tracing::warn!(feed = &*feed.name, problem, "its history waits for the store");
        }
    }

    /// Returns the rows that the store is to have, unless it has them: none so old that it may have been worked into
    /// means and deleted.
    fn rows(&self, key: i64, samples: &[(Timestamp, f64)]) -> Vec<Row> {
        let oldest = minute_of(self.now() - self.facts.patience);
        let kept = samples.iter().filter(|(time, _)| *time >= oldest);
        kept.map(|(time, value)| Row { time: *time, key, value: *value }).collect()
    }
}
