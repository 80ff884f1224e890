//! A load that is being made.

use crate::{
    ControlGroup, LoadError, Worker,
    chance::Stream,
    mixed::Mixed,
    order::{Order, Task, Terms},
    process::Process,
    scenario::Making,
};

/// A running load: ends when dropped or stopped, and with this process, even if that is killed.
#[derive(Debug)]
pub struct Load {
    // Fields are dropped in this order, and a group can only go when it is empty.
    processes: Vec<Process>,
    mixed: Option<Mixed>,
    group: Option<ControlGroup>,
}

impl Load {
    pub(crate) fn start(making: &Making, seed: u64, worker: &Worker) -> Result<Load, LoadError> {
        let (crew, cores): (&[_], _) = match *making {
            Making::Crew(crew) => (crew, None),
            Making::Limited { cores, crew } => (crew, Some(cores)),
            Making::Mixed => (&[], None),
        };
        let group = cores.map(|cores| ControlGroup::make(cores, worker)).transpose()?;
        let processes = start_all(crew, seed, worker, group.as_ref())?;
        let is_mixed = matches!(making, Making::Mixed);
        let mixed = is_mixed.then(|| Mixed::start(seed, worker.clone())).transpose()?;
        Ok(Load { processes, mixed, group })
    }

    /// The control group that this load is about, which a process has to be in to feel it.
    pub fn group(&self) -> Option<&ControlGroup> {
        self.group.as_ref()
    }

    /// The workers that run at this moment, which may have children.
    pub fn process_ids(&self) -> Vec<u32> {
        let coming_and_going = self.mixed.iter().flat_map(Mixed::process_ids);
        self.processes.iter().map(Process::id).chain(coming_and_going).collect()
    }

    /// Whether all of it still runs.
    ///
    /// # Errors
    /// When a worker has ended by itself, with its reason if it gave one.
    pub fn check(&mut self) -> Result<(), LoadError> {
        self.processes.iter_mut().try_for_each(Process::check)?;
        self.mixed.as_mut().map_or(Ok(()), Mixed::check)
    }

    /// Ends it, as dropping it does, and says whether it had been whole until then.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn stop(mut self) -> Result<(), LoadError> {
        self.check()
    }
}

fn start_all(
    crew: &[(Task, Terms)],
    seed: u64,
    worker: &Worker,
    group: Option<&ControlGroup>,
) -> Result<Vec<Process>, LoadError> {
    let spawn = |(number, (task, terms)): (u64, &(Task, Terms))| {
        let stream = Stream { seed, number };
        let group = group.map(|group| group.directory().to_owned());
        Process::spawn(worker, &Order { task: task.clone(), terms: *terms, stream, group })
    };
    let mut processes = (0..).zip(crew).map(spawn).collect::<Result<Vec<_>, _>>()?;
    processes.iter_mut().try_for_each(Process::wait_until_ready)?;
    Ok(processes)
}
