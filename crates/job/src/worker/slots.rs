//! The slots of a worker: threads that each run one unit at a time, and the runs that these belong to.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clock::Stopwatch;
use tempfile::TempDir;

use super::inputs::Inputs;
use super::{Limits, process};
use crate::allow::{Allowed, find};
use crate::gauge::{self, Outlook, Used};
use crate::protocol::{Ended, PIECE_BYTES, Unit, WorkResponse, Working};

/// Time without any message of its coordinator after which a run is ended.
const ABANDONED_AFTER: Duration = Duration::from_secs(120);
/// Greatest number of runs at a time.
const N_RUNS_MAX: usize = 64;
/// Greatest number of units that wait at a slot.
const N_WAITING_MAX: usize = 10_000;

pub struct Slots {
    pub inputs: Inputs,
    allowed: Vec<Allowed>,
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
    outlook: Mutex<Option<Arc<Mutex<Outlook>>>>,
}

#[derive(Default)]
struct State {
    runs: BTreeMap<String, Run>,
    slots: Vec<Slot>,
    used: Used,
    has_ended: bool,
}

struct Run {
    folder: TempDir,
    ended: Vec<Ended>,
    n_bytes: u64,
    heard: Stopwatch,
}

#[derive(Default)]
struct Slot {
    waiting: VecDeque<Waiting>,
    working: Option<Now>,
}

struct Waiting {
    run: String,
    path: PathBuf,
    unit: Unit,
}

struct Now {
    run: String,
    unit: usize,
    since: Stopwatch,
    process: Option<u32>,
    is_dropped: bool,
}

impl Slots {
    pub fn start(allowed: Vec<Allowed>, limits: Limits) -> std::io::Result<Arc<Self>> {
        let slots = (0..limits.n_slots).map(|_| Slot::default()).collect();
        let n_slots = limits.n_slots;
        let state = Mutex::new(State { slots, ..State::default() });
        let inputs = Inputs::new(&limits.folder, limits.input_bytes)?;
        let all = Arc::new(Self { inputs, allowed, limits, state, changed: Condvar::new(), outlook: Mutex::new(None) });
        for at in 0..n_slots {
            let own = Arc::clone(&all);
            std::thread::Builder::new().name(format!("slot-{at}")).spawn(move || own.work(at))?;
        }
        let own = Arc::downgrade(&all);
        let outlook = gauge::start(move || own.upgrade().map_or_else(Used::default, |own| own.lock().used_so_far()));
        *all.outlook.lock().unwrap_or_else(PoisonError::into_inner) = Some(outlook);
        Ok(all)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn hello(&self) -> WorkResponse {
        WorkResponse::Hello {
            host: sensor::host_name(Path::new("/")).unwrap_or_default(),
            n_slots: self.limits.n_slots,
            commands: self.allowed.iter().map(|one| one.name().to_owned()).collect(),
        }
    }

    pub fn run(&self, run: &str, slot: usize, command: &str, mut units: Vec<Unit>) -> Result<(), String> {
        let mut checked = Vec::new();
        for argument in units.iter_mut().flat_map(|unit| &mut unit.args) {
            let (actual, shown) = self.inputs.resolve(argument)?;
            *argument = actual;
            checked.push(shown);
        }
        let path = find(&self.allowed, command, checked.iter()).map_err(|error| error.to_string())?.path().to_owned();
        let mut state = self.lock();
        if slot >= state.slots.len() {
            return Err(format!(
                "there is no slot {slot}: they are numbered from 0, and there are {}",
                state.slots.len()
            ));
        }
        if state.slots[slot].waiting.len() + units.len() > N_WAITING_MAX {
            return Err(format!("more than {N_WAITING_MAX} units would wait at slot {slot}"));
        }
        if !state.runs.contains_key(run) {
            if state.runs.len() == N_RUNS_MAX {
                return Err(format!("there are {N_RUNS_MAX} runs here already"));
            }
            let folder = tempfile::Builder::new().prefix("foretop-run-").tempdir_in(&self.limits.folder);
            let folder = folder.map_err(|error| format!("no folder for the run: {error}"))?;
            state.runs.insert(run.to_owned(), Run { folder, ended: Vec::new(), n_bytes: 0, heard: Stopwatch::start() });
        }
        let waiting = units.into_iter().map(|unit| Waiting { run: run.to_owned(), path: path.clone(), unit });
        state.slots[slot].waiting.extend(waiting);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    pub fn progress(&self, run: &str, seen: usize) -> Result<WorkResponse, String> {
        let outlook = self.outlook.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let outlook = outlook.map(|outlook| outlook.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let outlook = outlook.ok_or("it has no forecast yet")?;
        let mut state = self.lock();
        let working = |slot: &Slot| {
            let now = slot.working.as_ref().filter(|now| now.run == run)?;
            Some(Working { unit: now.unit, seconds: now.since.elapsed().as_secs_f64() })
        };
        let slots = state.slots.iter().map(working).collect();
        let is_known = state.runs.contains_key(run);
        let ended = state.runs.get_mut(run).map_or_else(Vec::new, |run| {
            run.heard = Stopwatch::start();
            run.ended.get(seen..).unwrap_or_default().to_vec()
        });
        let curve = outlook.curve.points().map(|(demand, times)| (demand, times.to_vec())).collect();
        Ok(WorkResponse::Progress { is_known, slots, ended, curve, availability: outlook.availability })
    }

    pub fn output(&self, run: &str, unit: usize, offset: u64) -> Result<WorkResponse, String> {
        let state = self.lock();
        let found = state.runs.get(run).ok_or_else(|| format!("there is no run `{run}`"))?;
        let ended = found.ended.iter().rev().find(|ended| ended.unit == unit && ended.failure.is_none());
        let slot = ended.ok_or_else(|| format!("unit {unit} has not ended"))?.slot;
        let folder = unit_folder(found.folder.path(), slot, unit);
        drop(state);
        let mut bytes = Vec::new();
        let read = process::output(&folder).and_then(|mut file| {
            file.seek(SeekFrom::Start(offset))?;
            (&mut file).take(PIECE_BYTES as u64).read_to_end(&mut bytes)?;
            Ok(file.metadata()?.len())
        });
        let length = read.map_err(|error| format!("what unit {unit} wrote cannot be read: {error}"))?;
        Ok(WorkResponse::Output { is_all: offset + bytes.len() as u64 >= length, bytes: STANDARD.encode(bytes) })
    }

    /// Forgets a unit, and kills it if it is at work.
    pub fn drop_unit(&self, run: &str, unit: usize) {
        for slot in &mut self.lock().slots {
            slot.waiting.retain(|waiting| waiting.run != run || waiting.unit.unit != unit);
            if let Some(now) = slot.working.as_mut().filter(|now| now.run == run && now.unit == unit) {
                now.is_dropped = true;
                now.process.into_iter().for_each(process::kill);
            }
        }
    }

    /// Ends a run: waiting units are forgotten, working ones are killed, and its folder is removed.
    pub fn stop(&self, run: &str) {
        let mut state = self.lock();
        for slot in &mut state.slots {
            slot.waiting.retain(|waiting| waiting.run != run);
            slot.working.iter().filter(|now| now.run == run).filter_map(|now| now.process).for_each(process::kill);
        }
        state.runs.remove(run);
    }

    pub fn forget_abandoned(&self) {
        let state = self.lock();
        let old = state.runs.iter().filter(|(_, run)| run.heard.elapsed() > ABANDONED_AFTER);
        let old: Vec<String> = old.map(|(name, _)| name.clone()).collect();
        drop(state);
        old.iter().for_each(|run| self.stop(run));
    }

    /// Ends all runs and the threads of all slots.
    pub fn end(&self) {
        let runs: Vec<String> = self.lock().runs.keys().cloned().collect();
        runs.iter().for_each(|run| self.stop(run));
        self.lock().has_ended = true;
        *self.outlook.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }

    pub fn facts(&self) -> Vec<(String, String)> {
        let state = self.lock();
        let n_working = state.slots.iter().filter(|slot| slot.working.is_some()).count();
        let n_waiting: usize = state.slots.iter().map(|slot| slot.waiting.len()).sum();
        let facts = [("runs", state.runs.len()), ("units at work", n_working), ("units waiting", n_waiting)];
        facts.map(|(name, value)| (name.to_owned(), value.to_string())).to_vec()
    }

    fn work(&self, at: usize) {
        let mut state = self.lock();
        while !state.has_ended {
            let Some(Waiting { run, path, unit }) = state.slots[at].waiting.pop_front() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(found) = state.runs.get(&run) else { continue };
            let folder = unit_folder(found.folder.path(), at, unit.unit);
            let bytes_max = self.limits.run_bytes.saturating_sub(found.n_bytes);
            let (number, since) = (unit.unit, Stopwatch::start());
            // Under the lock, so that whoever stops the run finds the process.
            let started = process::start(&path, &unit, &folder, bytes_max);
            let process = started.as_ref().ok().map(std::process::Child::id);
            state.slots[at].working = Some(Now { run: run.clone(), unit: number, since, process, is_dropped: false });
            drop(state);
            let (cpu_seconds, mut failure) = match started {
                Ok(child) => process::wait(child, &folder, bytes_max),
                Err(error) => (0.0, Some(format!("`{}` cannot be started: {error}", path.display()))),
            };
            let seconds = since.elapsed().as_secs_f64();
            let written = process::output(&folder).and_then(|file| Ok(file.metadata()?.len()));
            let mut n_bytes = written.unwrap_or_else(|error| {
                failure.get_or_insert_with(|| format!("what it wrote is gone: {error}"));
                0
            });
            if failure.is_some() {
                // Nobody wants what it wrote, so that it does not count.
                process::forget(&folder);
                n_bytes = 0;
            }
            state = self.lock();
            let is_dropped = state.slots[at].working.take().is_some_and(|now| now.is_dropped);
            state.used.cpu += cpu_seconds;
            state.used.busy += seconds;
            if is_dropped {
                process::forget(&folder);
            } else if let Some(run) = state.runs.get_mut(&run) {
                run.n_bytes += n_bytes;
                run.ended.push(Ended { unit: number, slot: at, seconds, cpu_seconds, n_bytes, failure });
            }
        }
    }
}

impl State {
    /// Returns the use of ended units, and the use so far of those at work.
    fn used_so_far(&self) -> Used {
        let now = self.slots.iter().filter_map(|slot| slot.working.as_ref());
        now.fold(self.used, |used, now| Used {
            cpu: used.cpu + now.process.and_then(process::cpu_seconds).unwrap_or(0.0),
            busy: used.busy + now.since.elapsed().as_secs_f64(),
        })
    }
}

/// Returns the folder of a unit, by slot as well: two slots may run a unit at the same time.
fn unit_folder(run: &Path, slot: usize, unit: usize) -> PathBuf {
    run.join(format!("{slot}-{unit}"))
}

#[cfg(test)]
mod tests {
    use testkit::{PATIENCE, wait_until};

    use super::*;

    #[test]
    fn two_slots_may_run_one_unit_and_one_may_drop_it() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { n_slots: 2, run_bytes: 1 << 20, input_bytes: 1 << 20, folder: folder.path().to_owned() };
        let allowed = ["echo=/bin/echo", "sleep=/bin/sleep"].map(|text| Allowed::new(text).unwrap());
        let slots = Slots::start(allowed.to_vec(), limits).unwrap();
        let unit = |arg: &str| vec![Unit { unit: 7, args: vec![arg.to_owned()], stdin: String::new() }];
        let progress = || match slots.progress("run", 0).unwrap() {
            WorkResponse::Progress { slots, ended, .. } => (slots[1], ended),
            other => panic!("{other:?}"),
        };
        slots.run("run", 0, "echo", unit("1")).unwrap();
        wait_until("the first ends", PATIENCE, || (progress().1.len() == 1).then_some(()));
        slots.run("run", 1, "sleep", unit("1000")).unwrap();
        wait_until("the second begins", PATIENCE, || progress().0);
        let bytes = STANDARD.encode("1\n");
        assert_eq!(slots.output("run", 7, 0), Ok(WorkResponse::Output { bytes, is_all: true }));
        slots.drop_unit("run", 7);
        wait_until("the second is killed", PATIENCE, || progress().0.is_none().then_some(()));
        assert_eq!(progress().1.len(), 1, "nobody hears of what was dropped");
        slots.end();
    }
}
