//! The thread that asks what the large view of a signal and the view of processes show.

use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use node_api::{Client, ClientError, ProcessGrouping, ProcessOrder, RangeText, Seasons};
use units::{Confidence, Moment, span};

use super::processes::ROWS_MAX;
use super::state::{Detail, Far, Update};

/// The question that a view asks the node.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    Signal(SignalQuestion),
    /// Programs at a moment, greatest first; now if it is absent.
    Processes {
        sort: ProcessOrder,
        at: Option<Moment>,
    },
}

/// The signal and the horizon that are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalQuestion {
    pub id: String,
    pub horizon: Duration,
    /// Whether the horizon is one for an outlook.
    pub is_far: bool,
}

/// Answers every question with an [`Update`]; of several that wait, only the last one.
pub fn start<T: From<Update> + Send + 'static>(client: Client, updates: Sender<T>) -> Sender<Question> {
    let (sender, questions) = mpsc::channel::<Question>();
    std::thread::spawn(move || {
        while let Ok(first) = questions.recv() {
            let question = questions.try_iter().last().unwrap_or(first);
            let update = match question {
                Question::Signal(look) => Update::Detail { detail: Box::new(answer(&client, &look)), id: look.id },
                Question::Processes { sort, at } => {
                    let answer = client.processes(ProcessGrouping::Program, sort, ROWS_MAX, at);
                    Update::Processes { at, answer: Box::new(answer.map_err(|error| error.to_string())) }
                }
            };
            if updates.send(update.into()).is_err() {
                break;
            }
        }
    });
    sender
}

/// Returns the details that can be had; the first that cannot is the problem.
fn answer(client: &Client, question: &SignalQuestion) -> Detail {
    let mut problem = None;
    let (forecast, far) = if question.is_far {
        (None, keep(&mut problem, far(client, question)))
    } else {
        (keep(&mut problem, client.forecast(&question.id, question.horizon, Confidence::P95)), None)
    };
    let accuracy = keep(&mut problem, client.accuracy(&question.id));
    let series = keep(&mut problem, client.detail(&question.id));
    Detail { forecast, far, accuracy, series, problem }
}

fn far(client: &Client, SignalQuestion { id, horizon, .. }: &SignalQuestion) -> Result<Far, ClientError> {
    let outlook = client.outlook(id, *horizon, Confidence::P95, Seasons::Learned)?;
    let range = RangeText { from: Some(format!("-{}", span::format(*horizon))), to: None };
    let samples = client.samples(id, range, Duration::try_from_secs_f64(outlook.step_seconds).ok())?;
    Ok(Far { outlook, past: samples.values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect() })
}

fn keep<T>(problem: &mut Option<String>, result: Result<T, ClientError>) -> Option<T> {
    result.map_err(|error| problem.get_or_insert_with(|| error.to_string()).len()).ok()
}
