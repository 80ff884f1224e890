//! The work: one thread for each task, which times each of its operations.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use clock::monotonic_ns;
use rustix::fs::{Advice, OFlags, fadvise};

use crate::{Access, Error, Mode, Place, Plan, place};

/// The results of a measurement.
#[derive(Clone, Debug)]
pub struct Run {
    /// The plan that was carried out.
    pub plan: Plan,
    /// Where.
    pub place: Place,
    /// The tasks, in the order of their numbers, all their files one after the other.
    pub tasks: Vec<Task>,
    /// Time from before the first task to after the last, in nanoseconds.
    pub elapsed_ns: u64,
    /// Processor time of this process meanwhile, in its own code, in steps of 10 ms.
    pub user_ns: u64,
    /// And in the kernel.
    pub system_ns: u64,
}

/// Times of a task's operations on a file. Moments are on the monotonic clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub task: u32,
    /// The file's number.
    pub file: u32,
    /// When it began.
    pub start_ns: u64,
    /// The time of dropping the page cache's part of the file.
    pub cache: Operation,
    /// The same of getting memory.
    pub memory: Operation,
    /// The same of opening the file.
    pub open: Operation,
    /// When the first operation began.
    pub first_ns: u64,
    /// The times of the operations.
    pub times_ns: Vec<u64>,
    /// When the last had ended.
    pub last_ns: u64,
    /// When the file was closed.
    pub end_ns: u64,
}

/// Something that took time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// When it began.
    pub start_ns: u64,
    /// The time that it took.
    pub span_ns: u64,
}

/// Memory is aligned to this, which suits direct operations on any device.
const ALIGNMENT: usize = 4096;

impl Run {
    /// The times of all operations.
    #[must_use]
    pub fn times_ns(&self) -> Vec<f64> {
        self.tasks.iter().flat_map(|task| task.times_ns.iter().map(|time| *time as f64)).collect()
    }

    /// Bytes a second while operations ran, of all tasks together.
    #[must_use]
    pub fn bytes_per_sec(&self) -> f64 {
        let first = self.tasks.iter().map(|task| task.first_ns).min().unwrap_or(0);
        let last = self.tasks.iter().map(|task| task.last_ns).max().unwrap_or(0);
        let n_bytes = self.tasks.iter().map(|task| task.times_ns.len() as u64).sum::<u64>() * self.plan.size_bytes;
        n_bytes as f64 / (last.saturating_sub(first).max(1) as f64 / 1e9)
    }
}

/// Does what is planned.
///
/// # Errors
/// Where the plan makes no sense, or a file does not do what it should.
///
/// # Panics
/// When a task does.
pub fn run(plan: &Plan) -> Result<Run, Error> {
    plan.check()?;
    let place = place(&plan.folder)?;
    let before = processor_time();
    let start = monotonic_ns();
    let tasks = thread::scope(|scope| {
        let tasks: Vec<_> = (0..plan.n_tasks).map(|task| scope.spawn(move || one_task(plan, task))).collect();
        let done = tasks.into_iter().map(|task| task.join().expect("a task does not panic"));
        done.collect::<Result<Vec<_>, _>>()
    })?;
    let elapsed_ns = monotonic_ns() - start;
    let after = processor_time();
    if plan.removes {
        for (task, file) in (0..plan.n_tasks).flat_map(|task| plan.files.clone().map(move |file| (task, file))) {
            let path = plan.path(task, file);
            std::fs::remove_file(&path).map_err(|source| Error::File { doing: "remove", path, source })?;
        }
    }
    Ok(Run {
        plan: plan.clone(),
        place,
        tasks: tasks.into_iter().flatten().collect(),
        elapsed_ns,
        user_ns: after.0.saturating_sub(before.0),
        system_ns: after.1.saturating_sub(before.1),
    })
}

/// The unit of processor time in /proc.
const NS_PER_TICK: u64 = 10_000_000;

/// Processor time of this process in its own code and in the kernel, where /proc tells it.
fn processor_time() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in brackets, and may have spaces in it.
    let fields: Vec<&str> = text.rsplit_once(')').map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect());
    let ticks = |place: usize| fields.get(place).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    (ticks(11) * NS_PER_TICK, ticks(12) * NS_PER_TICK)
}

fn one_task(plan: &Plan, task: u32) -> Result<Vec<Task>, Error> {
    plan.files.clone().map(|file| one_file(plan, task, file)).collect()
}

fn one_file(plan: &Plan, task: u32, file: u32) -> Result<Task, Error> {
    let path = plan.path(task, file);
    let mut done = Task { task, file, start_ns: monotonic_ns(), ..Task::default() };
    if plan.clears_caches && plan.mode != Mode::Create {
        done.cache = timed(|| clear(&path))?.1;
    }
    let (mut memory, operation) = timed(|| Ok(vec![0x5a_u8; plan.size_bytes as usize + ALIGNMENT]))?;
    done.memory = operation;
    let begin = memory.as_ptr().align_offset(ALIGNMENT);
    let bytes = &mut memory[begin..begin + plan.size_bytes as usize];
    let (opened, operation) = timed(|| open(plan, &path))?;
    done.open = operation;
    done.times_ns.reserve_exact(plan.n_operations as usize);
    done.first_ns = monotonic_ns();
    let mut last = done.first_ns;
    for number in 0..plan.n_operations {
        let at = plan.first_byte + number * plan.stride_bytes;
        match plan.mode {
            Mode::Read => read(&opened, bytes, at, &path)?,
            Mode::Create | Mode::Write => opened.write_all_at(bytes, at).map_err(|source| Error::File {
                doing: "write",
                path: path.clone(),
                source,
            })?,
        }
        let now = monotonic_ns();
        done.times_ns.push(now - last);
        last = now;
    }
    done.last_ns = last;
    drop(opened);
    done.end_ns = monotonic_ns();
    Ok(done)
}

fn timed<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(T, Operation), Error> {
    let start_ns = monotonic_ns();
    let done = work()?;
    Ok((done, Operation { start_ns, span_ns: monotonic_ns() - start_ns }))
}

fn open(plan: &Plan, path: &Path) -> Result<File, Error> {
    let flags = match plan.access {
        Access::Buffered => OFlags::empty(),
        Access::Direct => OFlags::DIRECT,
        Access::Synchronous => OFlags::DSYNC,
    };
    let mut options = OpenOptions::new();
    match plan.mode {
        Mode::Read => options.read(true),
        Mode::Write => options.write(true),
        Mode::Create => options.write(true).create(true).truncate(true),
    };
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    opened.map_err(|source| Error::File { doing: "open", path: path.into(), source })
}

fn read(file: &File, bytes: &mut [u8], at: u64, path: &Path) -> Result<(), Error> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], at + done as u64) {
            Ok(0) => {
                let end = file.metadata().map_or(at + done as u64, |found| found.len());
                return Err(Error::Short { path: path.into(), end, at });
            }
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(Error::File { doing: "read", path: path.into(), source }),
        }
    }
    Ok(())
}

/// Brings the file to its device, and has the page cache forget it.
fn clear(path: &PathBuf) -> Result<(), Error> {
    let cleared = File::open(path).and_then(|file| {
        file.sync_data()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    });
    cleared.map_err(|source| Error::File { doing: "drop from the cache", path: path.clone(), source })
}
