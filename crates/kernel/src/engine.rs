//! The measurements of an agent: nodes by number, their subsystems, and the changes that controllers make.

mod told;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::control::{Change, PointState};
use crate::recent::Recent;
use crate::watch::Key;
use crate::{Arm, Error, GroupLimits, Node, Options, Price, Pulled, Subsystem, Traced, Watch};

/// Opens arms of subsystems, and knows what they cost.
pub trait Opener {
    /// Opens the arm of a subsystem of a node, with sizes in these groups.
    ///
    /// # Errors
    /// Where it cannot be measured.
    fn open(
        &mut self,
        node: &Node,
        groups: &GroupLimits,
        subsystem: &'static Subsystem,
    ) -> Result<(Box<dyn Arm>, Price), Error>;

    /// Does the slow work before the first probe of several is attached: measures their prices.
    ///
    /// # Errors
    /// Where it cannot be measured.
    fn prepare(&mut self, _groups: &GroupLimits, _subsystem: &'static Subsystem) -> Result<(), Error> {
        Ok(())
    }

    /// Hands over the records of traced points that there are, with their nodes.
    fn drain(&mut self, _each: &mut dyn FnMut(&Node, Traced)) {}
}

/// Reads /proc, which costs the measured programs nothing.
#[derive(Debug, Default)]
pub struct ProcOpener;

impl Opener for ProcOpener {
    fn open(
        &mut self,
        node: &Node,
        _: &GroupLimits,
        subsystem: &'static Subsystem,
    ) -> Result<(Box<dyn Arm>, Price), Error> {
        if *node != Node::Host {
            return Err(Error::WholeHostOnly { arm: "/proc" });
        }
        Ok((Box::new(crate::FromProc::new(std::path::Path::new("/proc"), subsystem)), Price::default()))
    }
}

/// Times between pulls that make sense.
const INTERVAL_MS: std::ops::RangeInclusive<u64> = 10..=3_600_000;

/// The measured nodes and subsystems, and the settings of their measurement.
pub struct Engine {
    opener: Box<dyn Opener>,
    nodes: BTreeMap<u32, Node>,
    wanted: BTreeMap<Key, Wanted>,
    watch: Watch,
    latest: Rc<[Pulled]>,
    is_on: bool,
    interval_ms: u64,
    budget_cores: Option<f64>,
    groups: GroupLimits,
    recent: Recent,
    alarm: Option<String>,
    /// Records that were handed over, once more for receivers; where nobody receives, none are kept.
    copies: Option<Vec<(u32, Traced)>>,
}

/// State of a subsystem of a node that controllers ask for.
#[derive(Clone, Debug)]
struct Wanted {
    subsystem: &'static Subsystem,
    is_on: bool,
    states: Vec<PointState>,
}

impl Engine {
    /// Builds a dormant engine: nothing is measured until somebody asks for it. All subsystems are wanted once it is
    /// on.
    #[must_use]
    pub fn new(
        opener: Box<dyn Opener>,
        nodes: BTreeMap<u32, Node>,
        interval_ms: u64,
        budget_cores: Option<f64>,
    ) -> Self {
        let keys = nodes.keys().flat_map(|node| {
            crate::all().iter().map(|subsystem| (Key { node: *node, name: subsystem.name }, *subsystem))
        });
        let wanted = keys
            .map(|(key, subsystem)| {
                let states = vec![PointState::Summary; subsystem.points.len()];
                (key, Wanted { subsystem, is_on: true, states })
            })
            .collect();
        Self {
            opener,
            nodes,
            wanted,
            watch: Watch::new(),
            latest: [].into(),
            is_on: false,
            interval_ms,
            budget_cores,
            groups: GroupLimits::default(),
            recent: Recent::new(u64::MAX),
            alarm: None,
            copies: None,
        }
    }

    /// Returns the engine with a rate cap: above so many records of traced points a second, all points only count from
    /// then on.
    #[must_use]
    pub fn with_rate_cap(mut self, cap: u64) -> Self {
        self.recent.cap = cap;
        self
    }

    /// Returns the engine with points that a user named as one more subsystem of each node, wanted as the others are.
    #[must_use]
    pub fn with_points(mut self, user: &'static Subsystem) -> Self {
        for node in self.nodes.keys() {
            let states = vec![PointState::Summary; user.points.len()];
            self.wanted.insert(Key { node: *node, name: user.name }, Wanted { subsystem: user, is_on: true, states });
        }
        self
    }

    /// Makes a change, all of it or nothing.
    ///
    /// # Errors
    /// If a name is unknown, a value makes no sense, or the kernel does not take it.
    pub fn change(&mut self, change: &Change) -> Result<(), Error> {
        let wanted = self.wanted_by(change)?;
        let groups = change.groups.as_deref().map(str::parse).transpose()?;
        if let Some(interval_ms) = change.interval_ms
            && !INTERVAL_MS.contains(&interval_ms)
        {
            return Err(Error::Setting {
                what: "interval",
                value: format!("{interval_ms} ms"),
                right: "from 10 ms to an hour",
            });
        }
        if let Some(cores) = change.budget_cores
            && !(cores > 0.0 && cores <= 1.0)
        {
            return Err(Error::Setting {
                what: "budget",
                value: cores.to_string(),
                right: "a share of a core, above 0 and up to 1",
            });
        }
        self.wanted = wanted;
        self.alarm = None;
        self.interval_ms = change.interval_ms.unwrap_or(self.interval_ms);
        self.budget_cores = change.budget_cores.or(self.budget_cores);
        self.is_on = change.is_on.unwrap_or(self.is_on);
        if let Some(groups) = groups
            && groups != self.groups
        {
            // Sizes that were counted in other groups cannot be told apart any more: all begin afresh.
            self.groups = groups;
            self.watch = Watch::new();
        }
        self.bring_about()
    }

    fn wanted_by(&self, change: &Change) -> Result<BTreeMap<Key, Wanted>, Error> {
        let known = || self.nodes.keys().map(u32::to_string).collect::<Vec<_>>().join(", ");
        if let Some(node) = change.nodes.iter().flatten().find(|node| !self.nodes.contains_key(node)) {
            return Err(Error::NoSuchNode { number: *node, known: known() });
        }
        let mut wanted = self.wanted.clone();
        let nodes = || change.nodes.clone().unwrap_or_else(|| self.nodes.keys().copied().collect());
        for (name, asked) in &change.subsystems {
            let own = self.wanted.values().map(|wanted| wanted.subsystem).find(|own| own.name == name);
            let subsystem = own.map_or_else(|| crate::find(name), Ok)?;
            for node in nodes() {
                let one = wanted.get_mut(&Key { node, name: subsystem.name }).expect("each node has all subsystems");
                one.is_on = asked.is_on.unwrap_or(one.is_on);
                for (point, state) in &asked.points {
                    let number = subsystem.points.iter().position(|found| found.name == point);
                    one.states[number
                        .ok_or_else(|| Error::NoSuchPoint { subsystem: subsystem.name, name: point.clone() })?] =
                        *state;
                }
            }
        }
        Ok(wanted)
    }

    /// Attaches and takes off until what is measured is what is wanted.
    fn bring_about(&mut self) -> Result<(), Error> {
        for (key, wanted) in &self.wanted {
            if self.is_on && wanted.is_on && !self.watch.has(*key) {
                self.opener.prepare(&self.groups, wanted.subsystem)?;
            }
        }
        for (key, wanted) in &self.wanted {
            let is_wanted = self.is_on && wanted.is_on;
            if !is_wanted {
                self.watch.remove(*key);
            } else if !self.watch.has(*key) {
                let (arm, price) = self.opener.open(&self.nodes[&key.node], &self.groups, wanted.subsystem)?;
                self.watch.add(*key, wanted.subsystem, arm, price)?;
            }
            if is_wanted {
                self.watch.set_states(*key, &wanted.states)?;
            }
        }
        self.watch.keep(&Options { budget_cores: self.budget_cores });
        if !self.is_on {
            self.recent.clear();
        }
        Ok(())
    }

    /// Takes everything off.
    pub fn off(&mut self) {
        self.is_on = false;
        self.watch = Watch::new();
        self.latest = [].into();
        self.recent.clear();
    }

    /// Has the kernel keep account of programs' run times, now and then, to correct prices by. Returns the time until
    /// it is to be called again.
    pub fn keep_account(&mut self) -> Duration {
        self.watch.keep_account(clock::monotonic_ns())
    }

    /// Reads everything that is on.
    ///
    /// # Errors
    /// If an arm cannot be read.
    pub fn pull(&mut self) -> Result<Rc<[Pulled]>, Error> {
        self.latest = self.watch.pull()?.into();
        Ok(Rc::clone(&self.latest))
    }

    /// Hands over the records of traced points that there are, with the numbers of their nodes. If they are more than
    /// the cap allows, all points only count from now on, and the returned text is the reason.
    ///
    /// # Errors
    /// If the kernel does not let points go back to counting.
    pub fn drain(&mut self, mut each: impl FnMut(u32, Traced)) -> Result<Option<&str>, Error> {
        let (nodes, recent, copies) = (&self.nodes, &mut self.recent, &mut self.copies);
        let number = |node: &Node| nodes.iter().find(|(_, found)| *found == node).map_or(0, |(number, _)| *number);
        self.opener.drain(&mut |node, traced| {
            let node = number(node);
            recent.take(node, &traced);
            copies.iter_mut().for_each(|copies| copies.push((node, traced)));
            each(node, traced);
        });
        if !self.recent.is_too_much(clock::monotonic_ns()) {
            return Ok(None);
        }
        self.retreat()?;
        let cap = self.recent.cap;
        Ok(Some(
            self.alarm.insert(format!("more than {cap} traced events a second: all points only count from now on")),
        ))
    }

    /// Returns the results of the last pull.
    pub(crate) fn latest(&self) -> &[Pulled] {
        &self.latest
    }

    /// Whether records that are handed over are kept once more for receivers, until they are taken.
    pub(crate) fn copy(&mut self, is_wanted: bool) {
        self.copies = is_wanted.then(|| self.copies.take().unwrap_or_default());
    }

    /// Returns the records kept for receivers, and the reason why points that were traced only count.
    pub(crate) fn copies(&mut self) -> (Vec<(u32, Traced)>, Option<&str>) {
        (self.copies.as_mut().map(std::mem::take).unwrap_or_default(), self.alarm.as_deref())
    }

    /// Whether some point leaves a record of each event.
    #[must_use]
    pub fn is_tracing(&self) -> bool {
        self.is_on && self.wanted.values().any(|wanted| wanted.is_on && wanted.states.contains(&PointState::Trace))
    }

    /// Has all traced points only count from now on.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn retreat(&mut self) -> Result<(), Error> {
        for wanted in self.wanted.values_mut() {
            let traced = wanted.states.iter_mut().filter(|state| **state == PointState::Trace);
            traced.for_each(|state| *state = PointState::Summary);
        }
        self.bring_about()
    }

    /// Returns the limits of the size groups.
    #[must_use]
    pub fn groups(&self) -> &GroupLimits {
        &self.groups
    }

    /// Returns the time between two pulls.
    #[must_use]
    pub fn interval_ms(&self) -> u64 {
        self.interval_ms
    }

    /// Whether anything is measured.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::SubsystemChange;

    fn engine() -> Engine {
        Engine::new(Box::new(ProcOpener), [(3, Node::Host), (17, Node::Host)].into(), 1000, None)
    }

    #[test]
    fn a_subsystem_can_be_off_for_one_node_of_a_sparse_set() {
        let mut engine = engine();
        let off = SubsystemChange { is_on: Some(false), ..SubsystemChange::default() };
        let change = Change {
            is_on: Some(true),
            nodes: Some(vec![17]),
            subsystems: [("vm".into(), off)].into(),
            ..Change::default()
        };
        engine.change(&change).unwrap();
        let status = engine.status();
        let is_on = |node| status.subsystems.iter().find(|one| one.node == node && one.name == "vm").unwrap().is_on;
        assert!(is_on(3) && !is_on(17));
        assert_eq!(engine.pull().unwrap().len(), 2 * crate::all().len() - 1);
        engine.off();
        assert!(engine.pull().unwrap().is_empty());
    }

    #[test]
    fn a_change_with_an_unknown_name_changes_nothing() {
        let mut engine = engine();
        let unknown = |change: Change, part: &str| {
            let error = engine_change(&mut engine_on(), &change);
            assert!(error.contains(part), "{error}");
        };
        unknown(Change { nodes: Some(vec![4]), ..Change::default() }, "3, 17");
        unknown(Change { subsystems: [("x".into(), SubsystemChange::default())].into(), ..Change::default() }, "`x`");
        let points = [("Reed".to_owned(), PointState::Trace)].into();
        let change =
            Change { subsystems: [("fs".into(), SubsystemChange { is_on: None, points })].into(), ..Change::default() };
        unknown(change, "`Reed`");
        unknown(Change { budget_cores: Some(2.0), ..Change::default() }, "share of a core");
        engine.off();
    }

    fn engine_on() -> Engine {
        let mut engine = engine();
        engine.change(&Change { is_on: Some(true), ..Change::default() }).unwrap();
        engine
    }

    fn engine_change(engine: &mut Engine, change: &Change) -> String {
        let before = engine.status();
        let error = engine.change(change).unwrap_err().to_string();
        assert_eq!(engine.status(), before);
        error
    }
}
