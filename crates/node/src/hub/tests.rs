//! A node without its threads: a manual clock, a host made of files, the real store.

mod catching_up;
mod warned;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use tempfile::TempDir;
use units::{Confidence, Timestamp};

use super::{GAUGE_HORIZONS, Hub, Listeners, QueryError, TimeRange};
use crate::api::{self, PushedSample};
use crate::catch_up::{Bell, CatchUp};
use crate::config::Config;
use crate::fitter::Fitter;
use crate::node::Base;
use crate::sampler::Sampler;
use crate::schedule::Due;
use crate::store;

const SECOND: Duration = Duration::from_secs(1);
const LOAD: &str = "load.1m";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

/// A recorded host whose load the test says, and a node that samples it.
struct World {
    root: TempDir,
    config: Config,
    clock: Arc<clock::Manual>,
    hub: Arc<Hub>,
    sampler: Sampler,
    n_ticks: u32,
    /// Where models catch up and fits are made, if not right after their tick.
    catch_up: Option<CatchUp>,
    fitter: Option<Fitter>,
    writing: store::Running,
}

impl World {
    fn start(data_dir: Option<&Path>) -> Self {
        Self::start_with("REFIT(AR(2),every=20,window=60)", data_dir)
    }

    fn start_with(model: &str, data_dir: Option<&Path>) -> Self {
        Self::start_fitting(model, data_dir, false)
    }

    /// A node whose samples are thinned when they are as old as this.
    fn keeping(retention: Duration) -> Self {
        Self::of(Config { retention, ..Config::default() }, "LAST", false)
    }

    fn start_fitting(model: &str, data_dir: Option<&Path>, is_beside: bool) -> Self {
        Self::of(Config { data_dir: data_dir.map(Path::to_owned), ..Config::default() }, model, is_beside)
    }

    fn of(config: Config, model: &str, is_beside: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("proc")).unwrap();
        let config = Config { root: root.path().to_owned(), model: model.parse().unwrap(), ..config };
        let clock = Arc::new(clock::Manual::at(at(1_800_000_000)));
        set_load(root.path(), 0);
        Self::begin(root, config, clock, is_beside, 0)
    }

    fn begin(root: TempDir, config: Config, clock: Arc<clock::Manual>, is_beside: bool, n_ticks: u32) -> Self {
        let host = sensor::Host::open(&config.root).unwrap();
        let ticking: Arc<dyn Clock> = clock.clone();
        let base = Base::open(&config, &[], &host, Arc::clone(&ticking)).unwrap();
        let bell = is_beside.then(Bell::default);
        let fits = |bell| Fitter::start(Arc::clone(&base.engine), bell, &config.watch).unwrap();
        let fitter = bell.clone().map(fits);
        let fits = fitter.as_ref().map(Fitter::queue);
        let (hub, schedule, writing) = base.hub(Listeners { fits, bell: bell.clone(), ..Listeners::default() });
        let catch_up = bell.map(|bell| CatchUp::start(bell, Arc::clone(&hub), &config.watch).unwrap());
        let sampler = Sampler::new(ticking, schedule, Box::new(host), None, Arc::clone(&hub));
        Self { root, config, clock, hub, sampler, n_ticks, catch_up, fitter, writing }
    }

    /// The next tick, with a load that varies but is the same on every run.
    fn tick(&mut self) {
        set_load(self.root.path(), self.n_ticks);
        self.n_ticks += 1;
        loop {
            match self.sampler.poll() {
                Duration::ZERO => return,
                wait => self.clock.pass(wait),
            }
        }
    }

    fn ticks(&mut self, n: u32) {
        (0..n).for_each(|_| self.tick());
    }

    /// Ends the node as a kill does, flushed or not, and starts one on the same directory.
    fn restart(self) -> Self {
        let Self { root, config, clock, hub, sampler, n_ticks, catch_up, fitter, writing } = self;
        let is_beside = fitter.is_some();
        drop((catch_up, hub, sampler, fitter, writing));
        Self::begin(root, config, clock, is_beside, n_ticks)
    }

    fn forecast(&self, id: &str) -> api::Forecast {
        self.hub.forecast(id, Duration::from_secs(30), Confidence::P95).unwrap()
    }

    fn samples(&self, from: i64, to: i64, step: Option<Duration>) -> Vec<Option<f64>> {
        self.answer(from, to, step).values
    }

    fn answer(&self, from: i64, to: i64, step: Option<Duration>) -> api::Samples {
        self.hub.store.flush().unwrap();
        let range = TimeRange { from: at(from), to: at(to) };
        self.hub.samples(LOAD, range, step).unwrap()
    }

    fn push(&self, samples: &[(Option<i64>, Option<f64>)]) -> Result<usize, QueryError> {
        let samples: Vec<_> =
            samples.iter().map(|(time, value)| PushedSample { time: time.map(at), value: *value }).collect();
        self.hub.push("mine", &samples)
    }

    fn create(&self, id: &str, step: &str) -> Result<api::SeriesDetail, QueryError> {
        let (id, step) = (id.to_owned(), step.to_owned());
        self.hub.create(api::NewSeries { id, unit: None, sentence: None, step, model: None })
    }
}

fn set_load(root: &Path, tick: u32) {
    let load = f64::from(tick * 7919 % 101) / 100.0;
    fs::write(root.join("proc/loadavg"), format!("{load:.2} 0.10 0.10 1/100 4711\n")).unwrap();
}

#[test]
fn last_speaks_until_there_are_samples_enough() {
    let mut world = World::start(None);
    world.tick();
    let error = world.hub.forecast(LOAD, SECOND, Confidence::P95).unwrap_err();
    assert!(matches!(error, QueryError::NotReady { have: 1, need: 2, .. }), "{error}");
    world.tick();
    let detail = world.hub.detail(LOAD).unwrap();
    assert_eq!(detail.series.model, "LAST");
    let waiting = detail.waiting.unwrap();
    assert_eq!((waiting.model.as_str(), waiting.have, waiting.need), ("AR(2)", Some(2), Some(10)));
    world.ticks(8);
    let detail = world.hub.detail(LOAD).unwrap();
    assert_eq!((detail.series.model.as_str(), detail.waiting), ("REFIT(AR(2),every=20,window=60)", None));
    assert_eq!(detail.fitted.unwrap().fitted_at, detail.series.last.map(|last| last.time));
}

#[test]
fn a_constant_signal_waits_and_says_why() {
    let mut world = World::start(None);
    world.ticks(30);
    let detail = world.hub.detail("load.5m").unwrap();
    assert_eq!(detail.waiting.unwrap().reason, api::WaitingReason::Constant);
    assert_eq!(world.forecast("load.5m").mean, [0.1; 30]);
}

#[test]
fn forecasts_and_bounds_stay_within_what_the_quantity_can_be() {
    let mut world = World::start(None);
    world.ticks(40);
    let forecast = world.forecast(LOAD);
    assert!(forecast.mean.iter().chain(&forecast.lower).all(|value| *value >= 0.0));
    assert!(forecast.lower.contains(&0.0), "the case is not reached");
}

#[test]
fn a_series_that_its_source_has_forgotten_goes_with_its_history() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(Some(directory.path()));
    world.ticks(5);
    let mut readings = signal::Readings::default();
    readings.push_gone(signal::Signal::only(signal::family_of_signal(LOAD).unwrap().0));
    let label = at(1_800_000_000) + SECOND * 60;
    world.hub.take_tick(None, Due { label, n_missed: 0, n_jumped: 0, behind: Duration::ZERO }, &readings);
    assert!(matches!(world.hub.detail(LOAD), Err(QueryError::UnknownSeries { .. })));
    assert!(world.hub.detail("load.5m").is_ok());
    assert!(world.restart().hub.detail(LOAD).is_err(), "it came back with a restart");
}

#[test]
fn a_longer_forecast_begins_as_a_shorter_one() {
    for model in ["AUTO", "AR(4)", "NWS", "TAR(1)"] {
        let mut world = World::start_with(model, None);
        world.ticks(200);
        let at = |n_leads| world.hub.ahead(LOAD, n_leads).unwrap().at(&[1, 7], Confidence::P95, Some(Confidence::P50));
        assert_eq!(format!("{:?}", at(7)), format!("{:?}", at(600)), "{model}");
    }
}

#[test]
fn a_missed_deadline_is_a_gap_and_never_a_shift() {
    let mut world = World::start(None);
    world.ticks(3);
    world.clock.pass(Duration::from_millis(2500));
    world.tick();
    let begin = 1_800_000_000;
    let values = world.samples(begin, begin + 10, None);
    let is_known: Vec<bool> = values.iter().map(Option::is_some).collect();
    assert_eq!(is_known[..6], [true, true, true, false, true, false]);
    assert_eq!(world.hub.health().missed_deadlines, 1);
}

#[test]
fn auto_speaks_at_once_and_says_who_speaks() {
    let mut world = World::start_with("AUTO", None);
    world.ticks(2);
    let series = world.hub.detail(LOAD).unwrap().series;
    assert_eq!((series.model.as_str(), series.model_speaking.as_deref()), ("AUTO", Some("LAST")));
    world.ticks(100);
    let forecast = world.forecast(LOAD);
    assert_eq!((forecast.model.as_str(), forecast.model_speaking[0].from_lead), ("AUTO", 1));
    let sum: f64 = forecast.speakers.iter().map(|speaker| speaker.weight_ratio).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{:?}", forecast.speakers);
    let detail = world.hub.detail(LOAD).unwrap();
    let fitted = detail.fitted.unwrap();
    assert!(fitted.n_samples > 50, "not the 2 samples of the first fit: {}", fitted.n_samples);
    assert_eq!(fitted.speakers.first().map(|speaker| &speaker.model), detail.series.model_speaking.as_ref());
    assert!(fitted.speakers.iter().any(|speaker| !speaker.parameters.is_empty()), "{:?}", fitted.speakers);
    let detail = world.hub.detail("load.5m").unwrap();
    assert_eq!((detail.waiting, detail.series.model.as_str()), (None, "AUTO"), "constant signals do not wait");
}

#[test]
fn fits_on_their_thread_come_to_the_same_as_right_away() {
    let (mut beside, mut at_once) = (World::start_fitting("AUTO", None, true), World::start_with("AUTO", None));
    for _ in 0..101 {
        beside.tick();
        at_once.tick();
        beside.fitter.as_ref().unwrap().settle();
    }
    let n_fits = |world: &World| world.hub.detail(LOAD).unwrap().fitted.map(|fitted| fitted.n_refits);
    assert_eq!(beside.forecast(LOAD), at_once.forecast(LOAD));
    assert_eq!(n_fits(&beside), n_fits(&at_once));
}

#[test]
fn fits_after_the_end_of_their_thread_are_given_back() {
    let mut world = World::start_fitting("AUTO", None, true);
    world.ticks(100);
    drop(world.fitter.take());
    world.ticks(200);
    assert_eq!(world.hub.detail(LOAD).unwrap().series.n_samples, 300, "a tick was held up");
}

#[test]
fn a_hub_is_gone_with_those_who_hold_it() {
    let world = World::start_fitting("AUTO", None, true);
    let World { hub, sampler, catch_up, .. } = world;
    drop(catch_up);
    let hub_held = Arc::downgrade(&hub);
    drop((hub, sampler));
    assert!(hub_held.upgrade().is_none(), "something that the hub holds, holds the hub");
}

#[test]
fn a_restart_stands_where_it_stood() {
    check_restart("REFIT(AR(2),every=20,window=60)");
    check_restart("AUTO(every=20,window=100)");
}

#[track_caller]
fn check_restart(model: &str) {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start_with(model, Some(directory.path()));
    world.ticks(100);
    world.clock.pass(5 * SECOND);
    world.ticks(237);
    let before = (world.forecast(LOAD), world.hub.accuracy(LOAD).unwrap(), world.hub.detail(LOAD).unwrap().fitted);
    let mut world = world.restart();
    let after = (world.forecast(LOAD), world.hub.accuracy(LOAD).unwrap(), world.hub.detail(LOAD).unwrap().fitted);
    assert_eq!(before, after);
    assert!(before.1.leads[0].n > 100, "nothing was scored");
    world.tick();
    assert_eq!(world.hub.detail(LOAD).unwrap().series.n_samples, 1);
}

#[test]
fn a_node_that_was_down_goes_on_as_one_that_missed_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (mut down, mut slept) = (World::start(Some(directory.path())), World::start(None));
    for world in [&mut down, &mut slept] {
        world.ticks(90);
        world.clock.pass(20 * SECOND);
    }
    let mut down = down.restart();
    for world in [&mut down, &mut slept] {
        world.ticks(30);
    }
    assert_eq!(down.forecast(LOAD), slept.forecast(LOAD));
}

#[test]
fn a_clock_set_back_loses_and_doubles_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(Some(directory.path()));
    world.ticks(10);
    world.clock.set_wall(at(1_799_000_000));
    world.ticks(10);
    let health = world.hub.health();
    assert_eq!((health.status, health.clock_behind_seconds.round()), (api::Status::Degraded, 1_000_009.0));
    let mut world = world.restart();
    world.ticks(10);
    let values = world.samples(1_800_000_000, 1_800_000_030, None);
    assert_eq!(values.iter().flatten().count(), 30);
}

#[test]
fn a_clock_set_forward_leaves_a_gap() {
    let mut world = World::start(None);
    world.ticks(10);
    world.clock.set_wall(world.clock.wall() + 100 * SECOND);
    world.ticks(5);
    let values = world.samples(1_800_000_000, 1_800_000_120, None);
    let known: Vec<usize> = (0..values.len()).filter(|idx| values[*idx].is_some()).collect();
    assert_eq!(known.len(), 15);
    assert!(known.windows(2).all(|pair| pair[1] - pair[0] == 1 || pair[1] - pair[0] == 101), "{known:?}");
    assert_eq!(world.hub.health().clock_behind_seconds, 0.0);
}

#[test]
fn a_gap_longer_than_memory_begins_anew() {
    let mut world = World::start(None);
    world.ticks(30);
    world.clock.set_wall(world.clock.wall() + Duration::from_secs(7200));
    world.ticks(2);
    let detail = world.hub.detail(LOAD).unwrap();
    assert_eq!((detail.series.model.as_str(), detail.waiting.unwrap().have), ("LAST", Some(2)));
}

#[test]
fn samples_come_from_memory_and_store_without_a_seam() {
    let mut world = World::start(None);
    world.ticks(1300);
    let values = world.samples(1_800_000_000, 1_800_001_300, None);
    assert_eq!(values.iter().flatten().count(), 1300);
    assert_eq!(values[17], Some(f64::from(17 * 7919 % 101) / 100.0));
    let means = world.samples(1_800_000_000, 1_800_001_320, Some(60 * SECOND));
    let expected: Vec<f64> =
        values.chunks(60).map(|chunk| chunk.iter().flatten().sum::<f64>() / chunk.len() as f64).collect();
    assert_eq!(means.len(), expected.len());
    for (mean, expected) in means.iter().zip(expected) {
        // Sums in another order differ in the last digits.
        assert!((mean.unwrap() - expected).abs() < 1e-12);
    }
}

#[test]
fn a_range_that_begins_before_the_first_sample_has_all_samples() {
    let mut world = World::start(None);
    // The first minute is a part of one, and its mean is made before its samples are thinned.
    world.clock.pass(Duration::from_secs(25));
    world.ticks(130);
    let begin = 1_800_000_000;
    for step in [None, Some(SECOND)] {
        let answer = world.answer(begin - 600, begin + 600, step);
        assert_eq!((answer.step_seconds, answer.values.iter().flatten().count()), (1.0, 130), "{step:?}");
        assert!(answer.start >= at(begin - 60), "gaps before the first minute are left out: {}", answer.start);
    }
    let far = world.answer(begin - 400 * 86_400, begin + 600, None);
    assert_eq!(far.values.iter().flatten().count(), 130, "a year of nothing is not counted as values");
}

#[test]
fn any_step_is_answered_in_whole_steps_of_the_series() {
    let mut world = World::start(None);
    world.ticks(120);
    let begin = 1_800_000_000;
    let step = |step: Duration| world.answer(begin, begin + 120, Some(step));
    assert_eq!(
        (step(Duration::from_millis(10)).step_seconds, step(Duration::from_millis(10)).values.len()),
        (1.0, 120)
    );
    assert_eq!(
        (step(Duration::from_millis(2500)).step_seconds, step(Duration::from_millis(2500)).values.len()),
        (3.0, 40)
    );
    assert_eq!((step(7 * SECOND).step_seconds, step(90 * SECOND).step_seconds), (7.0, 90.0));
}

#[test]
fn samples_that_are_thinned_in_part_are_answered_in_one_step() {
    let mut world = World::keeping(Duration::from_secs(300));
    let begin = 1_800_000_000;
    testkit::wait_until("old samples are thinned", testkit::PATIENCE, || {
        // A few at a time, so that ageing gets its turn as in ordinary life.
        world.ticks(60);
        world.hub.store.flush().unwrap();
        let oldest = world.hub.store.read(store::read::extent).unwrap().0;
        (world.n_ticks >= 1500 && oldest >= Some(at(begin + 300))).then_some(())
    });
    let n = i64::from(world.n_ticks);
    let count = |answer: &api::Samples| answer.values.iter().flatten().count() as i64;
    let whole = world.answer(begin, begin + n, None);
    assert_eq!((whole.step_seconds, count(&whole)), (60.0, n / 60), "the range begins where minutes are left");
    let fine = world.answer(begin, begin + n, Some(SECOND));
    let kept = count(&fine);
    assert!(fine.step_seconds == 1.0 && (1000..n).contains(&kept), "those that are left: {kept}");
    let recent = world.answer(begin + n - kept, begin + n, None);
    assert_eq!((recent.step_seconds, count(&recent)), (1.0, kept));
    for (asked, answered) in [(SECOND, 60.0), (90 * SECOND, 120.0), (120 * SECOND, 120.0)] {
        let old = world.answer(begin, begin + 240, Some(asked));
        assert_eq!((old.step_seconds, count(&old) as f64), (answered, 240.0 / answered), "nothing finer is kept");
    }
}

#[test]
fn what_was_said_is_remembered_once_in_ten_seconds() {
    let mut world = World::start(None);
    world.ticks(60);
    world.hub.store.flush().unwrap();
    let range = TimeRange { from: at(1_800_000_000), to: at(1_800_001_000) };
    let said = world.hub.remembered(LOAD, 10 * SECOND, range).unwrap();
    assert!((5..=6).contains(&said.time.len()), "{said:?}");
    assert!(said.time.windows(2).all(|pair| pair[1].saturating_since(pair[0]) == 10 * SECOND));
    let error = world.hub.remembered(LOAD, 11 * SECOND, range).unwrap_err();
    assert!(error.to_string().contains("10s, 1m, 5m"), "{error}");
}

#[test]
fn a_pushed_series_has_its_own_grid_and_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::start(Some(directory.path()));
    world.create("mine", "5s").unwrap();
    assert_eq!(world.push(&[(Some(1002), Some(1.0)), (None, Some(3.0)), (Some(1021), None)]).unwrap(), 3);
    let before = world.forecast("mine");
    // 1002 is nearest to 1000, then comes 1005; 1010 and 1015 are skipped, and 1020 is a gap.
    assert_eq!(before.origin, at(1020));
    let world = world.restart();
    let samples = world.hub.samples("mine", TimeRange { from: at(1000), to: at(1030) }, None).unwrap();
    assert_eq!(samples.values[..2], [Some(1.0), Some(3.0)]);
    // Trailing gaps leave no trace in the store.
    assert_eq!(world.forecast("mine").origin, at(1005));
}

#[test]
fn samples_of_one_push_are_taken_all_or_none() {
    let world = World::start(None);
    world.create("mine", "1s").unwrap();
    world.push(&[(Some(100), Some(1.0))]).unwrap();
    let error = world.push(&[(Some(101), Some(1.0)), (Some(101), Some(2.0))]).unwrap_err();
    assert!(matches!(error, QueryError::OutOfOrder { .. }), "{error}");
    let error = world.push(&[(Some(101), Some(1.0)), (None, Some(1e200))]).unwrap_err();
    assert!(matches!(error, QueryError::BadParameter { field: "samples", .. }), "{error}");
    assert_eq!(world.hub.detail("mine").unwrap().series.n_samples, 1);
}

#[test]
fn names_are_taken_once_and_sensors_are_not_fed() {
    let mut world = World::start(None);
    world.tick();
    world.create("mine", "1s").unwrap();
    for taken in ["mine", LOAD, "cpu.availability.load"] {
        assert!(matches!(world.create(taken, "1s"), Err(QueryError::Exists { .. })), "{taken}");
    }
    assert!(matches!(world.hub.remove(LOAD), Err(QueryError::NotPushed { .. })));
    assert!(matches!(world.hub.push(LOAD, &[]), Err(QueryError::NotPushed { .. })));
    world.hub.remove("mine").unwrap();
    assert!(matches!(world.hub.detail("mine"), Err(QueryError::UnknownSeries { .. })));
    world.create("mine", "2s").unwrap();
}

#[test]
fn what_makes_no_series_is_refused_by_field() {
    let world = World::start(None);
    for (id, step, field) in [("", "1s", "id"), ("a\u{7}", "1s", "id"), ("a", "5", "step"), ("a", "1ms", "step")] {
        let error = world.create(id, step).unwrap_err();
        assert!(matches!(error, QueryError::BadParameter { field: given, .. } if given == field), "{error}");
    }
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost_when_there_is_room_again() {
    let mut world = World::start(None);
    world.ticks(5);
    world.hub.store.flush().unwrap();
    world.hub.store.limit_pages(1);
    world.ticks(600);
    assert!(world.hub.store.flush().is_err());
    let health = world.hub.health();
    assert_eq!((health.status, health.store.ok), (api::Status::Degraded, false));
    assert!(health.problems[0].contains("database or disk is full"), "{:?}", health.problems);
    assert!(matches!(world.create("mine", "1s"), Err(QueryError::StoreUnavailable { .. })));
    world.hub.store.limit_pages(0);
    world.hub.store.flush().unwrap();
    assert_eq!(world.hub.health().store, api::StoreHealth { ok: true, backlog_samples: 0, dropped_samples: 0 });
    let n_stored: i64 = world
        .hub
        .store
        .read(|store| {
            store.query_row("SELECT count(*) FROM sample JOIN series USING (series) WHERE id = 'load.1m'", [], |row| {
                row.get(0)
            })
        })
        .unwrap();
    assert_eq!(n_stored, 605);
}

#[test]
fn without_availability_nobody_says_how_long_tasks_take() {
    let mut world = World::start(None);
    world.ticks(5);
    let job = super::Job { cpu: SECOND, n_threads: 1, confidence: Confidence::P95 };
    assert!(matches!(world.hub.run_time(job), Err(QueryError::UnknownSeries { id }) if id == "cpu.availability"));
}

#[test]
fn metrics_have_a_forecast_when_there_are_two_samples() {
    let mut world = World::start(None);
    world.tick();
    let bounds = |world: &World| {
        let gauges = world.hub.gauges(&GAUGE_HORIZONS);
        let gauge = gauges.into_iter().find(|gauge| &*gauge.metric.name == "foretop_load_1m_tasks").unwrap();
        gauge.bounds
    };
    assert_eq!(bounds(&world), []);
    world.tick();
    assert_eq!(bounds(&world).len(), GAUGE_HORIZONS.len());
    assert!(bounds(&world).iter().all(|(_, at)| at.lower <= at.mean && at.mean <= at.upper));
}

/// Writes a `/proc/stat` of so many cores, half a second of each busy since the last one.
fn set_cores(root: &Path, n_cores: u64, n_ticks: u64) {
    let counts = |n: u64| format!("{} 0 0 {} 0 0 0 0 0 0\n", 50 * n * n_ticks, 50 * n * n_ticks);
    let cores: String = (0..n_cores).map(|core| format!("cpu{core} {}", counts(1))).collect();
    let stat = format!("cpu  {}{cores}procs_running 1\nprocs_blocked 0\n", counts(n_cores));
    fs::write(root.join("proc/stat"), stat).unwrap();
}

#[track_caller]
fn check_models(n_cores: u64, model: &str, [of_all, of_core]: [&str; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("proc")).unwrap();
    set_load(root.path(), 0);
    set_cores(root.path(), n_cores, 0);
    let config = Config {
        root: root.path().to_owned(),
        data_dir: Some(directory.path().to_owned()),
        model: model.parse().unwrap(),
        ..Config::default()
    };
    let clock = Arc::new(clock::Manual::at(at(1_800_000_000)));
    let mut world = World::begin(root, config, clock, false, 0);
    for n_ticks in 1..5 {
        set_cores(world.root.path(), n_cores, n_ticks);
        world.tick();
    }
    let check = |world: &World| {
        let engine = world.hub.engine();
        let text = |id| engine.get(id).expect(id).live.plan().text.clone();
        assert_eq!([text("cpu.busy"), text("cpu.1.busy")], [of_all, of_core]);
    };
    check(&world);
    world.hub.store.flush().unwrap();
    check(&world.restart());
}

#[test]
fn cores_of_large_hosts_have_a_thriftier_model_unless_one_was_chosen() {
    check_models(8, "AUTO", ["AUTO", "AUTO"]);
    check_models(9, "AUTO", ["AUTO", "REFIT(AR(16),every=200,window=400)"]);
    check_models(9, "LAST", ["LAST", "LAST"]);
}

#[test]
fn a_sampler_that_hangs_and_a_log_that_cannot_be_written_are_problems() {
    let mut world = World::start(None);
    world.tick();
    assert_eq!(world.hub.health().problems, [""; 0]);
    world.clock.pass(14 * SECOND);
    assert_eq!(world.hub.health().problems, ["this host was not sampled for 14 s: the sampler waits for the system"]);
    world.tick();
    assert_eq!(world.hub.health().problems, [""; 0]);
    let watch = &world.config.watch;
    watch.note_log(&Err(std::io::ErrorKind::BrokenPipe.into()));
    assert_eq!(world.hub.health().problems, ["the log cannot be written: broken pipe; 1 lines are lost"]);
    assert_eq!(world.hub.counters().n_log_lines_lost, 1);
    watch.note_log(&Ok(()));
    assert_eq!(world.hub.health().status, api::Status::Ok);
}
