//! Feeds beside the host: a step of their own, their place in the store, and what happens when one is gone.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clock::Clock as _;
use sensor::Host;
use signal::{Family, History, Kind, Range, Readings, Signal, Source, Unit};
use units::{Confidence, Timestamp};

use super::{Hub, Listeners, TimeRange};
use crate::config::Config;
use crate::feed::Feed;
use crate::node::Base;
use crate::sampler::Sampler;
use crate::schedule::Schedule;
use crate::store;

const STEP: Duration = Duration::from_secs(10);
const ID: &str = "gpu_busy{gpu=\"0\"}";

/// An exporter that says the next number each time, or is gone. It may know a past.
#[derive(Clone, Default)]
struct Exporter(Arc<Mutex<(u64, Option<String>)>>, Arc<Mutex<Vec<(Timestamp, f64)>>>);

impl Exporter {
    /// Values at one step after the other, from `start` on; NaN for none.
    fn knows(&self, start: Timestamp, values: &[f64]) {
        let labelled = values.iter().enumerate().map(|(idx, value)| (start + STEP * idx as u32, *value));
        *self.1.lock().unwrap() = labelled.filter(|(_, value)| !value.is_nan()).collect();
    }

    fn signal() -> Arc<Signal> {
        let family = Family {
            pattern: "gpu_busy".into(),
            unit: Unit::Named("percent".into()),
            kind: Kind::Gauge,
            sentence: "How busy it is.".into(),
            range: Range { min: None, max: None },
            alias: None,
        };
        Arc::new(Signal::made(family.into(), ID.into(), vec![("gpu".into(), "0".into())]))
    }

    fn fails_with(&self, problem: Option<&str>) {
        self.0.lock().unwrap().1 = problem.map(str::to_owned);
    }
}

impl Source for Exporter {
    fn read(&mut self, _at: Duration, readings: &mut Readings) {
        readings.clear();
        let mut state = self.0.lock().unwrap();
        state.0 += 1;
        if state.1.is_none() {
            readings.push(&Exporter::signal(), (state.0 % 7) as f64);
        }
    }

    /// Gone, it tells nothing of the past either.
    fn history(&mut self, _step: Duration, until: Timestamp) -> Option<History> {
        let is_gone = self.0.lock().unwrap().1.is_some();
        let samples: Vec<_> = self.1.lock().unwrap().iter().copied().filter(|(time, _)| *time <= until).collect();
        (!is_gone).then(|| vec![(Exporter::signal(), samples)])
    }

    fn n_errors(&self) -> u64 {
        let state = self.0.lock().unwrap();
        if state.1.is_some() { state.0 } else { 0 }
    }

    fn last_error(&self) -> Option<String> {
        self.0.lock().unwrap().1.clone()
    }
}

struct World {
    clock: Arc<clock::Manual>,
    hub: Arc<Hub>,
    sampler: Option<Sampler>,
    exporter: Exporter,
    writing: store::Running,
}

impl World {
    /// A node with one feed, or with none, over the store in `data_dir`.
    fn start(data_dir: &Path, wall: Timestamp, has_feed: bool) -> World {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let config = Config {
            root: root.path().to_owned(),
            data_dir: Some(data_dir.to_owned()),
            model: "LAST".parse().unwrap(),
            ..Config::default()
        };
        let clock = Arc::new(clock::Manual::at(wall));
        let exporter = Exporter::default();
        let feed =
            Feed { name: "gpus".to_owned(), step: STEP, n_signals_max: None, source: Box::new(exporter.clone()) };
        let plan = has_feed.then(|| feed.plan(&config.model));
        let host = Host::open(root.path()).unwrap();
        let base = Base::open(&config, plan.as_slice(), &host, clock.clone()).unwrap();
        let (hub, _, writing) = base.hub(Listeners::default());
        let schedule = Schedule::start(STEP, clock.monotonic(), clock.wall(), hub.last_label_of_feed("gpus"));
        let sampler = plan.map(|plan| Sampler::new(clock.clone(), schedule, feed.source, Some(plan), Arc::clone(&hub)));
        World { clock, hub, sampler, exporter, writing }
    }

    fn tick(&mut self) {
        loop {
            match self.sampler.as_mut().unwrap().poll() {
                Duration::ZERO => return,
                wait => self.clock.pass(wait),
            }
        }
    }

    fn ticks(&mut self, n: usize) {
        (0..n).for_each(|_| self.tick());
    }

    /// Returns the problems of the feed; the host is never sampled here.
    fn problems(&self) -> Vec<String> {
        self.hub.health().problems.into_iter().filter(|problem| problem.starts_with("gpus")).collect()
    }

    fn values(&self) -> Vec<Option<f64>> {
        self.hub.store.flush().unwrap();
        let range = TimeRange { from: at(1_800_000_000), to: self.clock.wall() + STEP };
        let samples = self.hub.samples(ID, range, None).unwrap();
        samples.values
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

#[test]
fn a_feed_has_a_step_of_its_own_and_is_forecast() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(directory.path(), at(1_800_000_000), true);
    world.ticks(5);
    let list = world.hub.list();
    assert_eq!(list.len(), 1);
    let series = &list[0];
    assert_eq!((&*series.id, &*series.unit, series.step_seconds, series.n_samples), (ID, "percent", 10.0, 5));
    assert_eq!(series.labels.get("gpu").map(String::as_str), Some("0"));
    let forecast = world.hub.forecast(ID, Duration::from_secs(30), Confidence::P95).unwrap();
    assert_eq!(forecast.mean, [5.0, 5.0, 5.0]);
}

#[test]
fn a_feed_that_fails_leaves_gaps_and_says_so_until_it_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(directory.path(), at(1_800_000_000), true);
    world.ticks(2);
    world.exporter.fails_with(Some("nobody answers"));
    world.tick();
    assert_eq!(world.problems(), ["gpus: nobody answers"]);
    assert_eq!(world.hub.counters().n_sensor_errors, 3);
    world.exporter.fails_with(None);
    world.tick();
    assert_eq!(world.problems(), [""; 0]);
    assert_eq!(world.values(), [Some(1.0), Some(2.0), None, Some(4.0)]);
}

#[test]
fn a_feed_goes_on_where_it_was_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(directory.path(), at(1_800_000_000), true);
    world.ticks(3);
    let (before, now) = (world.hub.list(), world.clock.wall() + STEP);
    drop(world);
    let mut world = World::start(directory.path(), now, true);
    let after = world.hub.list();
    assert_eq!(
        (&after[0].id, &after[0].labels, &after[0].sentence),
        (&before[0].id, &before[0].labels, &before[0].sentence)
    );
    assert_eq!(after[0].last, before[0].last);
    world.tick();
    assert_eq!(world.values(), [Some(1.0), Some(2.0), Some(3.0), Some(1.0)]);
}

#[test]
fn a_feed_that_is_no_longer_read_is_not_listed_and_its_samples_stay() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(directory.path(), at(1_800_000_000), true);
    world.ticks(3);
    let now = world.clock.wall();
    drop(world);
    let world = World::start(directory.path(), now, false);
    assert!(world.hub.list().is_empty());
    drop(world);
    let world = World::start(directory.path(), now, true);
    assert_eq!(world.values(), [Some(1.0), Some(2.0), Some(3.0)]);
}

#[test]
fn the_past_of_a_feed_is_replayed_and_stored_before_its_first_tick() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(directory.path(), at(1_800_000_035), true);
    world.exporter.knows(at(1_800_000_000), &[5.0, f64::NAN, 7.0, 8.0]);
    world.sampler.as_mut().unwrap().poll();
    let forecast = world.hub.forecast(ID, STEP, Confidence::P95).unwrap();
    assert_eq!((forecast.origin, &*forecast.mean), (at(1_800_000_030), &[8.0][..]));
    let past = [Some(5.0), None, Some(7.0), Some(8.0)];
    assert_eq!(world.hub.list()[0].n_samples, 0, "nothing was measured yet");
    world.tick();
    assert_eq!(world.values()[..4], past);
    let now = world.clock.wall();
    drop(world);
    let world = World::start(directory.path(), now, true);
    assert_eq!(world.values()[..4], past, "read from the store");
}

#[test]
fn what_was_measured_counts_and_the_hole_that_a_restart_left_is_filled() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(directory.path(), at(1_800_000_010), true);
    world.ticks(3);
    drop(world);
    let mut world = World::start(directory.path(), at(1_800_000_060), true);
    world.exporter.knows(at(1_800_000_000), &[50.0; 20]);
    world.tick();
    let expected = [50.0, 1.0, 2.0, 3.0, 50.0, 50.0, 1.0].map(Some);
    assert_eq!(world.values()[..7], expected);
    drop(world.writing);
    let read = |store: &rusqlite::Connection| store.query_row("SELECT count(*) FROM sample", [], |row| row.get(0));
    assert_eq!(world.hub.store.read(read), Ok(7));
}

#[test]
fn a_past_that_cannot_be_told_at_once_is_asked_for_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::start(directory.path(), at(1_800_000_020), true);
    world.exporter.knows(at(1_800_000_000), &[50.0; 20]);
    world.exporter.fails_with(Some("nobody answers"));
    world.ticks(2);
    assert!(world.hub.list().is_empty());
    world.exporter.fails_with(None);
    world.tick();
    assert_eq!(world.values()[..5], [50.0, 50.0, 50.0, 50.0, 3.0].map(Some));
}
