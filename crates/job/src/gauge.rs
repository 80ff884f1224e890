//! Shares of their cores that a worker's slots get, and that they are forecast to get.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clock::Stopwatch;
use predict::{Live, MeasurementError, Policy, Spec, WindowErrors};
use sched::Curve;
use sched::advice::{N_LEADS_MAX, curve, no_errors};
use sensor::CoreShare;

const STEP: Duration = Duration::from_secs(1);

/// Use by slots so far: processor time, and time in which they had a unit, both in seconds and of all slots together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    pub cpu: f64,
    pub busy: f64,
}

/// The latest forecast.
#[derive(Clone, Debug)]
pub struct Outlook {
    pub availability: f64,
    pub curve: Curve,
}

/// Measures once a second, on a thread of its own, as long as somebody holds the outlook.
pub fn start(used: impl Fn() -> Used + Send + 'static) -> Arc<Mutex<Outlook>> {
    let outlook = Arc::new(Mutex::new(Outlook { availability: 1.0, curve: Curve::constant(1.0) }));
    let shared = Arc::downgrade(&outlook);
    let gauge = move || {
        let mut gauge = Gauge::new();
        let mut before = used();
        while let Some(outlook) = shared.upgrade() {
            let now = used();
            let next = gauge.step(Used { cpu: now.cpu - before.cpu, busy: now.busy - before.busy });
            *outlook.lock().unwrap_or_else(PoisonError::into_inner) = next;
            drop(outlook);
            before = now;
            clock::sleep(STEP);
        }
    };
    // Without a thread the worker is taken to be left alone, and corrected by what units take.
    let _ = std::thread::Builder::new().name("gauge".to_owned()).spawn(gauge);
    outlook
}

struct Gauge {
    share: CoreShare,
    began: Stopwatch,
    live: Live,
    errors: WindowErrors,
    last: f64,
}

impl Gauge {
    fn new() -> Self {
        let spec: Spec = "AUTO".parse().expect("a model that is there");
        Self {
            share: CoreShare::open(Path::new("/")),
            began: Stopwatch::start(),
            live: Live::new(Policy::of(&spec)).within(0.0, 1.0),
            errors: no_errors(),
            last: 1.0,
        }
    }

    fn step(&mut self, used: Used) -> Outlook {
        self.last = self.share.read(self.began.elapsed(), used.cpu, used.busy).unwrap_or(self.last);
        self.live.step(self.last);
        let forecast = self.live.forecast(N_LEADS_MAX);
        self.errors.step(self.last, forecast.as_ref());
        let curve = forecast.map_or_else(
            || Curve::constant(self.last),
            |forecast| curve(&forecast, &self.errors, STEP, MeasurementError::default()),
        );
        Outlook { availability: self.last, curve }
    }
}
