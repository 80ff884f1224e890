//! One-off forecasts: a model is fitted to the samples that come with a request (RPS's `pred_reqresp_server`).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use clock::now;
use predict::Spec;
use stream::{Answer, Ask, Forecast, Handler, InputId, Message, Outputs, Pending, Request};

/// Requests that wait for a worker, at most: more are refused, so that whoever asks can go elsewhere.
const N_WAITING_MAX: usize = 64;

/// Answers `forecast` requests on worker threads.
pub struct OneOff {
    jobs: SyncSender<Job>,
    n_taken: u64,
    n_refused: u64,
}

struct Job {
    spec: Spec,
    horizon: usize,
    samples: Vec<f64>,
    pending: Pending,
}

impl OneOff {
    /// Builds a server with so many workers; one at least.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn new(n_workers: usize) -> io::Result<Self> {
        let (jobs, waiting) = sync_channel(N_WAITING_MAX);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..n_workers.max(1) {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new().name("fit".to_owned()).spawn(move || work(&waiting))?;
        }
        Ok(Self { jobs, n_taken: 0, n_refused: 0 })
    }

    fn order(&mut self, job: Job) {
        match self.jobs.try_send(job) {
            Ok(()) => self.n_taken += 1,
            Err(TrySendError::Full(job)) => {
                self.n_refused += 1;
                job.pending.refuse(format!("there are {N_WAITING_MAX} requests waiting already; try again"));
            }
            Err(TrySendError::Disconnected(job)) => job.pending.refuse("no worker is left"),
        }
    }
}

/// Works on jobs until the server has ended.
fn work(waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => {
                // Whoever asked is told when the request is dropped. What failed was its fit alone, so the worker goes
                // on.
                if catch_unwind(AssertUnwindSafe(|| job.run())).is_err() {
                    tracing::error!("a fit ended by a fault of this program");
                }
            }
            Err(_) => return,
        }
    }
}

impl Job {
    fn run(self) {
        let Self { spec, horizon, samples, pending } = self;
        match predict::fit(&spec, &samples) {
            Ok(model) => {
                let time = now();
                let said = model.predictor().forecast(horizon);
                let forecast = Forecast {
                    number: samples.len().saturating_sub(1) as u64,
                    time,
                    completed: now(),
                    signal: 0,
                    means: said.means().to_vec(),
                    standard_errors: said.standard_errors().to_vec(),
                };
                let fitted =
                    format!("{} samples, one-step error {:.6}", model.n_samples(), model.innovation_variance().sqrt());
                let answer = Answer::Fitted { model: spec.to_string(), fitted };
                pending.answer_with(answer, &[Message::Forecast(forecast)]);
            }
            Err(error) => pending.refuse(error.to_string()),
        }
    }
}

impl Handler for OneOff {
    fn message(&mut self, _: InputId, _: Message, _: &mut Outputs) {}

    fn request(&mut self, request: Request, pending: Pending, _: &mut Outputs) {
        let Ask::Forecast { model, horizon, samples } = request.ask else {
            return pending.refuse("this server answers forecast and status");
        };
        let horizon = usize::try_from(horizon).unwrap_or(usize::MAX);
        if !(1..=Forecast::N_LEADS_MAX).contains(&horizon) {
            return pending.refuse(format!("the horizon must be 1 to {} steps, not {horizon}", Forecast::N_LEADS_MAX));
        }
        match model.parse() {
            Ok(spec) => {
                let samples = samples.into_iter().map(|sample| sample.unwrap_or(f64::NAN)).collect();
                self.order(Job { spec, horizon, samples, pending });
            }
            Err(error) => pending.refuse(error.to_string()),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![
            ("requests_taken".to_owned(), self.n_taken.to_string()),
            ("requests_refused".to_owned(), self.n_refused.to_string()),
        ]
    }
}
