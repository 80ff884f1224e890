//! Jobs of MPI programs on this host: which there are, and what is seen inside those that somebody looks at.
//!
//! Nothing is read of a job until somebody asks. From then on a thread of its own follows the job's rings, and gives up
//! some seconds after the last question. What is in the folders was written by programs of this user, which may be
//! broken or dead: what is wrong with a job is told as its problem.

mod answer;
mod calls;
mod follower;
mod found;
mod view;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::Clock;
use mpi_analysis::Analysis;
use mpi_job::{Folder, JobError};
use mpi_trace::Flow;
use watch::{OnPanic, Stop, Thread, Watch};

use self::follower::Follower;
use self::found::Found;
use crate::api;

/// Time between reads of rings: one of the default size holds a quarter of a second of 130,000 records a second.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// Time for which a job is followed after the last question. The page asks every two seconds.
const FOLLOW_FOR: Duration = Duration::from_secs(10);
/// Jobs that are followed at a time.
const N_FOLLOWED_MAX: usize = 8;
/// Jobs that are listed; of more, the oldest are left out.
const N_LISTED_MAX: usize = 256;

/// The reason why a question about jobs has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobsError {
    /// The folder of all jobs, or that of one.
    #[error("cannot look for the jobs of MPI programs")]
    Folder(#[from] JobError),
    /// No such folder, or nothing in it.
    #[error("there is no job `{}`; GET /api/v1/mpi/jobs lists them", job.escape_debug())]
    UnknownJob {
        /// The requested job.
        job: String,
    },
    /// The job has no tree, or none of that name.
    #[error("{}", unknown_tree(tree.as_deref(), known))]
    UnknownTree {
        /// The requested tree.
        tree: Option<String>,
        /// Those of which something was seen.
        known: Vec<String>,
    },
    /// No call over the tree had this flow.
    #[error("no call of this flow was seen over the tree; GET /api/v1/mpi/jobs/{job} lists those that were")]
    UnknownFlow {
        /// The job.
        job: String,
    },
    /// Others look at too many jobs.
    #[error(
        "{N_FOLLOWED_MAX} jobs are looked at, which is the most there can be; ask again {} s after the last question about one of them",
        FOLLOW_FOR.as_secs()
    )]
    TooMany,
    /// The system has no thread.
    #[error("cannot start a thread to follow a job")]
    NoThread(#[from] io::Error),
}

fn unknown_tree(tree: Option<&str>, known: &[String]) -> String {
    match tree {
        _ if known.is_empty() => "nothing was seen yet of a tree of this job".to_owned(),
        None => format!("the job has several trees: say tree={}", known.join(" or tree=")),
        Some(tree) => format!("the job has no tree `{}`; there is {}", tree.escape_debug(), known.join(", ")),
    }
}

/// All jobs of this user on this host.
pub(crate) struct Jobs {
    root: PathBuf,
    host: String,
    clock: Arc<dyn Clock>,
    watch: Watch,
    followed: Mutex<BTreeMap<String, Followed>>,
}

/// A job that somebody looks at.
struct Followed {
    place: Arc<Place>,
    _thread: Thread,
}

/// Empty once the job is not followed any more.
#[derive(Default)]
struct Place(Mutex<Option<Follower>>);

impl Place {
    /// Nothing in a follower is half done for long: what a panic leaves behind is a figure that is wrong by one record.
    fn lock(&self) -> MutexGuard<'_, Option<Follower>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Jobs {
    /// Those whose folders are right below `root`.
    pub(crate) fn new(root: PathBuf, host: String, clock: Arc<dyn Clock>, watch: Watch) -> Self {
        Self { root, host, clock, watch, followed: Mutex::default() }
    }

    /// All that have a ring, those that run first, and of these the youngest first.
    pub(crate) fn list(&self) -> Result<api::MpiJobs, JobsError> {
        let about = |folder: Folder| {
            let found = Found::look(&folder);
            found.has_rings().then(|| found.about(&name(&folder), self.clock.wall()))
        };
        let mut jobs: Vec<api::MpiJob> = Folder::all(&self.root)?.into_iter().filter_map(about).collect();
        jobs.sort_by(|a, b| (b.is_running, b.since).cmp(&(a.is_running, a.since)).then_with(|| a.job.cmp(&b.job)));
        jobs.truncate(N_LISTED_MAX);
        Ok(api::MpiJobs { host: self.host.clone(), jobs })
    }

    /// Returns the details of a job.
    pub(crate) fn detail(&self, job: &str) -> Result<api::MpiJobDetail, JobsError> {
        self.ask(job, |follower, now| follower.detail(job, now, self.clock.wall()))
    }

    /// The figures of a tree of a job and of one flow. The tree need not be named if it is the only one of which
    /// something was seen, the flow if that of most calls is meant.
    pub(crate) fn analysis(&self, job: &str, tree: Option<&str>, flow: Option<Flow>) -> Result<Analysis, JobsError> {
        self.ask(job, |follower, _| follower.analysis(tree, flow))?
            .map_err(|known| JobsError::UnknownTree { tree: tree.map(str::to_owned), known })?
            .ok_or_else(|| JobsError::UnknownFlow { job: job.to_owned() })
    }

    fn ask<T>(&self, job: &str, question: impl FnOnce(&mut Follower, Duration) -> T) -> Result<T, JobsError> {
        loop {
            let place = self.follow(job)?;
            // Its thread may have given it up since.
            if let Some(follower) = place.lock().as_mut() {
                let now = self.clock.monotonic();
                follower.asked = now;
                return Ok(question(follower, now));
            }
        }
    }

    /// The place of a job that is followed from here on.
    fn follow(&self, job: &str) -> Result<Arc<Place>, JobsError> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|_, one| one.place.lock().is_some());
        if let Some(one) = followed.get(job) {
            return Ok(Arc::clone(&one.place));
        }
        // Of the names that there are, so that none leads elsewhere.
        let folder = Folder::all(&self.root)?.into_iter().find(|folder| name(folder) == job);
        let unknown = || JobsError::UnknownJob { job: job.to_owned() };
        let follower = Follower::begin(folder.ok_or_else(unknown)?, self.clock.monotonic());
        let follower = follower.ok_or_else(unknown)?;
        if followed.len() >= N_FOLLOWED_MAX {
            return Err(JobsError::TooMany);
        }
        let place = Arc::new(Place(Mutex::new(Some(follower))));
        let (kept, clock) = (Arc::clone(&place), Arc::clone(&self.clock));
        let work = move |stop: &Stop| keep(&kept, &*clock, stop);
        let thread = Thread::start(&self.watch, format!("mpi job {job}"), OnPanic::BeginAgain, work)?;
        followed.insert(job.to_owned(), Followed { place: Arc::clone(&place), _thread: thread });
        Ok(place)
    }
}

/// Follows a job until nobody has asked for a while.
fn keep(place: &Place, clock: &dyn Clock, stop: &Stop) {
    while !stop.wait(POLL_EVERY) {
        let mut follower = place.lock();
        let now = clock.monotonic();
        match follower.as_mut() {
            Some(follower) if now.saturating_sub(follower.asked) <= FOLLOW_FOR => follower.poll(now),
            _ => {
                *follower = None;
                return;
            }
        }
    }
}

fn name(folder: &Folder) -> String {
    folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
