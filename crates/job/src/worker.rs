//! A worker: a component that runs units.

mod inputs;
mod process;
mod slots;

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stream::{Answer, Ask, Handler, InputId, Message, Outputs, Pending, Request};

use crate::allow::Allowed;
use crate::protocol::{WorkRequest, WorkResponse};
use slots::Slots;

/// Limits of a worker.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Number of units at a time.
    pub n_slots: usize,
    /// Bytes that the units of a run may write to their outputs, all together, and each of them into any other file.
    pub run_bytes: u64,
    /// Bytes of inputs that are kept for all runs.
    pub input_bytes: u64,
    /// The folder for those of runs and inputs.
    pub folder: PathBuf,
}

/// A worker, for a [`stream::Mirror`] with a `server:` endpoint.
pub struct Worker {
    slots: Arc<Slots>,
}

impl Worker {
    /// Builds a worker that runs what is allowed. Its slots begin to wait for units.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn new(allowed: Vec<Allowed>, limits: Limits) -> std::io::Result<Self> {
        Ok(Self { slots: Slots::start(allowed, limits)? })
    }
}

impl Handler for Worker {
    fn message(&mut self, _: InputId, _: Message, _: &mut Outputs) {}

    fn request(&mut self, request: Request, pending: Pending, _: &mut Outputs) {
        let Ask::Work { tell } = request.ask else {
            return pending.refuse("a worker of split work answers `work` and `status`");
        };
        let read = serde_json::from_str::<WorkRequest>(&tell).map_err(|error| error.to_string());
        match read.and_then(|request| self.answer(request)) {
            Ok(response) => {
                let told = serde_json::to_string(&response).expect("a response has a form in JSON");
                pending.answer(Answer::Work { told });
            }
            Err(why) => pending.refuse(why),
        }
    }

    fn tick(&mut self, _: &mut Outputs) {
        self.slots.forget_abandoned();
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.slots.facts()
    }
}

impl Worker {
    fn answer(&self, request: WorkRequest) -> Result<WorkResponse, String> {
        match request {
            WorkRequest::Hello {} => Ok(self.slots.hello()),
            WorkRequest::Has { input } => Ok(WorkResponse::Has { is_there: self.slots.inputs.has(&input)? }),
            WorkRequest::Put { input, file, offset, bytes } => {
                let bytes = STANDARD.decode(bytes).map_err(|error| error.to_string())?;
                self.slots.inputs.put(&input, &file, offset, &bytes).map(|()| WorkResponse::Done {})
            }
            WorkRequest::Keep { input } => self.slots.inputs.keep(&input).map(|()| WorkResponse::Done {}),
            WorkRequest::Run { run, slot, command, units } => {
                self.slots.run(&run, slot, &command, units).map(|()| WorkResponse::Done {})
            }
            WorkRequest::Drop { run, unit } => {
                self.slots.drop_unit(&run, unit);
                Ok(WorkResponse::Done {})
            }
            WorkRequest::Progress { run, seen } => self.slots.progress(&run, seen),
            WorkRequest::Output { run, unit, offset } => self.slots.output(&run, unit, offset),
            WorkRequest::Stop { run } => {
                self.slots.stop(&run);
                Ok(WorkResponse::Done {})
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.slots.end();
    }
}
