//! Conversion of the readings into the input of the model: the owners of the load, and what the cores have left.

use std::{collections::BTreeMap, time::Duration};

use super::{
    CpuAvailability,
    confined::N_SETS_MAX,
    core::Spending,
    core_set::CoreSet,
    exits::Ended,
    group::{Numbering, Place},
    model::{FULL_WEIGHT, Scene, Task},
    rest::Work,
    task::{Class, weight_of},
    thread::Now,
};

/// The most of a core that real-time tasks are left with when others want it.
///
/// The kernel keeps a twentieth for the others: `sched_rt_runtime_us`, and since Linux 6.12 a server of its own.
const REAL_TIME_MAX: f64 = 0.95;

/// Cores that nobody is known to have used, and that are not worth asking for.
const REST_MIN: f64 = 0.002;

/// Tasks that want a core for less of the time are not asked which: the kernel has many such on each core.
const CONFINED_MIN: f64 = 0.05;

/// The greatest ratio of a task's use to the use in its record: the record is made before the task gives its memory
/// back.
const AFTER_RECORD_MAX: f64 = 1.5;

/// The greatest ratio of the time that the unfollowed waited to that of the host's tasks on average, for the same work.
const WAITING_RATIO_MAX: f64 = 2.0;

/// Processes that use no more than this each are told apart from those that are put on a core and stay.
///
/// Of a few milliseconds each they were measured to keep away from spinners, of some tens of milliseconds not.
const BRIEF_S: f64 = 0.01;

/// Niced tasks that nobody knows the level of count as the one that `nice` gives by default.
const NICE_UNKNOWN: i8 = 10;

/// The work of the followed tasks within the work that the cores remember.
#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    all: Work,
    niced: Work,
    at_home: Work,
}

/// The sets of cores that somebody is confined to, numbered for the model.
#[derive(Debug, Default)]
struct Sets(Vec<Vec<bool>>);

impl Sets {
    /// The position of `core_set` among those met so far; none for one that is no limit on the cores that are `online`,
    /// and for one too many.
    fn position(&mut self, core_set: Option<&CoreSet>, online: &BTreeMap<u64, f64>) -> Option<usize> {
        let is_in = core_set?.among(online)?;
        let known = self.0.iter().position(|set| *set == is_in);
        known.or_else(|| {
            (self.0.len() < N_SETS_MAX).then(|| {
                self.0.push(is_in);
                self.0.len() - 1
            })
        })
    }
}

impl Followed {
    /// Adds what tasks did that ended.
    fn add_ended(&mut self, work: Work, weight: f64, is_at_home: bool) {
        let niced = (weight < FULL_WEIGHT).then_some(&mut self.niced);
        let at_home = is_at_home.then_some(&mut self.at_home);
        for sum in [Some(&mut self.all), niced, at_home].into_iter().flatten() {
            sum.used += work.used;
            sum.waited += work.waited;
        }
    }
}

/// A task, and what its children did that ended.
#[derive(Clone, Copy, Debug)]
struct One {
    pid: u32,
    group: usize,
    weight: f64,
    set: Option<usize>,
    work: Work,
    /// Whether most of the work is that of brief children.
    is_brief: bool,
}

/// The work of the children of one process that ended.
#[derive(Clone, Debug)]
struct Children {
    parent: u32,
    place: Place,
    weight: f64,
    work: Work,
    is_brief: bool,
}

impl Work {
    /// Returns the number of tasks that wanted a core on average.
    fn awake(self) -> f64 {
        self.used + self.waited
    }

    /// Adds a task that used and waited for so many seconds.
    ///
    /// One that began lately did less of what the cores remember than its rate says.
    fn add(&mut self, [used_s, waited_s]: [f64; 2], spending: &Spending) {
        self.used += used_s / spending.seconds / spending.delivered;
        self.waited += waited_s / spending.seconds;
    }
}

impl CpuAvailability {
    /// The load as it was lately; none before the cores were read twice. The last time was `span` ago.
    pub(super) fn scene(&mut self, now: Now, span: Duration) -> Option<Scene> {
        let spending = self.cores.spending()?;
        let home_place = self.home.place().clone();
        let mut numbering = Numbering::new();
        let home = numbering.position(&home_place, &mut self.groups, now.at);
        let mut left = spending.left.clone();
        let mut sets = Sets::default();
        let home_set = sets.position(self.home.core_set(), &left);
        let mut followed = Followed::default();
        followed.all.add(self.population.gone(), &spending);
        let (mut ones, mut young) = (Vec::new(), Vec::new());
        for seen in self.population.seen(now) {
            let work = wanted(seen.used, seen.waited, seen.core, &spending);
            match seen.class {
                Class::Fair(weight) if seen.is_young => {
                    young.push((seen.place, weight, work.used + work.waited));
                    continue;
                }
                Class::Fair(weight) => {
                    let group = numbering.position(seen.place, &mut self.groups, now.at);
                    let core_set = seen.core_set.filter(|_| work.used + work.waited >= CONFINED_MIN);
                    let set = sets.position(core_set, &left);
                    let one = One { pid: seen.pid, group, weight, set, work, is_brief: false };
                    ones.push(one);
                    if weight < FULL_WEIGHT {
                        followed.niced.add(seen.seconds, &spending);
                    }
                    if numbering.is_below(group, home) {
                        followed.at_home.add(seen.seconds, &spending);
                    }
                }
                Class::RealTime => {
                    if let Some(left) = left.get_mut(&seen.core) {
                        *left = (*left - work.used).max(1.0 - REAL_TIME_MAX);
                    }
                }
            }
            followed.all.add(seen.seconds, &spending);
        }
        self.rest.meet(span, young.into_iter());
        let ended = self.ended(followed, &spending);
        for Children { parent, place, weight, work, is_brief } in ended {
            // A process that waits for its children does not run while they do: together they are as one.
            let known = ones.iter_mut().find(|one| one.pid == parent && one.weight == weight);
            let group = if let Some(one) = known {
                one.is_brief = is_brief && work.awake() > one.work.awake();
                one.work.used += work.used;
                one.work.waited += work.waited;
                one.group
            } else {
                let group = numbering.position(&place, &mut self.groups, now.at);
                ones.push(One { pid: parent, group, weight, set: None, work, is_brief });
                group
            };
            followed.add_ended(work, weight, numbering.is_below(group, home));
        }
        let tasks = ones.iter().map(|one| Task {
            set: one.set,
            is_brief: one.is_brief,
            ..Task::observed(one.group, one.weight, one.work.used, one.work.waited)
        });
        let mut tasks: Vec<Task> = tasks.collect();
        for (place, weight, work) in self.unfollowed(followed, &spending, &home_place) {
            let position = numbering.position(&place, &mut self.groups, now.at);
            tasks.push(Task::observed(position, weight, work.used, work.waited));
        }
        let cores = left.into_values().collect();
        Some(Scene {
            cores,
            delivered: spending.delivered,
            groups: numbering.groups,
            tasks,
            home,
            sets: sets.0,
            home_set,
        })
    }

    /// Returns the work of the ended children of each process and weight: of the unfollowed as much as they can have
    /// done.
    fn ended(&self, followed: Followed, spending: &Spending) -> Vec<Children> {
        let ended = self.exits.ended();
        let used: f64 = ended.iter().map(|one| one.used / spending.delivered).sum();
        let unfollowed = spending.used / spending.delivered - followed.all.used;
        if used < REST_MIN || unfollowed < REST_MIN {
            return Vec::new();
        }
        let part = (unfollowed / used).min(AFTER_RECORD_MAX);
        let works = ended.into_iter().map(|Ended { parent, place, weight, used, waited, used_by_each }| {
            let work = Work { used: used / spending.delivered * part, waited: waited * part.min(1.0) };
            Children { parent, place: place.clone(), weight, work, is_brief: used_by_each <= BRIEF_S }
        });
        works.collect()
    }

    /// The work that no followed task did: what is known of where, and how heavy its tasks are.
    fn unfollowed(&self, followed: Followed, spending: &Spending, home: &Place) -> Vec<(Place, f64, Work)> {
        let delivered = spending.delivered;
        let all = spending.used / delivered;
        let used = all - followed.all.used;
        if used < REST_MIN {
            return Vec::new();
        }
        let waiting = self.waiting.mean(spending.n_busy);
        let waited = (waiting - followed.all.waited).clamp(0.0, WAITING_RATIO_MAX * used * waiting / all);
        let niced = (spending.used_niced / delivered - followed.niced.used).clamp(0.0, used);
        let part = |part: f64| Work { used: part, waited: waited * part / used };
        let (niced, normal) = (part(niced), part(used - niced));
        let mut parts = self.rest.split(normal, |weight| weight >= FULL_WEIGHT, (home.clone(), FULL_WEIGHT));
        parts.extend(self.rest.split(niced, |weight| weight < FULL_WEIGHT, (home.clone(), weight_of(NICE_UNKNOWN))));
        match self.home.used() {
            Some(at_home) => keep_at_home(parts, home, (at_home / delivered - followed.at_home.used).max(0.0)),
            None => parts,
        }
    }
}

/// Returns the time that a task had and wanted of the cores while it was given the hypervisor's part of them.
///
/// The kernel counts as used neither what was stolen nor, mostly, what interrupts took meanwhile; the task wanted a
/// core during both.
fn wanted(used: f64, waited: f64, core: u64, spending: &Spending) -> Work {
    let used = (used / spending.delivered).min(1.0);
    let left = spending.left.get(&core).copied().unwrap_or(1.0);
    let kept_off = if left > 0.0 { used * (1.0 / left - 1.0) } else { 0.0 };
    Work { used, waited: (waited + kept_off).min(1.0 - used) }
}

/// Leaves at `home` no more than `used_at_home`, which the group has counted itself; the rest is outside.
///
/// In a container that is all there is to tell others' load, whose processes it cannot see, from its own.
fn keep_at_home(parts: Vec<(Place, f64, Work)>, home: &Place, mut used_at_home: f64) -> Vec<(Place, f64, Work)> {
    let mut kept = Vec::new();
    for (place, weight, work) in parts {
        if place != *home || work.used <= 0.0 {
            kept.push((place, weight, work));
            continue;
        }
        let inside = work.used.min(used_at_home);
        used_at_home -= inside;
        let part = |used: f64| Work { used, waited: work.waited * used / work.used };
        kept.push((place, weight, part(inside)));
        kept.push((Place::Root, weight, part(work.used - inside)));
    }
    kept
}
