//! The core of a prediction server: fits, steps and forecasts, in a process of its own that may crash (RPS's
//! `predserver_core`).
//!
//! The core takes frames over one socket, in order: a description of what is to come; `reconfigure` with the number of
//! measurements that follow as history, after the last of which it replies whether a model is fitted; and measurements,
//! each of which it answers with a forecast of every signal. When more signals have a model, or fewer, it reports that
//! without a request. What one read brings is answered in one write.

use std::io::{self, Read, Write};

use bytes::BytesMut;
use clock::now;
use predict::{Forecaster, Live, Policy};
use stream::{
    Answer, Ask, Decoder, Description, Forecast, FrameError, Measurement, Message, MessageError, Payload, Request,
};

use crate::steps::Steps;

/// Bytes that one read takes.
const READ_BYTES: usize = 64 << 10;

/// The id of replies without a request.
pub(crate) const NEWS: u64 = u64::MAX;

/// The reason why a core ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoreError {
    /// The connection to its server broke.
    #[error("the connection to the prediction server broke")]
    Io(#[from] io::Error),
    /// Bytes that came are no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message that came makes no sense.
    #[error(transparent)]
    Message(#[from] MessageError),
}

/// Serves a prediction server until it closes the connection.
///
/// # Errors
/// [`CoreError`] when the connection breaks, or what comes is not what a prediction server says.
pub fn run_core(mut socket: impl Read + Write) -> Result<(), CoreError> {
    let (mut core, mut decoder, mut answers) = (Core::default(), Decoder::default(), BytesMut::new());
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let n_read = socket.read(&mut bytes)?;
        if n_read == 0 {
            return Ok(decoder.finish()?);
        }
        decoder.buffer().extend_from_slice(&bytes[..n_read]);
        while let Some(frame) = decoder.next_frame()? {
            core.take(Message::decode(&frame)?, &mut answers);
        }
        socket.write_all(&answers)?;
        answers.clear();
    }
}

#[derive(Default)]
struct Core {
    description: Option<Description>,
    order: Option<Order>,
    life: Option<Life>,
    scratch: predict::Forecast,
    forecast: Option<Forecast>,
}

/// The signals of a stream since a fit was asked for.
struct Life {
    policy: Policy,
    horizon: usize,
    steps: Steps,
    /// Whether any sample came.
    has_begun: bool,
    signals: Vec<Live>,
    /// Number of signals with a model when that was reported last.
    n_told: usize,
}

/// A fit that was asked for, while its history comes in.
struct Order {
    id: u64,
    n_to_come: u32,
    life: Life,
    histories: Vec<Vec<f64>>,
}

impl Core {
    fn take(&mut self, message: Message, answers: &mut BytesMut) {
        match message {
            Message::Description(description) => *self = Self { description: Some(description), ..Self::default() },
            Message::Request(Request { id, ask: Ask::Reconfigure { model, window, horizon } }) => {
                let policy = model.as_deref().unwrap_or_default().parse();
                let horizon = horizon.unwrap_or(0) as usize;
                match (policy, &self.description) {
                    _ if horizon > Forecast::N_LEADS_MAX => refuse(id, "no frame holds so many steps ahead", answers),
                    (Ok(policy), Some(description)) => {
                        let n_signals = description.signals.len();
                        let life = Life::new(policy, horizon, description);
                        let histories = vec![Vec::new(); n_signals];
                        self.order = Some(Order { id, n_to_come: window.unwrap_or(0), life, histories });
                        self.begin_when_complete(answers);
                    }
                    (Err(error), _) => refuse(id, &error.to_string(), answers),
                    (_, None) => refuse(id, "the stream is not described yet", answers),
                }
            }
            Message::Measurement(measurement) => match &mut self.order {
                Some(order) => {
                    order.take(&measurement);
                    self.begin_when_complete(answers);
                }
                None => self.step(&measurement, answers),
            },
            _ => {}
        }
    }

    fn begin_when_complete(&mut self, answers: &mut BytesMut) {
        let Some(order) = self.order.take_if(|order| order.n_to_come == 0) else { return };
        let Order { id, mut life, histories, .. } = order;
        life.signals.iter_mut().zip(&histories).for_each(|(signal, history)| signal.replay(history));
        let answer = life.tell();
        // What is there goes on where nothing is fitted: the last samples of the history were its own.
        if life.n_told > 0 || self.life.is_none() {
            self.life = Some(life);
        }
        reply(id, answer, answers);
    }

    /// Steps every signal, and forecasts it.
    fn step(&mut self, measurement: &Measurement, answers: &mut BytesMut) {
        let Some(life) = &mut self.life else { return };
        let n_missed = life.to(measurement);
        let forecast = self.forecast.get_or_insert_with(|| Forecast {
            number: 0,
            time: measurement.time,
            completed: measurement.time,
            signal: 0,
            means: Vec::new(),
            standard_errors: Vec::new(),
        });
        (forecast.number, forecast.time) = (measurement.number, measurement.time);
        for (place, (signal, value)) in life.signals.iter_mut().zip(&measurement.values).enumerate() {
            signal.skip(n_missed as u64);
            signal.step(*value);
            forecast_into(signal, life.horizon, &mut self.scratch, forecast);
            (forecast.signal, forecast.completed) = (u32::try_from(place).unwrap_or(u32::MAX), now());
            if let Err(error) = forecast.encode(answers) {
                refuse(NEWS, &error.to_string(), answers);
            }
        }
        if life.n_fitted() != life.n_told {
            reply(NEWS, life.tell(), answers);
        }
    }
}

impl Life {
    fn new(policy: Policy, horizon: usize, description: &Description) -> Self {
        let signals = vec![Live::new(policy.clone()); description.signals.len()];
        Self { policy, horizon, steps: Steps::new(description.step()), has_begun: false, signals, n_told: 0 }
    }

    /// Goes on to a measurement, and returns how many steps before it are missing.
    fn to(&mut self, measurement: &Measurement) -> usize {
        if !std::mem::replace(&mut self.has_begun, true) {
            let fresh = Live::new(self.policy.clone()).numbered_from(measurement.number);
            self.signals.fill(fresh);
        }
        self.steps.to(measurement.number, measurement.time)
    }

    fn n_fitted(&self) -> usize {
        self.signals.iter().filter(|signal| signal.model().is_some()).count()
    }

    /// Returns the number of signals that have a model, and the reason why the first of the others has none.
    fn tell(&mut self) -> Answer {
        let (n_fitted, n) = (self.n_fitted(), self.signals.len());
        self.n_told = n_fitted;
        let model = self.policy.model.to_string();
        match self.signals.iter().find_map(Live::refused) {
            Some(reason) if n_fitted == 0 => Answer::Refused { reason: reason.to_string() },
            None => Answer::Fitted { model, fitted: format!("{n_fitted} of {n} signals") },
            Some(reason) => {
                let fitted = format!("{n_fitted} of {n} signals; of the first of the others: {reason}");
                Answer::Fitted { model, fitted }
            }
        }
    }
}

impl Order {
    fn take(&mut self, measurement: &Measurement) {
        self.n_to_come -= 1;
        let n_missed = self.life.to(measurement);
        for (history, value) in self.histories.iter_mut().zip(&measurement.values) {
            history.extend(std::iter::repeat_n(f64::NAN, n_missed));
            history.push(*value);
        }
    }
}

/// Writes means and standard errors into a message, NaN while there is no forecast.
pub(crate) fn forecast_into(live: &mut Live, horizon: usize, scratch: &mut predict::Forecast, forecast: &mut Forecast) {
    let Ok(()) = Forecaster::forecast_into(live, horizon, scratch);
    forecast.means.clear();
    forecast.means.extend_from_slice(scratch.means());
    forecast.standard_errors.clear();
    forecast.standard_errors.extend_from_slice(scratch.standard_errors());
}

fn refuse(id: u64, reason: &str, answers: &mut BytesMut) {
    reply(id, Answer::Refused { reason: reason.to_owned() }, answers);
}

fn reply(id: u64, answer: Answer, answers: &mut BytesMut) {
    answers.extend_from_slice(&stream::reply(id, answer, 0, &[]));
}
