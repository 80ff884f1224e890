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
    /// What is asked.
    pub ask: Ask,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Ask {
    /// How the component is.
    Status {},
    /// The last messages of a buffer.
    Latest {
        /// How many, at most.
        n: u32,
    },
    /// The messages of a buffer after one.
    Since {
        /// The number of that one.
        number: u64,
        /// How many, at most.
        n: u32,
    },
    /// That a sensor measure at another step.
    SetStep {
        /// The step in nanoseconds.
        step_ns: u64,
    },
    /// That a prediction server work otherwise; what is absent stays.
    Reconfigure {
        /// The text of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// How many samples the model is fitted to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u32>,
        /// How many steps ahead it forecasts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        horizon: Option<u32>,
    },
    /// That a prediction server fit its model again.
    Refit {},
    /// A forecast of the samples that are sent along.
    Forecast {
        /// The text of the model.
        model: String,
        /// How many steps ahead.
        horizon: u32,
        /// Evenly spaced, the oldest first; `null` for a gap.
        samples: Vec<Option<f64>>,
    },
    /// What a monitor of an MPI job reads.
    Job {},
    /// That a monitor of an MPI job begin something whose results will be pulled.
    Begin {
        /// What: `docs/formats/event-scope.md`.
        task: String,
    },
    /// The results of something that was begun, since they were last pulled.
    Pull {
        /// What began.
        session: u64,
    },
    /// Something that a worker of split work is told.
    Work {
        /// As JSON: `docs/formats/job-worker.md`.
        tell: String,
    },
}

/// What a component answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The request's.
    pub id: u64,
    /// How many frames follow.
    #[serde(default)]
    pub n_frames: u32,
    /// The answer.
    pub answer: Answer,
}

/// What can be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// It was done.
    Done {},
    /// It was not.
    Refused {
        /// Why not, and what would be right.
        reason: String,
    },
    /// How the component is.
    Status(Status),
    /// The frames that follow.
    Frames {},
    /// What a prediction server does from here on.
    Configuration(Configuration),
    /// A model was fitted to what was sent along; one frame follows, its forecast.
    Fitted {
        /// The text of the model.
        model: String,
        /// The fitted model in words.
        fitted: String,
    },
    /// What a monitor of an MPI job reads, as JSON.
    Job {
        /// `docs/formats/event-scope.md`.
        about: String,
    },
    /// Something began.
    Begun {
        /// What it is pulled by.
        session: u64,
    },
    /// What a worker of split work says.
    Work {
        /// As JSON: `docs/formats/job-worker.md`.
        told: String,
    },
}

/// How a component is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// What it is: `pred-server`.
    pub component: String,
    /// Its endpoints, as they were given.
    pub endpoints: Vec<EndpointStatus>,
    /// What it says of itself, in words: name and value.
    #[serde(default)]
    pub facts: Vec<(String, String)>,
}

/// What a prediction server does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// The text of the model.
    pub model: String,
    /// How many samples the model is fitted to.
    pub window: u32,
    /// How many steps ahead it forecasts.
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
