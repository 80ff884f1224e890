//! The cores that a process that starts on this host would get: the arithmetic, apart from the origin of its numbers.
//!
//! Tasks switch between wanting a core and sleeping. While they want one, they share the cores by weight
//! ([`fair`](super::fair)); while they sleep, nothing that others do changes how long. This is processor sharing with a
//! finite population, and for tasks of equal weight the chance of each set of tasks being awake has product form
//! whatever the distributions of work and sleep are (Baskett, Chandy, Muntz and Palacios, "Open, closed and mixed
//! networks of queues", JACM 1975). What the newcomer gets is the mean over those sets. Model and limits:
//! `docs/decisions/cpu-availability.md`.

use super::{
    confined,
    fair::Claim,
    placement::{Crowd, Portions},
};

/// The greatest number of tasks that are followed through all sets of being awake: 2 to this power divisions for one
/// answer.
///
/// The tasks that use most are followed. The others count with what they use on average, which leaves out how they meet
/// by chance, and the smaller they are the less that is.
const N_FOLLOWED_MAX: usize = 6;

/// The share of the time awake from which a task counts as always awake: how long it sleeps is not measured any more.
const AWAKE_ALWAYS: f64 = 0.98;

/// The part that processes of a few milliseconds get of the core of a task that stays, before the kernel moves them.
///
/// Measured: beside three rows of them on two cores a spinner got 0.93 and 0.95 of a core.
const SPILLED: f64 = 0.06;

/// The greatest difference between the newcomer's part and an even one, as a share of the part, at which
/// [`placement`](super::placement) holds.
const UNEVEN_MAX: f64 = 0.1;

/// The weight of a task of full priority, nice 0.
pub(crate) const FULL_WEIGHT: f64 = 1024.0;

/// A host and the load on it.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// The share of each core's time that there is for tasks of the fair scheduler.
    pub cores: Vec<f64>,
    /// The share of the time it asks for that the hypervisor gives to this host.
    pub delivered: f64,
    /// Groups, parents first, beginning with the root.
    pub groups: Vec<Group>,
    /// The load.
    pub tasks: Vec<Task>,
    /// Position of the group that the newcomer starts in.
    pub home: usize,
    /// Sets of cores that some are confined to: for each whether each core is in it.
    pub sets: Vec<Vec<bool>>,
    /// Position of the set that the newcomer is confined to, if it is.
    pub home_set: Option<usize>,
}

/// Tasks that share as one: a control group, or a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// Position of the group that it is in.
    pub parent: usize,
    /// Its weight there, on the scale where a task of full priority has 1024.
    pub weight: f64,
    /// The greatest number of cores that the group may use; infinite without a limit.
    pub limit: f64,
}

impl Group {
    pub(crate) const ROOT: Group = Group { parent: 0, weight: FULL_WEIGHT, limit: f64::INFINITY };
}

/// One task, or several that are alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// Position of its group.
    pub group: usize,
    /// Weight of each.
    pub weight: f64,
    /// The number of tasks that always want a core.
    pub n_always: f64,
    /// The one that wants a core at times, if there is such a one.
    pub at_times: Option<AtTimes>,
    /// Position of the set of cores that they are confined to, if they are.
    pub set: Option<usize>,
    /// Whether they are rows of processes that last a few milliseconds each.
    pub is_brief: bool,
}

/// A task that wants a core at times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtTimes {
    /// The share of a core that it used.
    pub used: f64,
    /// Its work over its sleep, both in time: what it would use for each moment of sleep on a core of its own.
    pub ratio: f64,
}

impl Task {
    /// Tasks that used `used` cores and waited for one during `waited` of the time, both added up over all of them.
    ///
    /// Their sum is how many wanted a core on average: the whole part of it counts as tasks that always did.
    pub(crate) fn observed(group: usize, weight: f64, used: f64, waited: f64) -> Task {
        let n_awake = used + waited;
        let n_always = (n_awake + (1.0 - AWAKE_ALWAYS)).floor();
        let rest = (n_awake - n_always).max(0.0);
        let used = if rest > 0.0 { used * rest / n_awake } else { 0.0 };
        let at_times = (used > 0.0).then(|| AtTimes { used, ratio: used / (1.0 - rest) });
        Task { group, weight, n_always, at_times, set: None, is_brief: false }
    }
}

impl Task {
    /// Returns the number of tasks that want a core at a moment, on average while they get what they want.
    fn n_awake(&self) -> f64 {
        self.n_always + self.at_times.map_or(0.0, |one| one.ratio / (1.0 + one.ratio))
    }
}

impl Scene {
    /// Returns the number of cores that a new process of full priority with `n_threads` busy threads would get.
    ///
    /// Between 0 and `n_threads`.
    pub(crate) fn cores_for(&self, n_threads: u32) -> f64 {
        let Market { followed, mut claims, set_of, n_groups, n_residents, spared } = self.market(n_threads);
        let delivered = self.delivered * spared;
        let cores = confined::Cores { capacities: &self.cores, sets: &self.sets, set_of: &set_of };
        let newcomer = claims.len() - 1;
        let mut parts = Vec::new();
        cores.divide(n_groups, &claims, &mut parts);
        if parts[newcomer] >= claims[newcomer].limit {
            // Enough while everyone is awake is enough.
            return claims[newcomer].limit * delivered;
        }
        let mut chances = vec![1.0_f64; 1 << followed.len()];
        let (mut sum, mut mean) = (0.0, 0.0);
        for state in 0..chances.len() {
            for (bit, one) in followed.iter().enumerate() {
                claims[one.claim].limit = if state >> bit & 1 == 1 { 1.0 } else { 0.0 };
            }
            cores.divide(n_groups, &claims, &mut parts);
            self.place(state, n_threads, n_residents, &followed, &mut parts);
            chances[state] = chance(state, &chances, &followed, &parts);
            sum += chances[state];
            mean += chances[state] * parts[newcomer];
        }
        mean / sum * delivered
    }

    /// Makes of the fluid's `parts` those of whole tasks on whole cores, where all that are awake are of one kind.
    fn place(&self, state: usize, n_threads: u32, n_residents: u32, followed: &[Followed], parts: &mut [f64]) {
        // Where some are confined, queues differ for other reasons.
        if !self.sets.is_empty() {
            return;
        }
        let visitors = || followed.iter().enumerate().filter(|(bit, one)| one.is_peer && state >> bit & 1 == 1);
        // A core that real-time tasks have is none to be put on.
        let capacity: f64 = self.cores.iter().sum();
        let n_cores = capacity.round().max(1.0) as u32;
        let crowd = Crowd { n_cores, n_residents, n_visitors: visitors().count() as u32 };
        let [.., newcomer] = parts else { return };
        // As a fluid they would have this. Where others have much of it, or groups do not share evenly, the fluid
        // stands.
        let even = (capacity / crowd.n_tasks()).min(1.0);
        if (*newcomer / f64::from(n_threads) - even).abs() > UNEVEN_MAX * even {
            return;
        }
        let Portions { resident, visitor } = crowd.portions();
        let fluid = (f64::from(n_cores) / crowd.n_tasks()).min(1.0);
        *newcomer *= resident / fluid;
        visitors().for_each(|(_, one)| parts[one.claim] *= visitor / fluid);
    }

    /// All claims: groups, then tasks, then the newcomer, with those awake who are so only at times.
    fn market(&self, n_threads: u32) -> Market {
        let groups = self.groups.iter();
        let mut claims: Vec<Claim> =
            groups.map(|group| Claim { group: group.parent, weight: group.weight, limit: group.limit }).collect();
        let n_groups = claims.len();
        let mut set_of = vec![None; n_groups];
        let mut followed: Vec<Followed> = Vec::new();
        let mut n_residents = n_threads;
        let brief = self.brief(n_threads);
        for task in &self.tasks {
            let Task { group, weight, mut n_always, at_times, set, is_brief } = *task;
            if is_brief {
                n_always = brief.part * task.n_awake();
            }
            let at_times = at_times.filter(|_| !is_brief);
            let is_peer = group == self.home && weight == FULL_WEIGHT && !is_brief;
            if is_peer {
                n_residents = n_residents.saturating_add(n_always as u32);
            }
            if n_always > 0.0 {
                claims.push(Claim { group, weight: weight * n_always, limit: n_always });
                set_of.push(set);
            }
            if let Some(AtTimes { used, ratio }) = at_times {
                followed.push(Followed { claim: claims.len(), used, ratio, is_peer });
                claims.push(Claim { group, weight, limit: 1.0 });
                set_of.push(set);
            }
        }
        followed.sort_by(|a, b| b.used.total_cmp(&a.used));
        for one in followed.drain(N_FOLLOWED_MAX.min(followed.len())..) {
            claims[one.claim].limit = one.used;
        }
        let own = self.home_set.map(|set| &self.sets[set]);
        let may_use = |core: usize| own.is_none_or(|own| own[core]);
        let cores = self.cores.iter().enumerate().filter(|(core, _)| may_use(*core));
        let mut cores: Vec<f64> = cores.map(|(_, left)| *left).collect();
        cores.sort_by(|a, b| b.total_cmp(a));
        let limit = cores.iter().take(n_threads as usize).sum();
        claims.push(Claim { group: self.home, weight: FULL_WEIGHT * f64::from(n_threads), limit });
        set_of.push(self.home_set);
        Market { followed, claims, set_of, n_groups, n_residents, spared: brief.spared }
    }

    /// Computes the effect of rows of brief processes beside `n_threads` more that stay.
    ///
    /// Each of them is put where least is to do when it is started: on a core that nobody stays on as long as there is
    /// one, and on any otherwise. So together they are as one task on each of these cores, however many rows they are.
    fn brief(&self, n_threads: u32) -> Brief {
        let sum = |is_brief: bool, count: fn(&Task) -> f64| -> f64 {
            self.tasks.iter().filter(|task| task.is_brief == is_brief).map(count).sum()
        };
        let n_rows = sum(true, Task::n_awake);
        let n_cores = self.cores.len() as f64;
        let n_free = (n_cores - f64::from(n_threads) - sum(false, |task| task.n_always)).max(0.0);
        let n_places = if n_free >= 1.0 { n_free } else { n_cores };
        let is_crowded = n_rows > n_places;
        Brief {
            part: if is_crowded { n_places / n_rows } else { 1.0 },
            spared: if is_crowded && n_free >= 1.0 { 1.0 - SPILLED } else { 1.0 },
        }
    }
}

struct Market {
    followed: Vec<Followed>,
    claims: Vec<Claim>,
    /// Position of the set of cores that each claim is confined to, if it is.
    set_of: Vec<Option<usize>>,
    n_groups: usize,
    /// The newcomer's threads, and those that share evenly with it and never sleep.
    n_residents: u32,
    /// The share of the newcomer's cores that brief processes leave.
    spared: f64,
}

/// Rows of processes that last a few milliseconds each.
struct Brief {
    /// The part of a task that each row counts as.
    part: f64,
    /// The share that brief processes leave of the cores that they avoid.
    spared: f64,
}

/// A task that is followed through being awake and asleep.
struct Followed {
    claim: usize,
    used: f64,
    ratio: f64,
    /// Whether it shares evenly with the newcomer.
    is_peer: bool,
}

/// Returns the frequency of the set `state` of awake tasks relative to the empty set: from the sets that lack one of
/// them.
///
/// A task falls asleep at a rate in proportion to its part. In balance, the sets with and without it are as its ratio
/// to its part, and with equal weights this says the same whichever task one takes; with others it is the mean.
fn chance(state: usize, chances: &[f64], followed: &[Followed], parts: &[f64]) -> f64 {
    if state == 0 {
        return 1.0;
    }
    // A part of nothing would be slept off never; a millionth of a core is nothing.
    const PART_MIN: f64 = 1e-6;
    let awake = followed.iter().enumerate().filter(|(bit, _)| state >> bit & 1 == 1);
    let sum: f64 =
        awake.map(|(bit, one)| chances[state & !(1 << bit)] * one.ratio / parts[one.claim].max(PART_MIN)).sum();
    sum / f64::from(state.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(n_cores: usize, tasks: &[Task]) -> Scene {
        Scene {
            cores: vec![1.0; n_cores],
            delivered: 1.0,
            groups: vec![Group::ROOT],
            tasks: tasks.to_vec(),
            home: 0,
            sets: Vec::new(),
            home_set: None,
        }
    }

    fn spinner() -> Task {
        Task::observed(0, FULL_WEIGHT, 1.0, 0.0)
    }

    /// A task that works for as long as it sleeps when it is alone.
    fn half() -> Task {
        Task::observed(0, FULL_WEIGHT, 0.5, 0.0)
    }

    /// The tolerance is for the roundings of at most 64 sums of quotients near 1.
    #[track_caller]
    fn check(scene: &Scene, n_threads: u32, expected: f64) {
        let cores = scene.cores_for(n_threads);
        assert!((cores - expected).abs() < 1e-12, "{n_threads} threads get {cores}, not {expected}");
    }

    #[test]
    fn an_idle_host_gives_each_thread_a_core() {
        check(&scene(4, &[]), 1, 1.0);
        check(&scene(4, &[]), 4, 4.0);
        check(&scene(4, &[]), 9, 4.0);
    }

    #[test]
    fn spinners_share_fairly_however_long_they_run() {
        check(&scene(1, &[spinner()]), 1, 0.5);
        check(&scene(2, &[spinner()]), 1, 1.0);
        check(&scene(2, &[spinner(), spinner()]), 1, 2.0 / 3.0);
        check(&scene(2, &[spinner(), spinner()]), 2, 1.0);
        check(&scene(2, &[Task::observed(0, FULL_WEIGHT, 2.0, 6.0)]), 1, 2.0 / 9.0);
    }

    #[test]
    fn a_niced_spinner_takes_its_small_part() {
        check(&scene(1, &[Task::observed(0, 15.0, 1.0, 0.0)]), 1, 1024.0 / 1039.0);
        check(&scene(1, &[Task::observed(0, 15.0, 1.0, 0.0), spinner()]), 1, 1024.0 / 2063.0);
    }

    #[test]
    fn a_task_that_sleeps_as_long_as_it_works() {
        // Alone with it, the newcomer halves its pace: 2 of 3 parts of time awake, at half a core.
        check(&scene(1, &[half()]), 1, 2.0 / 3.0);
        check(&scene(2, &[half()]), 1, 1.0);
    }

    #[test]
    fn tasks_that_sleep_at_times_meet_by_chance() {
        // Sets weigh 1, 2 of 1 / (1/2), 1 of 1 / (1/2 * 1/3); the newcomer gets 1, 1/2, 1/3.
        check(&scene(1, &[half(), half()]), 1, 5.0 / 11.0);
    }

    #[test]
    fn on_two_cores_tasks_that_sleep_at_times_meet_each_other_more_than_the_newcomer() {
        // Only all three are too many. Then it gets 0.8 and they 0.6 each: sets weigh 1, 2, 1 / 0.6.
        check(&scene(2, &[half(), half()]), 1, (3.0 + 0.8 / 0.6) / (3.0 + 1.0 / 0.6));
        // Beside a spinner each waits for one of them: sets weigh 1, 2 of 1 / (1/2), 1 of 4; the newcomer gets 1, 3/4,
        // 1/2.
        check(&scene(2, &[half(), half(), spinner()]), 1, (1.0 + 4.0 * 0.75 + 4.0 * 0.5) / 9.0);
    }

    #[test]
    fn three_that_burst_leave_what_real_ones_left() {
        // Real tests on two cores got 0.79 (0.78 to 0.81) alone and 1.07 (1.05 to 1.07) together, less 1 % that was
        // stolen.
        let three = scene(2, &[half(), half(), half()]);
        assert!((three.cores_for(1) - 0.79).abs() < 0.015, "{}", three.cores_for(1));
        assert!((three.cores_for(2) - 1.07).abs() < 0.015, "{}", three.cores_for(2));
    }

    #[test]
    fn rows_of_brief_processes_keep_to_cores_that_nobody_stays_on() {
        // Real tests beside three rows on two cores got 0.93 and 0.95 alone, and 0.98 together.
        let row = Task { is_brief: true, ..spinner() };
        check(&scene(2, &[row, row, row]), 1, 0.94);
        check(&scene(2, &[row, row, row]), 2, 1.0);
        check(&scene(2, &[row]), 1, 1.0);
        // One task for each core where a spinner is on each.
        check(&scene(2, &[row, row, row, spinner(), spinner()]), 1, 2.0 / 5.0);
    }

    #[test]
    fn waiting_is_not_sleeping() {
        // Used half and waited half of the time: always awake.
        check(&scene(1, &[Task::observed(0, FULL_WEIGHT, 0.5, 0.5)]), 1, 0.5);
        // A task that works as long as it sleeps, seen beside a spinner: awake 2/3 of the time, half of that waiting.
        let seen = Task::observed(0, FULL_WEIGHT, 1.0 / 3.0, 1.0 / 3.0);
        check(&scene(1, &[seen]), 1, 2.0 / 3.0);
    }

    #[test]
    fn small_tasks_count_with_what_they_use() {
        let small = vec![Task::observed(0, FULL_WEIGHT, 0.01, 0.0); 20];
        let followed = &small[..N_FOLLOWED_MAX];
        let with_six = scene(1, followed).cores_for(1);
        let with_all = scene(1, &small).cores_for(1);
        // 14 of them take a hundredth each.
        assert!((with_six - with_all - 0.14).abs() < 0.005, "{with_six}, then {with_all}");
    }

    #[test]
    fn a_limit_on_the_home_group_is_the_newcomer_s() {
        let mut limited = scene(2, &[]);
        limited.groups.push(Group { parent: 0, weight: FULL_WEIGHT, limit: 0.5 });
        limited.home = 1;
        check(&limited, 1, 0.5);
        check(&limited, 2, 0.5);
        limited.tasks.push(Task::observed(1, FULL_WEIGHT, 0.5, 0.5));
        check(&limited, 1, 0.25);
    }

    #[test]
    fn many_in_another_group_weigh_as_one() {
        let mut grouped = scene(1, &[Task::observed(1, FULL_WEIGHT, 1.0, 7.0)]);
        grouped.groups.push(Group { parent: 0, weight: FULL_WEIGHT, limit: f64::INFINITY });
        grouped.groups.push(Group { parent: 0, weight: FULL_WEIGHT, limit: f64::INFINITY });
        grouped.home = 2;
        check(&grouped, 1, 0.5);
        grouped.home = 1;
        check(&grouped, 1, 1.0 / 9.0);
    }

    #[test]
    fn the_confined_are_in_the_way_on_their_cores_only() {
        let mut confined = scene(2, &[Task { set: Some(0), ..spinner() }; 3]);
        confined.sets = vec![vec![true, false], vec![false, true]];
        check(&confined, 1, 1.0);
        // Both go where nobody is.
        check(&confined, 2, 1.0);
        confined.home_set = Some(0);
        check(&confined, 1, 0.25);
        confined.home_set = Some(1);
        check(&confined, 2, 1.0);
    }

    #[test]
    fn what_is_stolen_and_what_interrupts_take_is_not_shared() {
        let mut stolen = scene(1, &[spinner()]);
        stolen.delivered = 0.8;
        check(&stolen, 1, 0.4);
        let mut interrupted = scene(2, &[]);
        interrupted.cores = vec![0.6, 1.0];
        check(&interrupted, 1, 1.0);
        check(&interrupted, 2, 1.6);
    }

    #[test]
    fn more_load_never_gives_more() {
        let mut tasks = Vec::new();
        let mut last = f64::INFINITY;
        for n in 0..40 {
            // Each uses less than the last, so that it is always the same ones that are followed.
            let share = 0.9 / f64::from(n + 1);
            tasks.push(Task::observed(0, if n % 3 == 0 { 15.0 } else { FULL_WEIGHT }, share, (1.0 - share) / 3.0));
            let cores = scene(3, &tasks).cores_for(2);
            // With unequal weights the chances of sets are not exact; a hundredth of a core is more than they miss by.
            assert!(cores <= last + 0.01 && cores > 0.0, "{last}, then {cores}");
            last = cores;
        }
    }
}
