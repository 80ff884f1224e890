//! A node without its threads: a manual clock, a host made of files, the real store.

mod adding_up;
mod catching_up;
mod exhaustion;
mod history;
mod processes;
mod pushed;
mod restart;
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
    /// Threads in which models catch up and fits are made, if not right after their tick.
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
        self.sample();
    }

    fn tick_with_load(&mut self, load: f64) {
        fs::write(self.root.path().join("proc/loadavg"), format!("{load:.2} 0.00 0.00 1/1 1\n")).unwrap();
        self.sample();
    }

    fn sample(&mut self) {
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
fn a_signal_that_is_gone_gives_its_memory_back_and_begins_anew_when_it_comes_back() {
    let mut world = World::start(None);
    world.ticks(60);
    let detail = |world: &World| world.hub.detail(LOAD).unwrap().series;
    let before = detail(&world);
    let last = before.last.unwrap().time;
    let tick = |world: &World, n: u32, readings: &signal::Readings| {
        world.clock.pass(SECOND);
        world.hub.take_tick(
            None,
            Due { label: last + SECOND * n, n_missed: 0, n_jumped: 0, behind: Duration::ZERO },
            readings,
        );
    };
    let n_kept = world.hub.engine().sensor_plan().n_kept as u32;
    (1..n_kept).for_each(|n| tick(&world, n, &signal::Readings::default()));
    assert_eq!(detail(&world).n_gaps, u64::from(n_kept) - 1);
    (n_kept..n_kept + 5).for_each(|n| tick(&world, n, &signal::Readings::default()));
    let gone = detail(&world);
    assert_eq!((gone.last, gone.n_samples, gone.n_gaps), (None, before.n_samples, u64::from(n_kept)));
    assert!(gone.no_sample_since.is_some_and(|since| since <= last + SECOND));
    assert!(world.hub.concerns().is_empty() && world.hub.engine().states().is_empty());
    world.hub.store.flush().unwrap();
    let range = TimeRange { from: last - SECOND * 2, to: last + SECOND };
    assert_eq!(world.hub.samples(LOAD, range, None).unwrap().values.iter().flatten().count(), 3);
    let mut readings = signal::Readings::default();
    readings.push(&signal::Signal::only(signal::family_of_signal(LOAD).unwrap().0), 0.5);
    tick(&world, n_kept + 5, &readings);
    let back = detail(&world);
    assert_eq!((back.last.unwrap().value, back.n_samples), (Some(0.5), before.n_samples + 1));
}

#[test]
fn a_longer_forecast_begins_as_a_shorter_one() {
    for model in ["AUTO", "AR(4)", "NWS", "TAR(1)"] {
        let mut world = World::start_with(model, None);
        world.ticks(200);
        let at = |n_leads| {
            world.hub.aheads([(LOAD, n_leads)].into_iter()).finish()[LOAD].at(
                &[1, 7],
                Confidence::P95,
                Some(Confidence::P50),
            )
        };
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
    assert_eq!((series.model.as_str(), series.model_speaking.as_deref()), ("AUTO", Some("OUTLOOK")));
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
