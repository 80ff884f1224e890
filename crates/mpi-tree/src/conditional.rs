//! Conditional allreduce: whether a reduction over all clusters meets a condition, told as soon as a part of it
//! decides.
//!
//! Each cluster has one such machine. It publishes the cluster's part of every call to all others, keeps the newest
//! that each of them published, and answers when these decide: a part may only decide that the condition holds, which
//! no other part can undo ([`Question`]). That it does not hold takes all parts. So clusters may be many calls apart,
//! and all of them get the answers of a plain allreduce. Source: conditional-allreduce in L. A. Bongo's dissertation
//! (Tromsø 2007); `docs/decisions/conditional-allreduce.md` says what was added and why.
//!
//! Floor 2: no messages, no clock; whoever drives it brings both.

mod question;
mod settings;

pub use question::{Condition, Question, Reduction, Sign, UnsoundError};
pub use settings::{Call, Settings, SettingsError};

/// Data of a call that a cluster publishes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Calls so far that were answered with false. A solver that has converged may begin again.
    pub epoch: u64,
    /// Number of the call: 1 for the first.
    pub sequence: u64,
    /// The cluster's part.
    pub value: f64,
    /// The result of the last call that was answered with false.
    pub closing: f64,
    /// The permanent fault of this cluster, or of one from which this cluster received it.
    pub fault: Option<Fault>,
}

/// The reason why there will be no more answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The promise that makes early answers right was broken.
    #[error(
        "a rank of cluster {cluster} brought a value that it had promised not to bring: not a number, or of the wrong sign"
    )]
    Value {
        /// The cluster.
        cluster: usize,
    },
    /// Nothing came for too long.
    #[error("nothing has come from cluster {cluster} for longer than the patience allows")]
    Vanished {
        /// The cluster.
        cluster: usize,
    },
    /// Clusters that ask different questions, or make different calls.
    #[error("cluster {cluster} has come to another answer: all ranks have to ask the same question")]
    Disagreement {
        /// The cluster.
        cluster: usize,
    },
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Whether the condition holds for all clusters together.
    pub verdict: bool,
    /// The result if `is_exact`; else a bound of it that meets the condition, too.
    pub value: f64,
    /// Whether all parts are in the value. Always so where the verdict is false.
    pub is_exact: bool,
}

/// Numbers of calls so far, by the way in which they were answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of all calls.
    pub n_calls: u64,
    /// Calls answered by this cluster's own part.
    pub n_local: u64,
    /// Calls answered because another cluster had gone on already.
    pub n_inferred: u64,
    /// Answered calls that had to wait because this cluster was too far ahead.
    pub n_held_back: u64,
    /// Counts by cluster; this one's own entry stays empty.
    pub remotes: Vec<RemoteCounts>,
}

/// Calls for which something of one other cluster was needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteCounts {
    /// Number of times that it was there already.
    pub n_prefetched: u64,
    /// Number of times that it was waited for.
    pub n_waited: u64,
    /// Time waited, from the call's beginning in this cluster.
    pub waited_ns: u64,
}

/// One cluster's side.
#[derive(Clone, Debug)]
pub struct Conditional {
    question: Question,
    /// This cluster.
    own: usize,
    /// Calls that this cluster may be ahead of the last one that it received from another.
    lead: u64,
    /// The newest publication of each cluster, by cluster, and the time when it came.
    newest: Vec<Option<(Published, u64)>>,
    epoch: u64,
    sequence: u64,
    closing: f64,
    fault: Option<Fault>,
    /// Time at which the call began.
    began_ns: u64,
    /// Part of each cluster in the call under way, by cluster, if it has been used.
    parts: Vec<Option<f64>>,
    answer: Option<Answer>,
    counts: Counts,
}

impl Conditional {
    /// The machine of cluster `own` among `n_clusters`, which may be `lead` calls ahead of the others.
    ///
    /// # Panics
    /// If there is no such cluster, or if `lead` is 0: two clusters cannot both be last.
    #[must_use]
    pub fn new(question: Question, own: usize, n_clusters: usize, lead: u64) -> Self {
        assert!(own < n_clusters && lead > 0, "cluster {own} of {n_clusters}, a lead of {lead}");
        Self {
            question,
            own,
            lead,
            newest: vec![None; n_clusters],
            epoch: 0,
            sequence: 0,
            closing: 0.0,
            fault: None,
            began_ns: 0,
            parts: vec![None; n_clusters],
            answer: None,
            counts: Counts { remotes: vec![RemoteCounts::default(); n_clusters], ..Counts::default() },
        }
    }

    /// Begins the next call with this cluster's part. What it gives has to be sent to all other clusters, whatever the
    /// answer.
    pub fn begin(&mut self, value: f64, now_ns: u64) -> Published {
        self.sequence += 1;
        self.began_ns = now_ns;
        self.parts.fill(None);
        self.parts[self.own] = Some(value);
        self.answer = None;
        self.counts.n_calls += 1;
        if !self.question.admits(value) {
            self.fail(Fault::Value { cluster: self.own });
        }
        self.published(value)
    }

    /// Takes what another cluster published. Of each cluster the order has to be kept.
    pub fn receive(&mut self, from: usize, published: Published, now_ns: u64) {
        if let Some(fault) = published.fault {
            self.fail(fault);
        }
        self.newest[from] = Some((published, now_ns));
    }

    /// No more answers, here and wherever the next publication goes.
    pub fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// The answer to the call under way; none as long as more has to come.
    ///
    /// # Errors
    /// What has gone wrong, from then on in every call.
    pub fn answer(&mut self) -> Result<Option<Answer>, Fault> {
        if self.answer.is_none() && self.fault.is_none() {
            self.answer = self.decide();
            if let Some(Answer { verdict: false, value, .. }) = self.answer {
                self.epoch += 1;
                self.closing = value;
            }
            self.counts.n_held_back += u64::from(self.answer.is_some() && self.laggard().is_some());
        }
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.answer.filter(|_| self.laggard().is_none())),
        }
    }

    /// Fails if the cluster that the call under way waits for has been silent for that long.
    pub fn lose_patience(&mut self, now_ns: u64, patience_ns: u64) {
        if let Some(cluster) = self.awaited() {
            let heard_ns = self.newest[cluster].map_or(0, |(_, came_ns)| came_ns).max(self.began_ns);
            if now_ns.saturating_sub(heard_ns) > patience_ns {
                self.fail(Fault::Vanished { cluster });
            }
        }
    }

    /// Returns what to publish when something has gone wrong in the middle of a call: those who wait for this cluster
    /// then receive the fault.
    #[must_use]
    pub fn parting(&self) -> Published {
        self.published(self.parts[self.own].unwrap_or_default())
    }

    /// The first cluster without which the call under way cannot end.
    fn awaited(&self) -> Option<usize> {
        let is_missing = |at: &usize| self.parts[*at].is_none();
        if self.answer.is_some() { self.laggard() } else { (0..self.parts.len()).find(is_missing) }
    }

    /// The last call that came from a cluster; 0 if none has come.
    #[must_use]
    pub fn heard_of(&self, cluster: usize) -> u64 {
        self.newest[cluster].map_or(0, |(published, _)| published.sequence)
    }

    /// Calls so far.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the numbers of calls so far, by the way in which they were answered.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn published(&self, value: f64) -> Published {
        Published { epoch: self.epoch, sequence: self.sequence, value, closing: self.closing, fault: self.fault }
    }

    /// A cluster that this one is too far ahead of.
    fn laggard(&self) -> Option<usize> {
        let is_behind = |at: &usize| *at != self.own && self.heard_of(*at) + self.lead < self.sequence;
        (0..self.newest.len()).find(is_behind)
    }

    fn decide(&mut self) -> Option<Answer> {
        let mut value = self.combined();
        if self.question.holds(value) && self.n_missing() == self.parts.len() - 1 {
            self.counts.n_local += 1;
        }
        for remote in 0..self.parts.len() {
            if self.question.holds(value) {
                break;
            }
            let Some((published, came_ns)) = self.newest[remote].filter(|_| self.parts[remote].is_none()) else {
                continue;
            };
            if published.sequence < self.sequence {
                continue;
            }
            let counts = &mut self.counts.remotes[remote];
            if came_ns > self.began_ns {
                counts.n_waited += 1;
                counts.waited_ns += came_ns - self.began_ns;
            } else {
                counts.n_prefetched += 1;
            }
            if published.sequence > self.sequence {
                return self.inferred(remote, &published, value);
            }
            if published.epoch != self.epoch {
                self.fail(Fault::Disagreement { cluster: remote });
                return None;
            }
            self.parts[remote] = Some(published.value);
            value = self.combined();
        }
        let is_exact = self.n_missing() == 0;
        let verdict = self.question.holds(value);
        (verdict || is_exact).then_some(Answer { verdict, value, is_exact })
    }

    /// The answer of a cluster that has gone on already. It cannot have got a false one to a later call, to which this
    /// cluster has brought nothing: if its epoch has risen, then by this call.
    fn inferred(&mut self, remote: usize, published: &Published, value: f64) -> Option<Answer> {
        self.counts.n_inferred += 1;
        match published.epoch.checked_sub(self.epoch) {
            Some(0) => Some(Answer { verdict: true, value: self.question.bound(value), is_exact: false }),
            Some(1) => Some(Answer { verdict: false, value: published.closing, is_exact: true }),
            _ => {
                self.fail(Fault::Disagreement { cluster: remote });
                None
            }
        }
    }

    /// All parts that are there, in the order of the clusters: rounding is monotone, so that a subset in the same order
    /// never comes to more than all of them do. In the order of arrival it can.
    fn combined(&self) -> f64 {
        let parts = self.parts.iter().copied().flatten();
        parts.reduce(|before, value| self.question.combine(before, value)).expect("a call begins with a part")
    }

    fn n_missing(&self) -> usize {
        self.parts.iter().filter(|part| part.is_none()).count()
    }
}

#[cfg(test)]
mod tests;
