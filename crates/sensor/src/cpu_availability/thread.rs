//! One thread, followed from one reading to the next.

use std::time::Duration;

use super::{
    PERIOD,
    core_set::CoreSet,
    group::Place,
    recent::Recent,
    task::{Class, Nature, Spent},
};

/// Tasks younger than this are not followed one by one: most such are gone before they can be.
pub(crate) const YOUNG: Duration = Duration::from_secs(3);

/// A process or thread that uses less of a core than this is idle.
const USED_MIN: f64 = 0.002;

/// The longest time for which a thread that does nothing is left alone.
const PATIENCE_MAX: Duration = Duration::from_secs(4);

/// A task that was followed for some time.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    /// The number of its process.
    pub pid: u32,
    pub place: &'a Place,
    pub class: Class,
    /// The core that it ran on last.
    pub core: u64,
    /// The cores that it may run on, if that is known.
    pub core_set: Option<&'a CoreSet>,
    /// The share of a core that it used.
    pub used: f64,
    /// The share of the time that it waited for one.
    pub waited: f64,
    /// Both in seconds, as far as they count.
    pub seconds: [f64; 2],
    /// Whether it is so young that it will probably be gone soon.
    pub is_young: bool,
}

/// The time, by the clock of the readings and by that of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub at: Duration,
    /// Time since the host was started, if that is known.
    pub uptime: Option<Duration>,
}

/// A thread, and what it did lately.
#[derive(Debug)]
pub(crate) struct Thread {
    pub nature: Nature,
    /// Used and waited, in seconds.
    pub recent: Recent<2>,
    /// The cores that it may run on, and when that was read.
    pub core_set: Option<(CoreSet, Duration)>,
    /// When it is worth being looked at again.
    pub look_at: Duration,
    patience: Duration,
    last: Option<(Duration, Spent)>,
    /// Whether it was young when it was looked at last.
    was_young: bool,
}

impl Thread {
    pub(crate) fn new(nature: Nature, now: Now) -> Thread {
        Thread {
            nature,
            recent: Recent::new(),
            core_set: None,
            look_at: now.at,
            patience: PERIOD,
            last: None,
            was_young: true,
        }
    }

    /// Takes in what it has `spent` since it was started.
    pub(crate) fn step(&mut self, now: Now, spent: Spent) {
        // What a young one has had, it has had since its birth.
        let birth = || now.at.checked_sub(self.age(now)?).filter(|_| self.is_young(now));
        let from = self.last.or_else(|| birth().map(|birth| (birth, Spent::default())));
        self.last = Some((now.at, spent));
        self.was_young = self.is_young(now);
        if let Some((last_at, last)) = from
            && let Some(Spent { used_ns, waited_ns }) = spent.since(last)
        {
            let seconds = [used_ns, waited_ns].map(|ns| ns as f64 * 1e-9);
            self.recent.add(now.at.saturating_sub(last_at), seconds);
        }
        if self.is_busy() {
            (self.look_at, self.patience) = (now.at, PERIOD);
        } else {
            self.look_at = now.at + self.patience;
            self.patience = (2 * self.patience).min(PATIENCE_MAX);
        }
    }

    /// Leaves what it did to those that are `gone`, unless it was young to the end.
    pub(crate) fn bequeath(&self, gone: &mut Recent<2>) {
        if !self.was_young {
            gone.inherit(&self.recent);
        }
    }

    /// Whether it used anything worth speaking of lately.
    pub(crate) fn is_busy(&self) -> bool {
        self.recent.rates().is_some_and(|[used, _]| used >= USED_MIN)
    }

    /// Returns the recent use and waiting of the thread, if that is worth reporting.
    pub(crate) fn seen<'a>(&'a self, pid: u32, place: &'a Place, now: Now) -> Option<Seen<'a>> {
        let Nature { class, core, .. } = self.nature;
        // The kernel's clock and the caller's are read one after the other, and a share can come out beyond 1.
        let [used, waited] = self.recent.rates()?;
        let used = used.clamp(0.0, 1.0);
        let waited = waited.clamp(0.0, 1.0 - used);
        let core_set = self.core_set.as_ref().map(|(cores, _)| cores);
        let seen = Seen {
            pid,
            place,
            class,
            core,
            core_set,
            used,
            waited,
            seconds: self.recent.sums(),
            is_young: self.is_young(now),
        };
        self.is_busy().then_some(seen)
    }

    fn age(&self, now: Now) -> Option<Duration> {
        let since_start = Duration::from_secs_f64(self.nature.started_ticks as f64 / procfs::ticks_per_second() as f64);
        Some(now.uptime?.saturating_sub(since_start))
    }

    fn is_young(&self, now: Now) -> bool {
        self.age(now).is_some_and(|age| age < YOUNG)
    }
}
