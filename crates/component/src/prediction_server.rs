//! The prediction server: a forecast for each sample, made by a core in a process of its own (RPS's `predserver`).
//!
//! It keeps the last samples of its stream, and gets those from before its start from a measure buffer. When the core
//! ends or gives no answer in time, it is started again and fitted to what there was, with what the buffer has beside
//! it, and gets the samples again that it had not answered: so a crash delays forecasts and loses none.

mod attempt;
mod history;
mod settings;

use std::collections::VecDeque;
use std::time::Instant;

use stream::{
    Answer, Ask, Carries, Configuration, Description, Handler, InputId, Measurement, Message, Mirror, Outputs, Pending,
    Reply, Request, SignalName,
};

use crate::core::NEWS;
use crate::core_process::CoreProcess;
use crate::past::Past;
use attempt::Attempts;
use history::History;

pub use settings::{PredictionSettings, PredictionSettingsError};

/// The computation of a prediction server; [`PredictionServer::mirror`] puts a mirror around it.
pub struct PredictionServer {
    settings: PredictionSettings,
    /// Current configuration, which requests change.
    configuration: Configuration,
    line: InputId,
    history: Option<History>,
    process: Option<CoreProcess>,
    /// Description of the stream, once that is known.
    description: Option<Description>,
    past: Past,
    phase: Phase,
    /// Fits that were ordered, in their order.
    fits: VecDeque<Fit>,
    attempts: Attempts,
    /// Moment since which the core owes an answer and has given none.
    owing: Option<Instant>,
    /// Whether the stream may have missed something since its last sample, as it may at its beginning.
    was_interrupted: bool,
    /// Whether the history was asked for once more, because it ended before the stream began.
    has_asked_again: bool,
    fitted: String,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// There is no core, or nothing may be sent to it before the history is there.
    Preparing,
    /// Messages that come go to the core.
    Serving,
    /// The stream was interrupted; what was missed is being asked for.
    Catching,
}

/// A fit that was ordered.
#[derive(Debug, Default)]
struct Fit {
    asked_by: Option<Pending>,
    /// The configuration before, if the fit is of another one.
    before: Option<Configuration>,
}

#[derive(Debug, Default)]
struct Counts {
    n_restarts: u64,
    last_restart: Option<String>,
    n_repeated: u64,
    n_malformed: u64,
    n_forecasts: u64,
}

impl PredictionServer {
    /// A mirror around a prediction server, without endpoints.
    ///
    /// # Errors
    /// [`PredictionSettingsError`] when a setting is out of range.
    pub fn mirror(name: &str, settings: PredictionSettings) -> Result<Mirror<Self>, PredictionSettingsError> {
        let configuration = settings.check()?;
        let server = Self {
            past: Past::new(settings::n_kept(&configuration, 1)),
            attempts: Attempts::default(),
            line: InputId(0),
            history: None,
            process: None,
            description: None,
            phase: Phase::Preparing,
            fits: VecDeque::new(),
            owing: None,
            was_interrupted: true,
            has_asked_again: false,
            fitted: "not fitted yet".to_owned(),
            counts: Counts::default(),
            configuration,
            settings,
        };
        let period = server.settings.look_every();
        let buffer = server.settings.history.clone();
        let mut mirror = Mirror::new(name, server).every(period);
        mirror.handler_mut().line = mirror.line();
        if let Some(buffer) = buffer {
            mirror.handler_mut().history = Some(History::new(mirror.asking(buffer)));
        }
        Ok(mirror)
    }

    /// Starts a core, in place of the one there was.
    fn start_core(&mut self, outputs: &mut Outputs) {
        self.phase = Phase::Preparing;
        self.has_asked_again = false;
        match CoreProcess::start(&self.settings.core) {
            Ok((process, socket)) => {
                self.process = Some(process);
                outputs.attach(self.line, socket);
                self.ask_history(outputs);
                self.begin_when_prepared(outputs);
            }
            Err(error) => {
                self.attempts.failed();
                self.lose_core(format!("it cannot be started: {error}"), outputs);
            }
        }
    }

    /// Drops a core that is of no more use. Whoever waits for a fit gets the reason, and the configuration is again as
    /// it was before the fit.
    fn lose_core(&mut self, reason: String, outputs: &mut Outputs) {
        let status = self.process.take().map_or_else(String::new, |process| format!(" ({})", process.end()));
        tracing::warn!(reason, status, "the core is started again");
        self.counts.n_restarts += 1;
        self.counts.last_restart = Some(format!("{reason}{status}"));
        // What it was sent the next one answers; until that is there, nobody owes anything.
        self.past.rewind();
        self.owing = None;
        for fit in self.fits.drain(..) {
            self.configuration = fit.before.unwrap_or_else(|| self.configuration.clone());
            if let Some(pending) = fit.asked_by {
                pending.refuse(format!("the core was lost while it fitted: {reason}"));
            }
        }
        self.phase = Phase::Preparing;
        if self.attempts.may_start_at_once() {
            self.start_core(outputs);
        }
    }

    fn ask_history(&mut self, outputs: &mut Outputs) {
        if let Some(history) = &mut self.history {
            history.ask(self.past.n_max(), outputs);
        }
    }

    fn is_asking_history(&self) -> bool {
        self.history.as_ref().is_some_and(History::is_asking)
    }

    /// Sends a core that is there what it needs: the description of the stream, and the history to fit to.
    fn begin_when_prepared(&mut self, outputs: &mut Outputs) {
        if self.phase != Phase::Preparing || self.process.is_none() || self.is_asking_history() {
            return;
        }
        if let Some(description) = &self.description {
            outputs.send_to(self.line, description);
            self.phase = Phase::Serving;
            self.order_fit(Fit::default(), outputs);
        }
    }

    /// Lets the core fit to all that it was sent.
    fn order_fit(&mut self, fit: Fit, outputs: &mut Outputs) {
        let model = self.attempts.model(&self.configuration.model);
        let policy = settings::policy(&Configuration { model, ..self.configuration.clone() });
        let history = self.past.before_unsent(policy.n_replayed());
        let ask = Ask::Reconfigure {
            model: Some(policy.to_string()),
            window: Some(u32::try_from(history.len()).expect("a window fits")),
            horizon: Some(self.configuration.horizon),
        };
        outputs.send_to(self.line, &Request { id: 0, ask });
        history.for_each(|moment| outputs.send_to(self.line, moment));
        self.fits.push_back(fit);
    }

    /// Takes the description of the stream from here on. The first one is what all that came before was of.
    fn describe(&mut self, description: Description, outputs: &mut Outputs) {
        let is_same = self
            .description
            .as_ref()
            .is_some_and(|before| (&before.signals, before.step_ns) == (&description.signals, description.step_ns));
        if is_same {
            return;
        }
        if self.description.is_some() {
            // Samples of other signals, or at another step, are those of another series.
            self.past.clear();
        }
        self.past.resize(settings::n_kept(&self.configuration, description.signals.len()));
        self.description = Some(description);
        self.describe_forecasts(outputs);
        if self.phase != Phase::Preparing {
            // The core begins anew with what it is told next. What it was told to fit before, it still answers.
            self.fits.iter_mut().for_each(|fit| *fit = Fit::default());
            self.phase = Phase::Preparing;
        }
        self.begin_when_prepared(outputs);
    }

    fn describe_forecasts(&self, outputs: &mut Outputs) {
        if let Some(description) = self.description.clone() {
            outputs.describe(&Description {
                stream: self.settings.stream.clone().unwrap_or(description.stream),
                carries: Carries::Forecast,
                model: Some(self.configuration.model.clone()),
                horizon: Some(self.configuration.horizon),
                ..description
            });
        }
    }

    /// Takes a row of the stream.
    fn take(&mut self, moment: Measurement, outputs: &mut Outputs) {
        if self.description.is_none() {
            self.describe(unknown_stream(moment.values.len()), outputs);
        }
        let n_signals = self.description.as_ref().map_or(0, |description| description.signals.len());
        if moment.values.len() != n_signals {
            self.counts.n_malformed += 1;
            return;
        }
        if self.past.contains(&moment) {
            self.counts.n_repeated += 1;
            return;
        }
        let is_next = self.past.last().is_none_or(|last| moment.number == last.number.wrapping_add(1));
        self.past.push(moment);
        if std::mem::take(&mut self.was_interrupted) && !is_next && self.phase == Phase::Serving {
            self.ask_history(outputs);
            self.phase = if self.is_asking_history() { Phase::Catching } else { Phase::Serving };
        }
    }

    /// Takes a message of the measure buffer.
    fn take_history(&mut self, message: Message, outputs: &mut Outputs) {
        let Some(history) = &mut self.history else { return };
        if let Message::Description(description) = message {
            history.count_frame();
            if self.description.is_none() {
                self.describe(description, outputs);
            }
        } else {
            history.take(message);
        }
        self.use_history(outputs);
    }

    /// Goes on when the history is there, or is waited for no longer.
    fn use_history(&mut self, outputs: &mut Outputs) {
        let Some(history) = &mut self.history else { return };
        if let Some(mut kept) = history.take_complete() {
            let n_signals = self.description.as_ref().map_or(0, |description| description.signals.len());
            kept.retain(|moment| moment.values.len() == n_signals);
            self.past.merge(kept);
            // The buffer may have answered before the stream was connected to: what came between, it has by now.
            if self.phase == Phase::Preparing && self.past.has_hole() && !self.has_asked_again {
                self.has_asked_again = true;
                self.ask_history(outputs);
            }
        }
        if !self.is_asking_history() {
            if self.phase == Phase::Catching {
                self.phase = Phase::Serving;
            }
            self.begin_when_prepared(outputs);
        }
    }

    /// Takes a message of the core.
    fn take_answer(&mut self, message: Message, outputs: &mut Outputs) {
        match message {
            Message::Forecast(forecast) => {
                let n_signals = self.description.as_ref().map_or(1, |description| description.signals.len());
                if forecast.signal as usize + 1 == n_signals {
                    self.past.answer(forecast.number);
                }
                self.counts.n_forecasts += 1;
                outputs.send(&forecast);
                self.attempts.succeeded();
            }
            Message::Reply(Reply { id: NEWS, answer, .. }) => drop(self.note_fit(&answer)),
            Message::Reply(Reply { answer, .. }) => {
                self.attempts.succeeded();
                self.conclude_fit(answer, outputs);
            }
            _ => self.counts.n_malformed += 1,
        }
        self.owing = None;
    }

    fn conclude_fit(&mut self, answer: Answer, outputs: &mut Outputs) {
        let Some(fit) = self.fits.pop_front() else { return };
        let Fit { asked_by, before } = fit;
        let refused = self.note_fit(&answer);
        match (&refused, before) {
            (Some(_), Some(before)) => self.configuration = before,
            (None, Some(_)) => self.describe_forecasts(outputs),
            (_, None) => {}
        }
        match (refused, asked_by) {
            (None, Some(pending)) => pending.answer(Answer::Configuration(self.configuration.clone())),
            (Some(reason), Some(pending)) => pending.refuse(reason),
            (_, None) => {}
        }
    }

    /// Records what is fitted by now, and returns the reason if nothing is.
    fn note_fit(&mut self, answer: &Answer) -> Option<String> {
        let reason = match answer {
            Answer::Fitted { model, fitted } => {
                self.fitted = format!("{model}: {fitted}");
                return None;
            }
            Answer::Refused { reason } => reason.clone(),
            other => format!("the core answered {other:?}"),
        };
        self.fitted = format!("not {}: {reason}", self.configuration.model);
        Some(reason)
    }

    /// Changes the configuration, or has the model fitted again.
    fn reconfigure(&mut self, changed: Configuration, pending: Pending, outputs: &mut Outputs) {
        if let Err(error) = settings::check(&changed) {
            return pending.refuse(error.to_string());
        }
        if self.phase == Phase::Preparing {
            return pending.refuse("there is no core or no stream at this moment; try again");
        }
        if self.fits.iter().any(|fit| fit.before.is_some()) {
            return pending.refuse("another change is being fitted; try again");
        }
        self.attempts.forgive();
        let before = std::mem::replace(&mut self.configuration, changed);
        let n_signals = self.description.as_ref().map_or(1, |description| description.signals.len());
        self.past.resize(settings::n_kept(&self.configuration, n_signals));
        let before = (before != self.configuration).then_some(before);
        self.order_fit(Fit { asked_by: Some(pending), before }, outputs);
    }

    fn is_owed(&self) -> bool {
        self.past.is_waiting_for_answers() || !self.fits.is_empty()
    }
}

impl Handler for PredictionServer {
    fn message(&mut self, input: InputId, message: Message, outputs: &mut Outputs) {
        if input == self.line {
            return self.take_answer(message, outputs);
        }
        if self.history.as_ref().is_some_and(|history| history.line == input) {
            return self.take_history(message, outputs);
        }
        match message {
            Message::Description(description) => self.describe(description, outputs),
            Message::Sample(sample) => {
                let values = vec![sample.value];
                self.take(Measurement { number: sample.number, time: sample.time, values }, outputs);
            }
            Message::Measurement(measurement) => self.take(measurement, outputs),
            _ => self.counts.n_malformed += 1,
        }
    }

    /// Sends everything that one read brought to the core in one write.
    fn turn_ended(&mut self, outputs: &mut Outputs) {
        if self.phase == Phase::Serving {
            while let Some(moment) = self.past.send_next() {
                outputs.send_to(self.line, moment);
            }
        }
        if !self.is_owed() {
            self.owing = None;
        } else if self.owing.is_none() {
            self.owing = Some(clock::instant());
        }
    }

    fn tick(&mut self, outputs: &mut Outputs) {
        if self.owing.is_some_and(|since| since.elapsed() > self.settings.core_limit) {
            self.attempts.failed();
            self.lose_core(format!("it gave no answer for {:?}", self.settings.core_limit), outputs);
        } else if self.process.is_none() && self.attempts.may_start_at_once() {
            self.start_core(outputs);
        }
        if self.history.as_mut().is_some_and(History::gives_up) {
            self.use_history(outputs);
        }
    }

    fn ended(&mut self, input: InputId, outputs: &mut Outputs) {
        if input == self.line {
            if self.process.is_none() {
                if self.attempts.may_start_at_once() {
                    self.start_core(outputs);
                }
            } else {
                self.attempts.failed();
                self.lose_core("it ended".to_owned(), outputs);
            }
        } else if let Some(history) = self.history.as_mut().filter(|history| history.line == input) {
            history.interrupted(outputs);
        } else {
            self.was_interrupted = true;
        }
    }

    fn request(&mut self, request: Request, pending: Pending, outputs: &mut Outputs) {
        let Configuration { model, window, horizon } = self.configuration.clone();
        match request.ask {
            Ask::Refit {} => self.reconfigure(self.configuration.clone(), pending, outputs),
            Ask::Reconfigure { model: other_model, window: other_window, horizon: other_horizon } => {
                let changed = Configuration {
                    model: other_model.unwrap_or(model),
                    window: other_window.unwrap_or(window),
                    horizon: other_horizon.unwrap_or(horizon),
                };
                self.reconfigure(changed, pending, outputs);
            }
            _ => pending.refuse("a prediction server answers reconfigure, refit and status"),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let Configuration { model, window, horizon } = &self.configuration;
        let fact = |name: &str, value: &dyn std::fmt::Display| (name.to_owned(), value.to_string());
        let mut facts = vec![
            fact("model", model),
            fact("window", window),
            fact("horizon", horizon),
            fact("fit", &self.fitted),
            fact("forecasts", &self.counts.n_forecasts),
            fact("restarts", &self.counts.n_restarts),
            fact("samples_unanswered", &self.past.n_unanswered()),
            fact("samples_lost", &self.past.n_lost()),
            fact("samples_repeated", &self.counts.n_repeated),
            fact("messages_malformed", &self.counts.n_malformed),
        ];
        facts.extend(self.process.as_ref().map(|process| fact("core_pid", &process.id())));
        facts.extend(self.counts.last_restart.as_ref().map(|reason| fact("last_restart", reason)));
        facts
    }
}

/// Returns the description of a stream that does not carry one.
fn unknown_stream(n_signals: usize) -> Description {
    Description {
        stream: String::new(),
        host: String::new(),
        carries: Carries::Measurement,
        step_ns: 0,
        signals: (0..n_signals).map(|place| SignalName { id: place.to_string(), unit: String::new() }).collect(),
        model: None,
        horizon: None,
    }
}
