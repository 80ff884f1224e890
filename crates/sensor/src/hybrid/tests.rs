//! The hybrid sensor with probes whose outcome is written down.

use std::{collections::VecDeque, io};

use signal::Readings;

use super::*;

/// Gives one outcome after the other, each at the first poll after its start.
#[derive(Default)]
struct Scripted {
    outcomes: VecDeque<io::Result<Probed>>,
    n_started: usize,
    is_running: bool,
}

impl Scripted {
    /// Probes of 1.5 seconds that get these shares.
    fn getting(shares: &[f64]) -> Scripted {
        let passed = Duration::from_millis(1500);
        let outcomes = shares.iter().map(|&share| Ok(Probed { used: passed.mul_f64(share), passed })).collect();
        Scripted { outcomes, ..Scripted::default() }
    }
}

impl Probe for Scripted {
    fn start(&mut self, span: Duration) -> io::Result<()> {
        assert_eq!(span, Duration::from_millis(1500));
        assert!(!self.is_running, "two probes at once");
        (self.n_started, self.is_running) = (self.n_started + 1, true);
        Ok(())
    }

    fn poll(&mut self) -> Option<io::Result<Probed>> {
        self.is_running = false;
        self.outcomes.pop_front()
    }
}

/// Returns the reading of the sensor at `at_s` seconds, and whether something went wrong.
fn tick(hybrid: &mut Hybrid<Scripted>, at_s: u64, by_load: f64, by_vmstat: f64) -> (Vec<(String, f64)>, bool) {
    let (mut readings, mut text, mut cores) = (Readings::default(), Vec::new(), Vec::new());
    let mut tick = Tick {
        at: Duration::from_secs(at_s),
        n_cores: None,
        cores: &mut cores,
        n_running: 0,
        n_forks: None,
        waited_us: None,
        by_load: Some(by_load),
        by_vmstat: Some(by_vmstat),
        text: &mut text,
        readings: &mut readings,
    };
    let has_failed = hybrid.read(&mut tick).is_err();
    (readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect(), has_failed)
}

/// Claims what the sensor says at `at_s`, to the few roundings of a sum near 1.
#[track_caller]
fn check(hybrid: &mut Hybrid<Scripted>, at_s: u64, by_load: f64, by_vmstat: f64, expected: f64) {
    let (said, has_failed) = tick(hybrid, at_s, by_load, by_vmstat);
    assert!(!has_failed && said[0].0 == "cpu.availability.hybrid", "{said:?}");
    assert!((said[0].1 - expected).abs() < 1e-12, "{said:?}, not {expected}");
}

#[test]
fn it_says_nothing_before_the_first_probe() {
    let mut hybrid = Hybrid::new(HybridSettings::default(), Scripted::getting(&[]));
    assert_eq!(tick(&mut hybrid, 0, 0.5, 0.5), (Vec::new(), false));
    assert_eq!(tick(&mut hybrid, 10, 0.5, 0.5), (Vec::new(), false));
}

#[test]
fn the_formula_that_was_closer_speaks_and_is_put_right() {
    let mut hybrid = Hybrid::new(HybridSettings::default(), Scripted::getting(&[0.9]));
    // A niced spinner: the load average says a half, vmstat 0.6, and the probe gets 0.9.
    tick(&mut hybrid, 0, 0.5, 0.6);
    check(&mut hybrid, 2, 0.1, 0.1, 0.9);
    // Both said what they said before the probe for 10 seconds more; then vmstat speaks, with 0.3 added.
    check(&mut hybrid, 11, 0.1, 0.1, 0.9);
    check(&mut hybrid, 12, 0.1, 0.4, 0.7);
    check(&mut hybrid, 22, 0.1, 0.8, 1.0);
}

#[test]
fn it_probes_once_a_minute_and_says_what_that_costs() {
    let mut hybrid = Hybrid::new(HybridSettings::default(), Scripted::getting(&[1.0, 0.5, 0.5]));
    let mut said = Vec::new();
    for at_s in 0..130 {
        said = tick(&mut hybrid, at_s, 0.5, 0.5).0;
        if at_s == 30 {
            // 1.5 seconds of 60.
            assert_eq!(said[1], ("cpu.availability.hybrid.cost".to_owned(), 0.025));
        }
    }
    assert_eq!(hybrid.probe.n_started, 3);
    assert_eq!(said[1].1, 0.0125);
}

#[test]
fn a_probe_that_fails_is_counted_and_leaves_the_last_to_speak() {
    let mut hybrid = Hybrid::new(HybridSettings::default(), Scripted::getting(&[0.9]));
    hybrid.probe.outcomes.push_back(Err(io::Error::other("killed")));
    tick(&mut hybrid, 0, 0.5, 0.5);
    check(&mut hybrid, 2, 0.5, 0.5, 0.9);
    tick(&mut hybrid, 60, 0.4, 0.4);
    assert!(tick(&mut hybrid, 62, 0.4, 0.4).1);
    check(&mut hybrid, 72, 0.3, 0.3, 0.7);
}

#[test]
fn periods_have_to_go_together() {
    let seconds = Duration::from_secs_f64;
    let of = |probe_every: f64, probe_for: f64| {
        let (probe_every, probe_for) = (seconds(probe_every), seconds(probe_for));
        HybridSettings { probe_every, probe_for, ..HybridSettings::default() }.check()
    };
    assert_eq!(of(60.0, 1.5), Ok(()));
    assert_eq!(
        of(2.0, 1.5).unwrap_err().to_string(),
        "a probe every 2s is too often for 1.5s each: it must be every 3s or less often"
    );
    assert_eq!(of(2.0, 0.05).unwrap_err().to_string(), "a probe of 50ms is too short: it must be 100ms or longer");
}
