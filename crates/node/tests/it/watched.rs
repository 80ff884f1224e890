//! Threads of a node that panic: which go on, and when the node has to end.

use std::sync::Arc;
use std::time::Duration;

use node::{Config, Feed, Node};
use signal::{Family, Kind, Range, Readings, Signal, Source, Unit};
use testkit::{PATIENCE, wait_until};
use watch::{OnPanic, Thread, Watch};

const STEP: Duration = Duration::from_millis(20);

fn config(watch: &Watch) -> Config {
    Config { listen: "127.0.0.1:0".parse().unwrap(), step: STEP, watch: watch.clone(), ..Config::default() }
}

/// A source that panics at its third read.
struct Fragile {
    signal: Arc<Signal>,
    n_reads: u32,
}

impl Fragile {
    fn feed() -> Feed {
        let family = Family {
            pattern: "fragile".into(),
            unit: Unit::Named("percent".into()),
            kind: Kind::Gauge,
            sentence: "How often it was read.".into(),
            range: Range { min: None, max: None },
            alias: None,
        };
        let signal = Arc::new(Signal::made(family.into(), "fragile".into(), Vec::new()));
        Feed {
            name: "glass".to_owned(),
            step: STEP,
            n_signals_max: None,
            source: Box::new(Fragile { signal, n_reads: 0 }),
        }
    }
}

impl Source for Fragile {
    fn read(&mut self, _at: Duration, readings: &mut Readings) {
        readings.clear();
        self.n_reads += 1;
        assert!(self.n_reads != 3, "it broke at read {}", self.n_reads);
        readings.push(&self.signal, f64::from(self.n_reads));
    }

    fn n_errors(&self) -> u64 {
        0
    }

    fn last_error(&self) -> Option<String> {
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_whose_source_panics_goes_on_with_the_next_read_and_health_says_so() {
    let watch = Watch::default();
    let node = Node::start(config(&watch), vec![Fragile::feed()]).await.unwrap();
    wait_until("the feed goes on after its panic", PATIENCE, || {
        let list = node.list()?;
        let series = list.series.iter().find(|series| series.id == "fragile")?;
        (series.n_samples > 4).then_some(())
    });
    let problems = watch.problems();
    let problem = problems.first().expect("a panic a moment ago is a problem");
    assert!(problem.starts_with("the thread `feed glass` panicked "), "{problem}");
    assert!(problem.ends_with("was started again: it broke at read 3"), "{problem}");
    assert!(node.is_alive() && watch.n_panics() == 1);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_fails_when_a_thread_that_it_cannot_do_without_has_panicked() {
    let watch = Watch::default();
    let node = Node::start(config(&watch), Vec::new()).await.unwrap();
    assert!(node.is_alive());
    let thread = Thread::start(&watch, "journal", OnPanic::End, |_| panic!("no paper"));
    assert_eq!(node.failed().await, "the thread `journal` panicked and cannot go on: no paper");
    assert!(!node.is_alive());
    node.stop().await;
    drop(thread);
}
