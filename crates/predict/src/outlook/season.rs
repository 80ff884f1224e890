//! Course of a series at each phase of its periods, above and below its level.

use serde::{Deserialize, Serialize};

use super::Periods;
use super::calendar::Days;
use super::search::{FoundSeason, N_FOUND, Search};
use super::shift::Shift;

/// Regressors of the seasons that are given.
const N_GIVEN: usize = 5;

/// Regressors of all seasons; those that were found come last.
pub(super) const N_SEASON: usize = N_GIVEN + N_FOUND;

/// Cells of the smooth profile of the shortest period: the hours of a day.
pub(super) const N_CELLS: usize = 24;

/// Slots of the sharp profile at most: the minutes of a day.
pub(super) const N_SLOTS_MAX: usize = 1440;

/// Periods over which the profile of the shortest one is remembered, and that of the longer one.
const MEMORY_SHORT: f64 = 10.0;
const MEMORY_LONG: f64 = 4.0;

/// A trend has to grow by more than so many mean absolute deviations over the time that it is taken from.
const TREND_MIN: f64 = 2.0;

/// No sample moves a profile by more than from so many mean absolute deviations away: a level that shifts is no season.
pub(super) const CLIP: f64 = 8.0;

/// Profiles of deviations from the level, and the deviations of the last longest period themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Season {
    periods: Periods,
    /// Not saved: who follows a calendar has the samples.
    #[serde(skip, default = "Days::none")]
    days: Days,
    sharp: Profile,
    smooth: Profile,
    long: Profile,
    /// The last steps, each at its number modulo their count.
    past: Vec<Step>,
    /// Growth of the series in a step.
    trend: f64,
    /// Finds more of them, unless it is not to.
    search: Option<Search>,
}

/// The seasons at a step that is to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    /// Values by each profile and at the same phase before: for the shortest period as deviations from the mean over
    /// one, for the longer one from the mean over that.
    pub(super) features: [f64; N_SEASON],
    /// The last known sample at the same phase of the shortest period, grown by the trend on the way from there, and
    /// that of the longer one as it was.
    pub(super) naive: [Option<f64>; 2],
}

/// A sample, NaN for a gap, and the means over the last shortest and longest period then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) sample: f64,
    pub(super) short: f64,
    pub(super) long: f64,
    /// Amount that shifts of the level since then have added to the sample.
    pub(super) moved: f64,
}

/// Means by phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Profile {
    /// Period in steps; 0 for a profile that is not there.
    period: f64,
    /// Mean, and how many deviations it counts for.
    cells: Vec<(f64, f64)>,
    /// Number of deviations that a cell remembers.
    memory: f64,
}

impl Season {
    pub(super) fn new(periods: Periods) -> Self {
        let [short, long] = periods.0;
        let n_slots = (short.round() as usize).min(N_SLOTS_MAX);
        let n_long = if long > 0.0 { (N_CELLS as f64 * long / short).round() as usize } else { 0 };
        let n_past = short.max(long).ceil() as usize + 1;
        Self {
            sharp: Profile::new(short, n_slots, MEMORY_SHORT),
            smooth: Profile::new(short, N_CELLS.min(n_slots), MEMORY_SHORT),
            long: Profile::new(long, n_long.min(long as usize), MEMORY_LONG),
            past: vec![Step { sample: f64::NAN, short: f64::NAN, long: f64::NAN, moved: 0.0 }; n_past],
            trend: 0.0,
            search: Some(Search::new(periods, 0)),
            days: Days::none(),
            periods,
        }
    }

    /// Whether this can be what became of `fresh`.
    pub(super) fn is_like(&self, fresh: &Self) -> bool {
        let is_search_sound = match (&self.search, &fresh.search) {
            (Some(search), Some(_)) => search.is_sound(self.periods),
            (None, None) => true,
            _ => false,
        };
        self.periods == fresh.periods
            && self.past.len() == fresh.past.len()
            && self.past.iter().all(Step::is_sound)
            && self.trend.is_finite()
            && [(&self.sharp, &fresh.sharp), (&self.smooth, &fresh.smooth), (&self.long, &fresh.long)]
                .iter()
                .all(|(profile, fresh)| profile.is_like(fresh))
            && is_search_sound
    }

    /// Days and weeks begin as these say. To be called before the first step.
    pub(super) fn follow(&mut self, days: Days) {
        self.past.extend(std::iter::repeat_n(self.past[0], days.change_max()));
        self.days = days;
    }

    /// The same that has seen nothing before step `first`.
    pub(super) fn fresh(&self, first: u64) -> Self {
        let mut fresh = Self::new(self.periods);
        fresh.follow(self.days.clone());
        fresh.search = self.search.as_ref().map(|_| Search::new(self.periods, first));
        fresh
    }

    /// Those that need not be found.
    pub(super) fn periods(&self) -> Periods {
        self.periods
    }

    /// Whether there is one that need not be found.
    pub(super) fn is_given(&self) -> bool {
        self.periods != Periods::NONE
    }

    /// Looks for no more seasons.
    pub(super) fn search_none(&mut self) {
        self.search = None;
    }

    /// The seasons that were found.
    pub(super) fn found(&self) -> Vec<FoundSeason> {
        self.search.as_ref().map(Search::found).unwrap_or_default()
    }

    /// Takes step `clock`, and says which regressors mean something else from here on. `typical` is the mean absolute
    /// deviation from the mean over the shortest period.
    pub(super) fn learn(&mut self, clock: u64, step: Step, typical: f64) -> impl Iterator<Item = usize> + use<> {
        let place = (clock % self.past.len() as u64) as usize;
        self.past[place] = step;
        self.trend = self.trend_at(clock, typical);
        self.learn_profiles(clock, step, [true; 2], CLIP * typical);
        let changed = self.search.as_mut().map_or([false; N_FOUND], |search| search.learn(step.sample, typical));
        (N_GIVEN..).zip(changed).filter(|(_, has_changed)| *has_changed).map(|(idx, _)| idx)
    }

    /// The shortest period, the longest one, or both were whole for the first time with step `clock` - 1: what came in
    /// them deviates from their mean, and not from that of what there was by then.
    pub(super) fn begin(&mut self, clock: u64, are_whole: [bool; 2], typical: f64) {
        let fresh = Self::new(self.periods);
        let [is_short, is_long] = are_whole;
        if is_short {
            (self.sharp, self.smooth) = (fresh.sharp, fresh.smooth);
        }
        if is_long {
            self.long = fresh.long;
        }
        let n = self.past.len() as u64;
        let Step { short, long, .. } = self.past[((clock - 1) % n) as usize];
        let n_steps = self.periods.0[usize::from(is_long)].max(self.periods.memory()).round() as u64;
        for at in clock - n_steps..clock {
            let step = &mut self.past[(at % n) as usize];
            if is_short {
                step.short = short;
            }
            if is_long {
                step.long = long;
            }
            let step = *step;
            self.learn_profiles(at, step, are_whole, CLIP * typical);
        }
    }

    /// Learns what a step has at its phase of the shortest period, the longest one, or both.
    fn learn_profiles(
        &mut self,
        clock: u64,
        Step { sample, short, long, .. }: Step,
        [of_short, of_long]: [bool; 2],
        clip: f64,
    ) {
        if sample.is_nan() {
            return;
        }
        let [short_place, long_place] = self.periods.0.map(|period| self.days.place(clock, period));
        if of_short {
            self.sharp.learn(short_place, sample - short, clip);
            self.smooth.learn(short_place, sample - short, clip);
        }
        if of_long {
            self.long.learn(long_place, sample - long, clip);
        }
    }

    /// The level has moved, up to step `clock` - 1: what was before goes along, and what came since deviates from what
    /// it is by now.
    pub(super) fn shift(&mut self, clock: u64, Shift { by, n_new }: Shift) {
        let n = self.past.len() as u64;
        let place = |age: u64| ((clock - 1 - age) % n) as usize;
        let Step { short, long, .. } = self.past[place(0)];
        for age in 0..clock.min(n) {
            let step = &mut self.past[place(age)];
            *step = if age < n_new as u64 {
                Step { short, long, ..*step }
            } else {
                let Step { sample, short, long, moved } = *step;
                Step { sample: sample + by, short: short + by, long: long + by, moved: moved + by }
            };
        }
    }

    /// The step `lead` steps after `clock` - 1.
    pub(super) fn phase(&self, clock: u64, lead: usize) -> Phase {
        let mut features = [0.0; N_SEASON];
        let step = clock + lead as u64 - 1;
        let (given, naive) = self.given(clock, lead, step);
        features[..N_GIVEN].copy_from_slice(&given);
        if let Some(search) = &self.search {
            features[N_GIVEN..].copy_from_slice(&search.features(step));
        }
        Phase { features, naive }
    }

    fn given(&self, clock: u64, lead: usize, step: u64) -> ([f64; N_GIVEN], [Option<f64>; 2]) {
        let [short, long] = self.periods.0;
        // In the first period no phase has come before, and the cell of the present one knows only what the level says.
        if (step as f64) < short || short == 0.0 {
            return ([0.0; N_GIVEN], [None; 2]);
        }
        let [of_short, of_long] = self.periods.0.map(|period| self.days.place(step, period));
        let (sharp, smooth) = (self.sharp.at(of_short), self.smooth.between(of_short));
        let yesterday = self.before(clock, lead, short);
        let naive = yesterday.map(|(before, known)| known.sample + (step - before) as f64 * self.trend);
        let deviation = yesterday.map_or(sharp, |(_, known)| known.sample - known.short);
        if long == 0.0 {
            return ([sharp, smooth, deviation, 0.0, 0.0], [naive, None]);
        }
        let of_long = if clock as f64 > long { self.long.between(of_long) } else { smooth };
        let week_ago = self.before(clock, lead, long).map(|(_, known)| known);
        let of_week = week_ago.map_or(sharp, |known| known.sample - known.long);
        ([sharp, smooth, deviation, of_long, of_week], [naive, week_ago.map(|known| known.sample - known.moved)])
    }

    /// The growth in a step of the mean over the shorter period, over the last longer one before the end of step
    /// `clock` or as much of it as there is: the lesser of what its two halves have, so that a level that moved once is
    /// no trend. 0 until twice the shorter period is known, without a longer one, and where samples deviate by as much
    /// anyway.
    fn trend_at(&self, clock: u64, typical: f64) -> f64 {
        let [short, long] = self.periods.0;
        let n_steps = long.round().min(clock as f64 + 1.0 - short.ceil());
        if n_steps < short {
            return 0.0;
        }
        let half = (n_steps / 2.0).floor();
        let mean = |age: f64| self.past[((clock - age as u64) % self.past.len() as u64) as usize].short;
        let (late, early) = (mean(0.0) - mean(half), mean(half) - mean(2.0 * half));
        let is_clear = (late + early).abs() > TREND_MIN * typical;
        if is_clear && late * early > 0.0 { late.abs().min(early.abs()).copysign(late) / half } else { 0.0 }
    }

    /// The step the least number of whole periods before the step `lead` steps after `clock` - 1; `None` for a gap
    /// and before the first sample.
    fn before(&self, clock: u64, lead: usize, period: f64) -> Option<(u64, Step)> {
        let before = self.days.before(clock + lead as u64 - 1, lead as u64, period)?;
        // With periods that are no whole numbers of steps rounding may reach a step too far back.
        if clock - before > self.past.len() as u64 {
            return None;
        }
        let known = self.past[(before % self.past.len() as u64) as usize];
        (!known.sample.is_nan()).then_some((before, known))
    }
}

impl Step {
    fn is_sound(&self) -> bool {
        let Self { sample, short, long, moved } = self;
        moved.is_finite() && (sample.is_nan() || [sample, short, long].iter().all(|value| value.is_finite()))
    }
}

impl Profile {
    pub(super) fn new(period: f64, n_cells: usize, memory: f64) -> Self {
        let memory = memory * (period / n_cells.max(1) as f64).max(1.0);
        Self { period, cells: vec![(0.0, 0.0); n_cells], memory }
    }

    /// Whether this can be what became of `fresh`.
    pub(super) fn is_like(&self, fresh: &Self) -> bool {
        (self.period, self.memory, self.cells.len()) == (fresh.period, fresh.memory, fresh.cells.len())
            && self.cells.iter().all(|(mean, n)| mean.is_finite() && n.is_finite() && *n >= 0.0)
    }

    /// The phase of what is at `place` in time, in steps, in cells.
    fn phase(&self, place: f64) -> f64 {
        let n_periods = place / self.period;
        (n_periods - n_periods.floor()) * self.cells.len() as f64
    }

    pub(super) fn learn(&mut self, place: f64, deviation: f64, clip: f64) {
        if self.cells.is_empty() {
            return;
        }
        // A phase a rounding error before a cell belongs to it.
        let idx = (self.phase(place) + 1e-6) as usize % self.cells.len();
        let (mean, n) = &mut self.cells[idx];
        *n = (*n + 1.0).min(self.memory);
        *mean += if *n > 1.0 { (deviation - *mean).clamp(-clip, clip) / *n } else { deviation };
    }

    pub(super) fn n_cells(&self) -> usize {
        self.cells.len()
    }

    /// Returns the value by the steps of a cell, or if those are several, between the middles of cells.
    pub(super) fn value(&self, place: f64) -> f64 {
        if self.cells.len() as f64 >= self.period.round() { self.at(place) } else { self.between(place) }
    }

    fn at(&self, place: f64) -> f64 {
        self.cells[(self.phase(place) + 1e-6) as usize % self.cells.len()].0
    }

    /// Along straight lines between the middles of cells.
    fn between(&self, place: f64) -> f64 {
        let n = self.cells.len();
        if n == 0 {
            return 0.0;
        }
        // The middle of the steps of a cell is half a step before the middle of the cell.
        let phase = self.phase(place) + n as f64 - 0.5 + 0.5 * n as f64 / self.period;
        let (from, share) = (phase as usize, phase.fract());
        let (from, to) = (self.cells[from % n].0, self.cells[(from + 1) % n].0);
        from + share * (to - from)
    }
}
