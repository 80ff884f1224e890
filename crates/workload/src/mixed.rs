//! A load that changes over minutes, as those of real hosts do.
//!
//! Each place in it is taken and empty in turns. How long it is taken has a heavy tail (Pareto of shape 1.5, mean 30 s,
//! as lifetimes of processes have), how long it is empty has none (exponential, mean 40 s). Many such places together
//! are self-similar with a Hurst exponent of 0.75: Taqqu, Willinger and Sherman, "Proof of a fundamental result in
//! self-similar traffic modeling", Computer Communication Review 27(2), 1997.

use std::{
    convert::Infallible,
    num::NonZero,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{
    LoadError, Step, Worker,
    chance::{Chance, Stream},
    error::Fault,
    order::{Order, Task, Terms},
    process::Process,
    scenario::MIXED_CREW,
};

const MEAN_TAKEN: Duration = Duration::from_secs(30);
const MEAN_EMPTY: Duration = Duration::from_secs(40);
/// Shape that gives a Hurst exponent of (3 - 1.5) / 2.
const SHAPE: f64 = 1.5;
/// A host with more cores has more going on: one set of places for so many.
const CORES_PER_CREW: usize = 2;
/// Streams of a place's workers are numbered from a multiple of this on; its own moments come from the first.
const STREAMS_PER_PLACE: u64 = 1 << 32;

/// The running load, and the thread that changes it.
#[derive(Debug)]
pub(crate) struct Mixed {
    state: Arc<Mutex<State>>,
    /// Dropped to end the thread.
    running: Option<Sender<Infallible>>,
    director: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    /// Processes by place.
    processes: Vec<Option<Process>>,
    trouble: Option<LoadError>,
}

impl Mixed {
    pub(crate) fn start(seed: u64, worker: Worker) -> Result<Mixed, LoadError> {
        let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
        let n_places = MIXED_CREW.len() * n_cores.div_ceil(CORES_PER_CREW);
        let mut places: Vec<Place> = (0..).take(n_places).map(|number| Place::new(seed, number)).collect();
        let state = Arc::new(Mutex::new(State::default()));
        for place in &mut places {
            let process = place.process(seed, &worker)?;
            lock(&state).processes.push(process);
        }
        let (running, ended) = channel();
        let shared = Arc::clone(&state);
        let direct = move || direct(places, seed, &worker, &shared, &ended);
        let director = thread::Builder::new().name("mixed-load".to_owned()).spawn(direct);
        let director = director.map_err(Fault::at(Step::Fork))?;
        Ok(Mixed { state, running: Some(running), director: Some(director) })
    }

    pub(crate) fn process_ids(&self) -> Vec<u32> {
        lock(&self.state).processes.iter().flatten().map(Process::id).collect()
    }

    pub(crate) fn check(&mut self) -> Result<(), LoadError> {
        let mut state = lock(&self.state);
        if let Some(trouble) = state.trouble.take() {
            return Err(trouble);
        }
        state.processes.iter_mut().flatten().try_for_each(Process::check)
    }
}

impl Drop for Mixed {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(director) = self.director.take() {
            // It does not panic, and if it did, its workers are in the shared state all the same.
            let _ = director.join();
        }
    }
}

/// Fills and empties places when their moment has come, until `ended` says so or a worker cannot be started.
fn direct(mut places: Vec<Place>, seed: u64, worker: &Worker, state: &Mutex<State>, ended: &Receiver<Infallible>) {
    let start = clock::instant();
    while let Some((idx, place)) = places.iter_mut().enumerate().min_by_key(|(_, place)| place.until) {
        let wait = place.until.saturating_sub(start.elapsed());
        if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        place.turn();
        match place.process(seed, worker) {
            // The one that was there is killed by its drop.
            Ok(process) => lock(state).processes[idx] = process,
            Err(error) => {
                lock(state).trouble = Some(error);
                return;
            }
        }
    }
}

/// A state is whole at any moment, also when a thread panicked while it looked at it.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place that is taken and empty in turns.
#[derive(Debug)]
struct Place {
    task: &'static (Task, Terms),
    chance: Chance,
    is_taken: bool,
    /// Time from the start to its next change.
    until: Duration,
    /// Number of its next worker's stream.
    next_stream: u64,
}

impl Place {
    /// Taken at the start as often as at any other time.
    fn new(seed: u64, number: u64) -> Place {
        let first_stream = (number + 1) * STREAMS_PER_PLACE;
        let mut chance = Chance::new(Stream { seed, number: first_stream });
        let share_taken = MEAN_TAKEN.as_secs_f64() / (MEAN_TAKEN + MEAN_EMPTY).as_secs_f64();
        let is_taken = chance.is(share_taken);
        let task = &MIXED_CREW[number as usize % MIXED_CREW.len()];
        let mut place = Place { task, chance, is_taken, until: Duration::ZERO, next_stream: first_stream + 1 };
        place.until = place.length();
        place
    }

    /// Changes it, and draws when it changes again.
    fn turn(&mut self) {
        self.is_taken = !self.is_taken;
        let length = self.length();
        self.until += length;
    }

    fn length(&mut self) -> Duration {
        if self.is_taken { self.chance.heavy(MEAN_TAKEN, SHAPE) } else { self.chance.around(MEAN_EMPTY) }
    }

    /// A worker, if it is taken.
    fn process(&mut self, seed: u64, worker: &Worker) -> Result<Option<Process>, LoadError> {
        if !self.is_taken {
            return Ok(None);
        }
        let stream = Stream { seed, number: self.next_stream };
        self.next_stream += 1;
        let (task, terms) = self.task.clone();
        let mut process = Process::spawn(worker, &Order { task, terms, stream, group: None })?;
        process.wait_until_ready()?;
        Ok(Some(process))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the first places change, and to what.
    fn moments(seed: u64) -> Vec<(bool, Duration)> {
        let mut places: Vec<Place> = (0..10).map(|number| Place::new(seed, number)).collect();
        let of = |place: &mut Place| {
            place.turn();
            (place.is_taken, place.until)
        };
        places.iter_mut().flat_map(|place| [of(place), of(place), of(place)]).collect()
    }

    #[test]
    fn the_same_seed_changes_the_load_at_the_same_moments() {
        assert_eq!(moments(1), moments(1));
        assert_ne!(moments(1), moments(2));
    }

    #[test]
    fn places_are_taken_for_their_share_of_the_time() {
        let mut share = 0.0;
        let n = 500;
        for number in 0..n {
            let mut place = Place::new(3, number);
            // One day.
            let day = Duration::from_secs(86_400);
            let (mut taken, mut at) = (Duration::ZERO, Duration::ZERO);
            while at < day {
                let until = place.until.min(day);
                if place.is_taken {
                    taken += until - at;
                }
                at = until;
                place.turn();
            }
            share += taken.as_secs_f64() / day.as_secs_f64() / n as f64;
        }
        // A day's share has a heavy tail and a standard deviation of some 0.05; 500 of them a standard error of 0.002.
        assert!((share - 3.0 / 7.0).abs() < 0.01, "{share}");
    }
}
