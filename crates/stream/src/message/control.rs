//! Requests and replies: what is said beside the streams, as JSON.

use bytes::BytesMut;
use serde::{Deserialize, Serialize};

use super::{MessageError, Payload, read_json, write_json};
use crate::counters::EndpointStatus;
use crate::frame::Kind;

/// Something that is asked of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by whoever asks; the reply has the same.
    pub id: u64,
    /// The content of the request.
    pub ask: Ask,
}

/// The content of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Ask {
    /// Asks for the status of the component.
    Status {},
    /// The last messages of a buffer.
    Latest {
        /// The maximum number of messages.
        n: u32,
    },
    /// The messages of a buffer after one.
    Since {
        /// The number of that one.
        number: u64,
        /// The maximum number of messages.
        n: u32,
    },
    /// Changes the step at which a sensor measures.
    SetStep {
        /// The step in nanoseconds.
        step_ns: u64,
    },
    /// Changes the configuration of a prediction server; absent fields stay as they are.
    Reconfigure {
        /// The text of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The number of samples to which the model is fitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u32>,
        /// The number of steps ahead that the server forecasts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        horizon: Option<u32>,
    },
    /// Has a prediction server fit its model again.
    Refit {},
    /// A forecast of the samples that are sent along.
    Forecast {
        /// The text of the model.
        model: String,
        /// The number of steps ahead.
        horizon: u32,
        /// Evenly spaced, the oldest first; `null` for a gap.
        samples: Vec<Option<f64>>,
    },
    /// Asks a monitor of an MPI job for a description of the data that it reads.
    Job {},
    /// Has a monitor of an MPI job begin something whose results will be pulled.
    Begin {
        /// What: `docs/formats/event-scope.md`.
        task: String,
    },
    /// The results of something that was begun, since they were last pulled.
    Pull {
        /// The session that began.
        session: u64,
    },
    /// An instruction to a worker of split work.
    Work {
        /// The instruction, as JSON: `docs/formats/job-worker.md`.
        tell: String,
    },
}

/// The reply of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The request's.
    pub id: u64,
    /// The number of frames that follow.
    #[serde(default)]
    pub n_frames: u32,
    /// The answer.
    pub answer: Answer,
}

/// The content of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// It was done.
    Done {},
    /// It was not.
    Refused {
        /// The reason for the refusal, and the remedy.
        reason: String,
    },
    /// The status of the component.
    Status(Status),
    /// The frames that follow.
    Frames {},
    /// The configuration of a prediction server from here on.
    Configuration(Configuration),
    /// A model was fitted to what was sent along; one frame follows, its forecast.
    Fitted {
        /// The text of the model.
        model: String,
        /// The fitted model in words.
        fitted: String,
    },
    /// The description of the data that a monitor of an MPI job reads, as JSON.
    Job {
        /// `docs/formats/event-scope.md`.
        about: String,
    },
    /// Something began.
    Begun {
        /// The number by which the results are pulled.
        session: u64,
    },
    /// The answer of a worker of split work.
    Work {
        /// The answer, as JSON: `docs/formats/job-worker.md`.
        told: String,
    },
}

/// The status of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The kind of the component: `pred-server`.
    pub component: String,
    /// Its endpoints, as they were given.
    pub endpoints: Vec<EndpointStatus>,
    /// Facts about the component, in words: name and value.
    #[serde(default)]
    pub facts: Vec<(String, String)>,
}

/// The configuration of a prediction server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// The text of the model.
    pub model: String,
    /// The number of samples to which the model is fitted.
    pub window: u32,
    /// The number of steps ahead that the server forecasts.
    pub horizon: u32,
}

macro_rules! json_payload {
    ($($message:ident),*) => {$(
        impl Payload for $message {
            const KIND: Kind = Kind::$message;

            fn write(&self, out: &mut BytesMut) -> Result<(), MessageError> {
                write_json(self, out)
            }

            fn read(payload: &[u8]) -> Result<Self, MessageError> {
                read_json(payload)
            }
        }
    )*};
}

json_payload!(Request, Reply);
