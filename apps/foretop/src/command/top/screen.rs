//! The terminal while `top` has it, and the loop that waits for keys and news.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::Context;
use ratatui::crossterm::event::{self, Event};

use super::feed;
use super::inquiry::{self, Question, SignalQuestion};
use super::keys::Effect;
use super::row::Row;
use super::state::{Mode, State, Update};
use super::view::{self, Palette};
use command_line::interruption;
use command_line::terminal::Screen;
use node_api::Client;

/// No more frames than this: at 100 samples per second nobody reads each.
const FRAME: Duration = Duration::from_millis(50);
/// The time between two inquiries of the large view while it is open.
const INQUIRE_EVERY: Duration = Duration::from_secs(1);
/// The same where it shows an outlook, for which the node runs over weeks.
const INQUIRE_FAR_EVERY: Duration = Duration::from_secs(10);

enum Input {
    Update(Update),
    Terminal(Event),
    Quit,
}

impl From<Update> for Input {
    fn from(update: Update) -> Self {
        Self::Update(update)
    }
}

/// Shows the node at the other end of `client` until the user has seen enough.
pub fn run(mut state: State, client: Client, palette: &Palette) -> anyhow::Result<()> {
    let (sender, inputs) = mpsc::channel();
    let mut screen = Screen::open()?;
    watch_signals(sender.clone())?;
    watch_terminal(sender.clone());
    feed::start(client.clone(), sender.clone());
    let questions = inquiry::start(client, sender);
    let mut inquired = clock::instant();
    if state.mode == Mode::Processes {
        inquire(&state, &questions);
    }
    loop {
        screen.draw(|frame| view::draw(frame, &state, palette)).context("cannot draw on the terminal")?;
        let effect = take_inputs(&mut state, &inputs);
        let every =
            if state.mode == Mode::Detail && state.detail.far.is_some() { INQUIRE_FAR_EVERY } else { INQUIRE_EVERY };
        let is_asking = state.mode == Mode::Detail || state.mode == Mode::Processes && state.processes.at.is_none();
        let is_due = is_asking && inquired.elapsed() >= every;
        match effect {
            Effect::Quit => return Ok(()),
            Effect::None if !is_due => {}
            Effect::None | Effect::Inquire => {
                inquired = clock::instant();
                inquire(&state, &questions);
            }
        }
    }
}

/// Waits for the first input, then takes what comes until the next frame is due. A key is shown at once.
fn take_inputs(state: &mut State, inputs: &Receiver<Input>) -> Effect {
    let mut limit = INQUIRE_EVERY;
    let mut due = None;
    loop {
        match inputs.recv_timeout(limit) {
            Ok(Input::Update(update)) => state.apply(update),
            Ok(Input::Terminal(Event::Key(key))) if key.is_press() => return state.press(key),
            Ok(Input::Terminal(_)) => return Effect::None,
            Ok(Input::Quit) | Err(RecvTimeoutError::Disconnected) => return Effect::Quit,
            Err(RecvTimeoutError::Timeout) => return Effect::None,
        }
        let due = *due.get_or_insert_with(|| clock::instant() + FRAME);
        limit = due.saturating_duration_since(clock::instant());
    }
}

fn inquire(state: &State, questions: &Sender<Question>) {
    let of_signal = |row: &Row| {
        let (horizon, is_far) = state.horizon(row);
        Question::Signal(SignalQuestion { id: row.id.clone(), horizon, is_far })
    };
    let question = match state.mode {
        Mode::Processes => Some(state.processes.question()),
        _ => state.selected_row().map(of_signal),
    };
    if let Some(question) = question {
        // The thread at the other end lives as long as this loop.
        let _ = questions.send(question);
    }
}

fn watch_signals(inputs: Sender<Input>) -> anyhow::Result<()> {
    let mut signals = interruption::watch()?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            let _ = inputs.send(Input::Quit);
        }
    });
    Ok(())
}

/// A terminal that cannot be read any longer is gone, and so is the reason to go on.
fn watch_terminal(inputs: Sender<Input>) {
    std::thread::spawn(move || {
        loop {
            let input = event::read().map_or(Input::Quit, Input::Terminal);
            let is_end = matches!(input, Input::Quit);
            if inputs.send(input).is_err() || is_end {
                break;
            }
        }
    });
}
