//! The core of a prediction server: fits, steps and forecasts, in a process of its own that may crash (RPS's `predserver_core`).
//!
//! It is spoken to by frames over one socket, in order: a description of what is to come; `reconfigure` with the number of
//! measurements that follow as history, after the last of which it fits and replies; and measurements, each of which it answers with a
//! forecast of every signal. What one read brings is answered in one write.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use clock::now;
use predict::{FitError, Spec};
use stream::{
    Answer, Ask, Decoder, Description, Forecast, FrameError, Measurement, Message, MessageError, Payload, Reply,
    Request,
};

use crate::forecaster::Forecaster;
use crate::steps::Steps;

/// What one read takes.
const READ_BYTES: usize = 64 << 10;

/// Why a core ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoreError {
    /// The connection to its server broke.
    #[error("the connection to the prediction server broke")]
    Io(#[from] io::Error),
    /// What came is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// What came makes no sense.
    #[error(transparent)]
    Message(#[from] MessageError),
}

/// Serves a prediction server until it closes the connection.
///
/// # Errors
/// [`CoreError`] when the connection breaks, or what comes is not what a prediction server says.
pub fn run_core(mut socket: UnixStream) -> Result<(), CoreError> {
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
    /// Where the series is, and one predictor for each signal.
    live: Option<Steps>,
    signals: Vec<Forecaster>,
    horizon: usize,
    scratch: predict::Forecast,
    forecast: Option<Forecast>,
}

/// A fit that was asked for, while its history comes in.
struct Order {
    id: u64,
    spec: Spec,
    horizon: usize,
    n_to_come: u32,
    steps: Steps,
    histories: Vec<Vec<f64>>,
}

impl Core {
    fn take(&mut self, message: Message, answers: &mut BytesMut) {
        match message {
            Message::Description(description) => {
                *self = Self::default();
                self.live = Some(Steps::new(description.step()));
                self.signals.resize_with(description.signals.len(), Forecaster::default);
                self.description = Some(description);
            }
            Message::Request(Request { id, ask: Ask::Reconfigure { model, window, horizon } }) => {
                let spec = model.as_deref().unwrap_or_default().parse();
                match (spec, &self.description) {
                    (Ok(spec), Some(description)) => {
                        self.order = Some(Order {
                            id,
                            spec,
                            horizon: horizon.map_or(0, |horizon| horizon as usize),
                            n_to_come: window.unwrap_or(0),
                            steps: Steps::new(description.step()),
                            histories: vec![Vec::new(); description.signals.len()],
                        });
                        self.fit_when_complete(answers);
                    }
                    (Err(error), _) => refuse(id, &error.to_string(), answers),
                    (_, None) => refuse(id, "the stream is not described yet", answers),
                }
            }
            Message::Measurement(measurement) => match &mut self.order {
                Some(order) => {
                    order.take(&measurement);
                    self.fit_when_complete(answers);
                }
                None => self.step(&measurement, answers),
            },
            _ => {}
        }
    }

    fn fit_when_complete(&mut self, answers: &mut BytesMut) {
        let Some(order) = self.order.take_if(|order| order.n_to_come == 0) else { return };
        let fits: Vec<_> = order.histories.iter().map(|history| predict::fit(&order.spec, history)).collect();
        let n_fitted = fits.iter().filter(|fit| fit.is_ok()).count();
        let failure = fits.iter().find_map(|fit| fit.as_ref().err()).map(FitError::to_string);
        self.live = Some(order.steps);
        if n_fitted > 0 || self.horizon == 0 {
            self.horizon = order.horizon;
        }
        for ((signal, fit), history) in self.signals.iter_mut().zip(fits).zip(&order.histories) {
            match fit {
                Ok(model) => signal.speak_by(model.predictor()),
                // What speaks already goes on: the last samples of the history were its own.
                Err(_) if signal.speaks() => {}
                Err(_) => signal.begin(history),
            }
        }
        let n = self.signals.len();
        let answer = match failure {
            Some(reason) if n_fitted == 0 => Answer::Refused { reason },
            None => Answer::Fitted { model: order.spec.to_string(), fitted: format!("{n_fitted} of {n} signals") },
            Some(reason) => Answer::Fitted {
                model: order.spec.to_string(),
                fitted: format!("{n_fitted} of {n} signals; of the first of the others: {reason}"),
            },
        };
        Reply { id: order.id, n_frames: 0, answer }.encode(answers);
    }

    /// Steps every signal, and forecasts it.
    fn step(&mut self, measurement: &Measurement, answers: &mut BytesMut) {
        let Some(live) = &mut self.live else { return };
        let n_missed = live.to(measurement.number, measurement.time);
        let forecast = self.forecast.get_or_insert_with(|| Forecast {
            number: 0,
            time: measurement.time,
            completed: measurement.time,
            signal: 0,
            means: Vec::new(),
            standard_errors: Vec::new(),
        });
        (forecast.number, forecast.time) = (measurement.number, measurement.time);
        for (place, (signal, value)) in self.signals.iter_mut().zip(&measurement.values).enumerate() {
            signal.step(n_missed, *value);
            signal.forecast_into(self.horizon, &mut self.scratch, forecast);
            (forecast.signal, forecast.completed) = (u32::try_from(place).unwrap_or(u32::MAX), now());
            forecast.encode(answers);
        }
    }
}

impl Order {
    fn take(&mut self, measurement: &Measurement) {
        self.n_to_come -= 1;
        let n_missed = self.steps.to(measurement.number, measurement.time);
        for (history, value) in self.histories.iter_mut().zip(&measurement.values) {
            history.extend(std::iter::repeat_n(f64::NAN, n_missed));
            history.push(if value.is_finite() { *value } else { f64::NAN });
        }
    }
}

fn refuse(id: u64, reason: &str, answers: &mut BytesMut) {
    Reply { id, n_frames: 0, answer: Answer::Refused { reason: reason.to_owned() } }.encode(answers);
}
