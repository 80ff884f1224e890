//! The job that this process is a rank of: where its rings are, and what is known of it beside them.

use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use clock::{Ticks, monotonic_ns};
use mpi_abi::{Failed, Handle, Mpi};
use mpi_job::{Folder, JobError, Process};
use mpi_trace::file::{Head, Note, Phase, VERSION};
use mpi_trace::{Level, Reading, Ring, RingHeader, RingKind, Writer};

use crate::communicator::{Known, Registry};
use crate::offset::Hosts;
use crate::output;
use crate::switch::{complain, give_up, guarded, turn_off};

/// A rank of a job, from `MPI_Init` on.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) mpi: &'static Mpi,
    pub(crate) ticks: Ticks,
    pub(crate) folder: Folder,
    /// Whether somebody else made the folder and will remove it, as `foretop mpi trace` does.
    pub(crate) is_foreign: bool,
    pub(crate) head: Head,
    /// The folder that its file goes to.
    pub(crate) out: PathBuf,
    /// `MPI_STATUS_IGNORE` of Fortran.
    pub(crate) status_ignore: [usize; 2],
    settings: Settings,
    pub(crate) process: Process,
    n_threads: AtomicU32,
    first_ring: OnceLock<Ring<'static>>,
    registry: Mutex<Registry>,
}

#[derive(Debug)]
struct Settings {
    capacity: u64,
    level: Level,
}

static JOB: OnceLock<Job> = OnceLock::new();
/// Apart from the job: a rank that cannot record takes part in what all ranks do.
static HOSTS: OnceLock<(&Mpi, Hosts)> = OnceLock::new();

/// The reason why there is nothing to record into.
#[derive(Debug, thiserror::Error)]
enum BeginError {
    #[error("the MPI library is neither Open MPI nor MPICH")]
    Library,
    #[error("MPI does not tell who is in the job: {0}")]
    Mpi(#[from] Failed),
    #[error("{}", text::with_causes(.0))]
    Job(#[from] JobError),
}

/// MPI has begun. All ranks come here.
pub(crate) fn begin() {
    let begun = guarded(|| match Job::begin() {
        Ok(job) => {
            if JOB.set(job).is_ok() {
                // SAFETY: the function is there until the process ends: this library is never unloaded.
                unsafe { libc::atexit(at_exit) };
            }
        }
        Err(error) => give_up(&error),
    });
    debug_assert!(begun.is_some());
}

/// MPI is about to end. All ranks come here.
pub(crate) fn compare_clocks() {
    let Some((mpi, hosts)) = HOSTS.get() else { return };
    let compared = hosts.compare(mpi).and_then(|offset| hosts.leave(mpi).map(|()| offset));
    match (compared, Job::get()) {
        (Ok(offset), Some(job)) => job.note_offset(offset, Phase::Finalize),
        (Err(error), _) => complain(&format_args!("the clocks of the hosts were not compared at the end: {error}")),
        (Ok(_), None) => {}
    }
}

/// The program ends, or will do nothing more with MPI.
pub(crate) fn end() {
    // A process that was forked off has all of this too, but is no rank.
    guarded(|| Job::get().filter(|job| job.process == Process::this()).map(Job::write));
}

extern "C" fn at_exit() {
    end();
}

/// Returns the source of the stamps of calls.
pub(crate) fn ticks() -> Ticks {
    static TICKS: OnceLock<Ticks> = OnceLock::new();
    *TICKS.get_or_init(|| if is_simulated() { Ticks::Monotonic } else { Ticks::best() })
}

/// Whether this is a rank of a simulation, whose time only the C library's clocks show.
fn is_simulated() -> bool {
    !mpi_abi::any(c"foretop_sim_compute").is_null()
}

impl Job {
    /// None before MPI has begun.
    #[inline]
    pub(crate) fn get() -> Option<&'static Self> {
        JOB.get()
    }

    fn begin() -> Result<Self, BeginError> {
        let mpi = Mpi::get().ok_or(BeginError::Library)?;
        let world = mpi.constants().comm_world;
        let (rank, n_ranks) = (mpi.comm_rank(world)? as u32, mpi.comm_size(world)? as u32);
        let host = mpi_job::host_name();
        // First what all ranks do together: a rank that fails on its own must not leave the others waiting.
        let (name, hosts) = if is_simulated() {
            // All are of one process, and messages would take simulated time.
            (mpi_job::job_name(&host, std::os::unix::process::parent_id()), Hosts::one(rank as i32, n_ranks as usize))
        } else {
            let name = mpi.text_of_first(&mpi_job::job_name(&host, std::process::id()), world)?;
            (name, Hosts::find(mpi, mpi_job::fnv_1a(host.bytes().map(u64::from)))?)
        };
        let (_, hosts) = HOSTS.get_or_init(|| (mpi, hosts));
        let offset = hosts.compare(mpi)?;

        // A job that another one started has the other's environment, and ranks of the same numbers.
        let is_spawned = mpi.is_spawned()?;
        let given = env::var_os("FORETOP_MPI_JOB").filter(|path| !path.is_empty() && !is_spawned);
        let path = given.as_ref().map_or_else(|| mpi_job::root().join(&name), PathBuf::from);
        let folder = Folder::create(&path)?;
        folder.forget(rank)?;
        let process = Process::this();
        let program = env::args_os().next().unwrap_or_default().to_string_lossy().into_owned();
        let head = Head { version: VERSION, rank, n_ranks, host, pid: process.pid, program, library: mpi.version() };
        folder.define(rank, &serde_json::to_string(&head).unwrap_or_default())?;
        let job = Self {
            mpi,
            ticks: ticks(),
            folder,
            is_foreign: given.is_some(),
            head,
            out: if is_spawned { output::folder().join(&name) } else { output::folder() },
            status_ignore: mpi.fortran_status_ignore(),
            settings: Settings::read(hosts.n_ranks_here()),
            process,
            n_threads: AtomicU32::new(0),
            first_ring: OnceLock::new(),
            registry: Mutex::new(Registry::default()),
        };
        job.note_offset(offset, Phase::Init);
        job.note_kernel();
        *job.registry() = Registry::new(mpi, &mut |communicator| job.note(&communicator.into()))?;
        Ok(job)
    }

    /// Writes the file of this rank, once, and removes what nobody else will.
    fn write(&self) {
        static ONCE: OnceLock<()> = OnceLock::new();
        ONCE.get_or_init(|| {
            turn_off();
            self.note_kernel();
            if let Err(error) = output::write(self) {
                complain(&format_args!("rank {} leaves no trace file: {}", self.head.rank, text::with_causes(&error)));
            } else if !self.is_foreign {
                output::remove(self);
            }
        });
    }

    /// Makes a ring for a thread.
    pub(crate) fn create_ring(&self) -> Result<Writer<'static>, JobError> {
        let Reading { ticks, monotonic_ns } = self.reading();
        let header = RingHeader {
            kind: RingKind::Calls,
            rank: self.head.rank,
            n_ranks: self.head.n_ranks,
            pid: self.process.pid,
            pid_started: self.process.started,
            thread: self.n_threads.fetch_add(1, Ordering::Relaxed),
            is_counter: self.ticks == Ticks::Counter,
            reading: Reading { ticks, monotonic_ns },
            tree: 0,
            host: self.head.host.clone(),
        };
        let ring = self.folder.create_ring(self.settings.capacity, &header)?.leak();
        // Whoever changed the level since the start changed it in all rings that there were.
        ring.set_level(self.first_ring.get().map_or(self.settings.level, Ring::level));
        let _is_first = self.first_ring.set(ring);
        Ok(ring.writer())
    }

    /// A moment on both clocks.
    pub(crate) fn reading(&self) -> Reading {
        let clock::Reading { ticks, monotonic_ns } = self.ticks.reading();
        Reading { ticks, monotonic_ns }
    }

    /// Returns the properties of a communicator for its records.
    pub(crate) fn find(&self, comm: Handle) -> Known {
        self.registry().find(self.mpi, comm, &mut |communicator| self.note(&communicator.into()))
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_offset(&self, offset: crate::offset::Offset, at: Phase) {
        let crate::offset::Offset { offset_ns, error_ns } = offset;
        self.note(&mpi_trace::file::Offset { offset_ns, error_ns, monotonic_ns: monotonic_ns(), at }.into());
    }

    /// Notes the kernel's data on the program at both ends of the program; in between a sidecar asks.
    fn note_kernel(&self) {
        if let Some(sample) = mpi_job::kernel_of(self.process.pid) {
            self.note(&sample.into());
        }
    }

    /// Writes a note for the file, and for whoever looks into the folder meanwhile.
    fn note(&self, note: &Note) {
        let line = serde_json::to_string(note).unwrap_or_default();
        if let Err(error) = self.folder.define(self.head.rank, &line) {
            give_up(&text::with_causes(&error));
        }
    }
}

impl Settings {
    /// Reads the settings. A setting that is not understood is reported, and left as it is without.
    fn read(n_ranks_here: usize) -> Self {
        let capacity = read("FORETOP_MPI_RING", "a power of two of records", |text| {
            text.parse::<u64>()
                .ok()
                .filter(|capacity| capacity.is_power_of_two() && *capacity <= mpi_trace::CAPACITY_MAX)
        });
        let level = read("FORETOP_MPI_LEVEL", "off, calls or trees", |text| match text {
            "off" => Some(Level::Off),
            "calls" => Some(Level::Calls),
            "trees" => Some(Level::Trees),
            _ => None,
        });
        Self {
            capacity: capacity.unwrap_or_else(|| mpi_job::ring_capacity(n_ranks_here)),
            level: level.unwrap_or(Level::Trees),
        }
    }
}

/// A variable of the environment, if it is set and understood.
pub(crate) fn read<T>(name: &str, wanted: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    let parsed = parse(&text);
    if parsed.is_none() {
        complain(&format_args!("{name} is `{text}` and is passed over: it takes {wanted}"));
    }
    parsed
}
