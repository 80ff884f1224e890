//! Feeds: what the node reads besides its host, such as exporters and flows to peers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use predict::Spec;
use signal::Source;

use crate::config::STEP_MIN;
use crate::engine::FeedPlan;
use crate::engine::plan::Plan;
use crate::error::StartError;

/// Feeds of up to so many signals are forecast like the host. With more, what is kept of each has to be less.
const SIGNALS_FULL_MAX: usize = 1000;

/// Less often, and no forecast is worth waiting for.
pub(crate) const STEP_MAX: Duration = Duration::from_secs(3600);

/// Something besides its host that a node reads, on a thread and with a step of its own.
///
/// Its signals are stored, forecast and shown like those of the host. When two feeds, or a feed and the host, have a
/// signal of the same name, it is the one's that came first.
pub struct Feed {
    /// The name of the feed, in the store and in errors; unique among feeds.
    pub name: String,
    /// Time between two reads, 10 ms to 1 h.
    pub step: Duration,
    /// The largest number of signals of the feed. With more than a thousand, each is forecast by a thriftier model than
    /// `AUTO`, unless one was chosen, and scored over fewer errors. `None` if they are few.
    pub n_signals_max: Option<usize>,
    /// The source that is read.
    pub source: Box<dyn Source>,
}

impl Feed {
    pub(crate) fn plan(&self, model: &Spec) -> FeedPlan {
        let is_large = self.n_signals_max.is_some_and(|n_signals| n_signals > SIGNALS_FULL_MAX);
        let plan = if is_large { Plan::thrifty } else { Plan::new };
        FeedPlan { name: self.name.as_str().into(), plan: Arc::new(plan(model.clone(), self.step)) }
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("name", &self.name).field("step", &self.step).finish_non_exhaustive()
    }
}

/// Checks that steps are in range, and no two feeds have the same name.
pub(crate) fn check(feeds: &[Feed]) -> Result<(), StartError> {
    let mut names = BTreeSet::new();
    for Feed { name, step, .. } in feeds {
        if !(STEP_MIN..=STEP_MAX).contains(step) {
            return Err(StartError::FeedStepOutOfRange { feed: name.clone(), given: *step });
        }
        if !names.insert(name) {
            return Err(StartError::FeedTwice { feed: name.clone() });
        }
    }
    Ok(())
}
