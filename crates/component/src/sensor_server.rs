//! A sensor server: measures at each step, and sends what it measured (RPS's `loadserver` and `flowbwserver`).

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use clock::now;
use stream::{
    Answer, Ask, Carries, Description, Handler, Inlet, InputId, Measurement, Message, Mirror, Outputs, Pending, Request,
};

use crate::meter::Meter;
use crate::schedule::Schedule;

/// Limit of the messages, measured elsewhere, that wait for the mirror.
const N_MEASURED_AHEAD: usize = 16;

/// While this much waits for the slowest reader, no more is made where values are made as fast as can be.
const MADE_AHEAD_BYTES: usize = 256 << 10;

/// Measures at each tick of its mirror, whose period has to be [`SensorServer::step`] at the start.
pub struct SensorServer {
    description: Description,
    step: Duration,
    /// The new step, if it was changed, until the mirror's timer has it.
    changed: Option<Duration>,
    schedule: Schedule,
    work: Work,
    n_missed: u64,
    failures: (u64, Option<String>),
}

/// Place where measurements are made.
enum Work {
    /// Measures in the tick, for a meter that takes no time.
    Here { meter: Box<dyn Meter>, values: Vec<f64> },
    /// Measures on a thread, for a meter that waits for others.
    Elsewhere { orders: SyncSender<u64> },
}

impl SensorServer {
    /// The shortest step; values that are made may have none.
    pub const STEP_MIN: Duration = Duration::from_micros(1);

    /// The longest step: a day.
    pub const STEP_MAX: Duration = Duration::from_secs(86_400);

    /// Builds a server that measures by `meter` in the mirror's own thread. Its stream is called `stream` and comes
    /// from `host`.
    #[must_use]
    pub fn new(stream: impl Into<String>, host: impl Into<String>, step: Duration, meter: impl Meter) -> Self {
        let is_skipping = meter.misses_deadlines();
        let work = Work::Here { meter: Box::new(meter), values: Vec::new() };
        Self::with(stream.into(), host.into(), step, work, is_skipping)
    }

    /// Builds a mirror around a server that measures on a thread of its own, by a meter that takes time, such as
    /// transfers over a network. While a measurement lasts, steps are missed.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn mirror_elsewhere(
        name: &str,
        stream: impl Into<String>,
        host: impl Into<String>,
        step: Duration,
        meter: impl Meter,
    ) -> io::Result<Mirror<Self>> {
        let (orders, taken) = sync_channel(0);
        let server = Self::with(stream.into(), host.into(), step, Work::Elsewhere { orders }, true);
        let description = server.description.clone();
        let mut mirror = Mirror::new(name, server).every(step);
        let (_, inlet) = mirror.inlet(N_MEASURED_AHEAD);
        thread::Builder::new().name("meter".to_owned()).spawn(move || measure(meter, &taken, &inlet, description))?;
        Ok(mirror)
    }

    fn with(stream: String, host: String, step: Duration, work: Work, is_skipping: bool) -> Self {
        let description = Description {
            stream,
            host,
            carries: Carries::Measurement,
            step_ns: nanos(step),
            signals: Vec::new(),
            model: None,
            horizon: None,
        };
        let schedule = Schedule::new(is_skipping);
        Self { description, step, changed: None, schedule, work, n_missed: 0, failures: (0, None) }
    }

    /// Returns the time between measurements.
    #[must_use]
    pub fn step(&self) -> Duration {
        self.step
    }

    fn set_step(&mut self, step_ns: u64, pending: Pending, outputs: &mut Outputs) {
        let step = Duration::from_nanos(step_ns);
        let is_possible =
            (Self::STEP_MIN..=Self::STEP_MAX).contains(&step) || (step.is_zero() && !self.schedule.is_skipping());
        if !is_possible {
            return pending.refuse("the step must be 1us to 1d; 0 is for values that are made");
        }
        (self.step, self.changed, self.description.step_ns) = (step, Some(step), step_ns);
        self.schedule.begin_again();
        if !self.description.signals.is_empty() {
            outputs.describe(&self.description);
        }
        pending.answer(Answer::Done {});
    }
}

impl Handler for SensorServer {
    /// Takes a message that was measured elsewhere.
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        if let Message::Description(Description { signals, .. }) = message {
            self.description.signals = signals;
            outputs.describe(&self.description);
        } else {
            outputs.forward(&message);
        }
    }

    fn tick(&mut self, outputs: &mut Outputs) {
        if self.step.is_zero() && outputs.backlog_bytes() > MADE_AHEAD_BYTES {
            return;
        }
        let Some((number, n_missed)) = self.schedule.due(self.step) else { return };
        self.n_missed += n_missed;
        match &mut self.work {
            Work::Here { meter, values } => {
                let n_before = self.description.signals.len();
                meter.read(self.schedule.elapsed(), values);
                let time = now();
                if meter.signals().len() > n_before {
                    self.description.signals = meter.signals().to_vec();
                    outputs.describe(&self.description);
                }
                self.failures = meter.failures();
                let measurement = Measurement { number, time, values: std::mem::take(values) };
                outputs.send(&measurement);
                *values = measurement.values;
            }
            Work::Elsewhere { orders } => match orders.try_send(number) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => self.n_missed += 1,
                // Without it the component is of no use, which whoever started it has to know.
                Err(TrySendError::Disconnected(_)) => panic!("the thread that measures has ended by a fault"),
            },
        }
    }

    fn period(&mut self) -> Option<Duration> {
        self.changed.take()
    }

    fn request(&mut self, request: Request, pending: Pending, outputs: &mut Outputs) {
        match request.ask {
            Ask::SetStep { step_ns } => self.set_step(step_ns, pending, outputs),
            _ => pending.refuse("a sensor answers set_step and status"),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![
            ("step".to_owned(), units::span::format(self.step)),
            ("measurements".to_owned(), self.schedule.n_begun().to_string()),
            ("steps_missed".to_owned(), self.n_missed.to_string()),
            ("sensor_errors".to_owned(), self.failures.0.to_string()),
        ];
        facts.extend(self.failures.1.clone().map(|error| ("last_sensor_error".to_owned(), error)));
        facts
    }
}

/// Runs the meter's thread until its server or the mirror has ended.
fn measure(mut meter: impl Meter, orders: &Receiver<u64>, inlet: &Inlet, mut description: Description) {
    let origin = clock::instant();
    while let Ok(number) = orders.recv() {
        let mut values = Vec::new();
        meter.read(origin.elapsed(), &mut values);
        let time = now();
        if meter.signals().len() > description.signals.len() {
            description.signals = meter.signals().to_vec();
            if inlet.send_waiting(Message::Description(description.clone())).is_err() {
                return;
            }
        }
        if let (_, Some(error)) = meter.failures() {
            tracing::debug!(error, "the sensor's last error");
        }
        if inlet.send_waiting(Message::Measurement(Measurement { number, time, values })).is_err() {
            return;
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
