//! A watch: some subsystems of a node, read again and again, within a budget.

use std::collections::VecDeque;
use std::time::Duration;

use crate::control::PointState;
use crate::{Account, Arm, Budget, Error, Load, Measure, Price, Ran, Subsystem, SubsystemCost, Summary};

/// Settings of a watch.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Share of a core that all probes may take.
    pub budget_cores: Option<f64>,
}

/// Subsystems that are read together.
pub struct Watch {
    watched: Vec<Watched>,
    budget: Option<Budget>,
    window: Window,
}

/// Window in which the kernel keeps account of programs' run times.
#[derive(Clone, Copy)]
enum Window {
    /// The next window begins at this moment, not before.
    Next(u64),
    /// A window is open since this moment.
    Open(u64),
}

/// Length of a window: the account costs tens of nanoseconds a run, and so it is on for a small share of the time.
pub const WINDOW: Duration = Duration::from_millis(20);
const WINDOW_NS: u64 = WINDOW.as_nanos() as u64;
const WINDOW_EVERY_NS: u64 = 12_000_000_000;
/// Time between the first windows, until there are as many as correct prices.
const FIRST_WINDOWS_EVERY_NS: u64 = 1_000_000_000;

/// Number of windows that correct prices: those of a minute.
pub const N_WINDOWS: usize = 5;

struct Watched {
    key: Key,
    arm: Box<dyn Arm>,
    account: Account,
    price: Price,
    /// Run times of its programs in the last windows.
    windows: VecDeque<Ran>,
    /// Sum of those windows.
    ran: Ran,
    /// Factor by which the run times were longer than when the price was measured.
    factor: Option<f64>,
    measure: Measure,
}

/// Result of a pull for a subsystem.
#[derive(Debug)]
pub struct Pulled {
    /// The node and the subsystem.
    pub key: Key,
    /// Summary of the interval.
    pub summary: Summary,
    /// Source of the summary.
    pub source: &'static str,
    /// Cost of the probes, by their prices.
    pub cost: SubsystemCost,
    /// Sampling of events in the interval.
    pub measure: Measure,
}

/// Key of a watched subsystem of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The node's number.
    pub node: u32,
    /// The subsystem's name.
    pub name: &'static str,
}

impl Watch {
    /// Builds a watch of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { watched: Vec::new(), budget: None, window: Window::Next(0) }
    }

    /// Adds a subsystem of a node, whose account begins with its first reading.
    ///
    /// # Errors
    /// If the arm cannot be read.
    pub fn add(
        &mut self,
        key: Key,
        subsystem: &'static Subsystem,
        mut arm: Box<dyn Arm>,
        price: Price,
    ) -> Result<(), Error> {
        let account = Account::begin(subsystem, arm.read()?);
        self.watched.push(Watched {
            key,
            arm,
            account,
            price,
            windows: VecDeque::new(),
            ran: Ran::default(),
            factor: None,
            measure: Measure::Weight(1),
        });
        Ok(())
    }

    /// Removes the subsystem, if it is watched.
    pub fn remove(&mut self, key: Key) {
        self.watched.retain(|watched| watched.key != key);
    }

    /// Whether the subsystem is watched.
    #[must_use]
    pub fn has(&self, key: Key) -> bool {
        self.watched(key).is_some()
    }

    /// Sets the states of its points, which decide how their events are handled.
    ///
    /// # Errors
    /// If the arm does not take them.
    pub fn set_states(&mut self, key: Key, states: &[PointState]) -> Result<(), Error> {
        match self.watched.iter_mut().find(|watched| watched.key == key) {
            Some(watched) => watched.arm.set_states(states),
            None => Ok(()),
        }
    }

    /// Returns the source of its counters.
    #[must_use]
    pub fn source(&self, key: Key) -> Option<&'static str> {
        Some(self.watched(key)?.arm.name())
    }

    /// Returns the price of its probes.
    #[must_use]
    pub fn price(&self, key: Key) -> Option<&Price> {
        Some(&self.watched(key)?.price)
    }

    /// Returns the factor by which its programs run longer than when their price was measured, and their run times, in
    /// the last windows in which the kernel kept account of them.
    #[must_use]
    pub fn ran(&self, key: Key) -> Option<(f64, &Ran)> {
        let watched = self.watched(key)?;
        watched.factor.map(|factor| (factor, &watched.ran))
    }

    /// Opens and closes windows of 20 ms, five a minute, the first five a second apart, in which the kernel keeps
    /// account of programs' run times; costs are corrected by them until the next. Returns the time until it is to be
    /// called again.
    pub fn keep_account(&mut self, now_ns: u64) -> Duration {
        if self.watched.is_empty() {
            return Duration::MAX;
        }
        let next = |window: &Window| match *window {
            Window::Next(at_ns) => at_ns,
            Window::Open(since_ns) => since_ns + WINDOW_NS,
        };
        if now_ns >= next(&self.window) {
            self.window = match self.window {
                Window::Next(_) => {
                    self.watched.iter_mut().for_each(|watched| watched.arm.begin_account());
                    Window::Open(now_ns)
                }
                Window::Open(since_ns) => {
                    self.watched.iter_mut().for_each(Watched::end_account);
                    let has_few = |watched: &Watched| (1..N_WINDOWS).contains(&watched.windows.len());
                    let is_young = self.watched.iter().any(has_few);
                    Window::Next(since_ns + if is_young { FIRST_WINDOWS_EVERY_NS } else { WINDOW_EVERY_NS })
                }
            };
        }
        Duration::from_nanos(next(&self.window).saturating_sub(now_ns))
    }

    /// Returns the parts of it that are missing, in words.
    #[must_use]
    pub fn missing(&self, key: Key) -> Vec<String> {
        self.watched(key).map(|watched| watched.arm.missing()).unwrap_or_default()
    }

    fn watched(&self, key: Key) -> Option<&Watched> {
        self.watched.iter().find(|watched| watched.key == key)
    }

    /// Sets the budget: from now on, all that is watched takes so much of a core at most.
    pub fn keep(&mut self, options: &Options) {
        self.budget = options.budget_cores.map(|cores| Budget::new(cores, self.watched.len()));
    }

    /// Reads all subsystems, and sees to the budget.
    ///
    /// # Errors
    /// If an arm cannot be read, or does not take a new weight.
    pub fn pull(&mut self) -> Result<Vec<Pulled>, Error> {
        let mut pulled = Vec::with_capacity(self.watched.len());
        for watched in &mut self.watched {
            let reading = watched.arm.read()?;
            let summary = match watched.measure {
                Measure::Shed => watched.account.skip(reading)?,
                Measure::Weight(_) => watched.account.advance(reading)?,
            };
            let cost = watched.price.of(&summary, watched.factor.unwrap_or(1.0));
            pulled.push(Pulled {
                key: watched.key,
                summary,
                source: watched.arm.name(),
                cost,
                measure: watched.measure,
            });
        }
        self.keep_within(&pulled)?;
        Ok(pulled)
    }

    fn keep_within(&mut self, pulled: &[Pulled]) -> Result<(), Error> {
        let Some(budget) = &mut self.budget else { return Ok(()) };
        let loads: Vec<Load> =
            pulled.iter().map(|pulled| Load { cost: pulled.cost, measure: pulled.measure }).collect();
        for (watched, measure) in self.watched.iter_mut().zip(budget.plan(&loads)) {
            watched.take(measure)?;
        }
        Ok(())
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Watched {
    fn end_account(&mut self) {
        let Some(ran) = self.arm.end_account() else { return };
        if self.windows.len() == N_WINDOWS {
            self.windows.pop_front();
        }
        self.windows.push_back(ran);
        self.ran = Ran::sum(&self.windows);
        self.factor = self.price.factor(&self.windows);
    }

    fn take(&mut self, measure: Measure) -> Result<(), Error> {
        if measure == self.measure {
            return Ok(());
        }
        match measure {
            Measure::Shed => self.arm.set_shed(true)?,
            Measure::Weight(weight) => {
                self.arm.set_weight(weight)?;
                if self.measure == Measure::Shed {
                    self.arm.set_shed(false)?;
                }
            }
        }
        self.measure = measure;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::{Counters, Reading, Toll};

    /// Says whether its account is on; its programs ran twice as long as was expected of them.
    struct Twice(Rc<Cell<bool>>, u64);

    impl Arm for Twice {
        fn name(&self) -> &'static str {
            "bpf"
        }

        fn read(&mut self) -> Result<Reading, Error> {
            self.1 += 1_000;
            let hits = self.1 / 1_000;
            let cells = [((0, 0), Counters { count: Some(hits), ..Counters::default() })].into();
            Ok(Reading { at_ns: self.1, cells, hits: vec![hits], ..Reading::default() })
        }

        fn set_weight(&mut self, _: u32) -> Result<(), Error> {
            Ok(())
        }

        fn set_states(&mut self, _: &[PointState]) -> Result<(), Error> {
            Ok(())
        }

        fn set_shed(&mut self, _: bool) -> Result<(), Error> {
            Ok(())
        }

        fn begin_account(&mut self) {
            self.0.set(true);
        }

        fn end_account(&mut self) -> Option<Ran> {
            self.0.replace(false).then(|| Ran { programs: vec![(100_000, 4_000_000)], n_sampled: 0 })
        }

        fn missing(&self) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    fn an_interval_without_probes_is_not_measured() {
        let mut watch = Watch::new();
        let toll = Toll { pass_ns: vec![100.0], event_ns: 0.0 };
        let price = Price { paid: toll.clone(), seen: toll };
        let arm = Box::new(Twice(Rc::default(), 0));
        watch.add(Key { node: 0, name: "task" }, crate::find("task").unwrap(), arm, price).unwrap();
        watch.keep(&Options { budget_cores: Some(0.01) });
        let mut pulled = || watch.pull().unwrap().remove(0);
        let counts = |pulled: &Pulled| pulled.summary.points[0].all.count;
        let first = pulled();
        assert_eq!((first.measure, counts(&first)), (Measure::Weight(1), Some(1)));
        let second = pulled();
        assert_eq!((second.measure, counts(&second)), (Measure::Shed, None));
    }

    #[test]
    fn windows_correct_what_is_paid() {
        let is_on = Rc::new(Cell::new(false));
        let mut watch = Watch::new();
        let paid = |pass_ns| Toll { pass_ns: vec![pass_ns], event_ns: 0.0 };
        let price = Price { paid: paid(100.0), seen: paid(20.0) };
        let key = Key { node: 0, name: "task" };
        watch.add(key, crate::find("task").unwrap(), Box::new(Twice(Rc::clone(&is_on), 0)), price).unwrap();
        let cost = |watch: &mut Watch| watch.pull().unwrap()[0].cost.cores();
        assert!((cost(&mut watch) - 0.1).abs() < 1e-9);
        let mut begin_ns = 5_000;
        assert_eq!(watch.keep_account(begin_ns), WINDOW);
        assert_eq!(watch.keep_account(begin_ns + WINDOW_NS - 1), Duration::from_nanos(1));
        assert!(is_on.get() && watch.ran(key).is_none());
        let next = |at_ns: u64| Duration::from_nanos(at_ns - WINDOW_NS);
        assert_eq!(watch.keep_account(begin_ns + WINDOW_NS), next(FIRST_WINDOWS_EVERY_NS));
        assert!(!is_on.get() && (watch.ran(key).unwrap().0 - 2.0).abs() < 0.01);
        assert!((cost(&mut watch) - 0.12).abs() < 1e-4);
        for n in 1..N_WINDOWS {
            begin_ns += FIRST_WINDOWS_EVERY_NS;
            watch.keep_account(begin_ns);
            let every_ns = if n + 1 < N_WINDOWS { FIRST_WINDOWS_EVERY_NS } else { WINDOW_EVERY_NS };
            assert_eq!(watch.keep_account(begin_ns + WINDOW_NS), next(every_ns));
        }
        watch.keep_account(begin_ns + WINDOW_EVERY_NS - 1);
        assert!(!is_on.get());
        watch.keep_account(begin_ns + WINDOW_EVERY_NS);
        assert!(is_on.get());
        watch.remove(key);
        assert_eq!(watch.keep_account(u64::MAX), Duration::MAX, "nothing to do");
    }
}
