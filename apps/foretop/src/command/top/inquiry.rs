//! The thread that asks what the large view of a signal shows.

use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use node_api::{Client, ClientError, RangeText, Seasons};
use units::{Confidence, span};

use super::state::{Detail, Far, Update};

/// The signal and the horizon that are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub id: String,
    pub horizon: Duration,
    /// Whether the horizon is one for an outlook.
    pub is_far: bool,
}

/// Answers every question with an [`Update::Detail`]; of several that wait, only the last one.
pub fn start<T: From<Update> + Send + 'static>(client: Client, updates: Sender<T>) -> Sender<Question> {
    let (sender, questions) = mpsc::channel::<Question>();
    std::thread::spawn(move || {
        while let Ok(first) = questions.recv() {
            let question = questions.try_iter().last().unwrap_or(first);
            let detail = Box::new(answer(&client, &question));
            if updates.send(Update::Detail { id: question.id, detail }.into()).is_err() {
                break;
            }
        }
    });
    sender
}

/// Returns the details that can be had; the first that cannot is the problem.
fn answer(client: &Client, question: &Question) -> Detail {
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

fn far(client: &Client, Question { id, horizon, .. }: &Question) -> Result<Far, ClientError> {
    let outlook = client.outlook(id, *horizon, Confidence::P95, Seasons::Learned)?;
    let range = RangeText { from: Some(format!("-{}", span::format(*horizon))), to: None };
    let samples = client.samples(id, range, Duration::try_from_secs_f64(outlook.step_seconds).ok())?;
    Ok(Far { outlook, past: samples.values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect() })
}

fn keep<T>(problem: &mut Option<String>, result: Result<T, ClientError>) -> Option<T> {
    result.map_err(|error| problem.get_or_insert_with(|| error.to_string()).len()).ok()
}
