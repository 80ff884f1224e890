//! The job that this process is a rank of: its members, its page, and what is to be done at its beginning and end.

use std::env;
use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use clock::monotonic_ns;
use mpi_abi::{Failed, Mpi};
use mpi_job::{Access, ConcurrencyFile, Folder, Process};
use mpi_trace::{ConcurrencyHeader, ConcurrencyPage, ConcurrencyRank, N_HOST_RANKS_MAX, WaitMode, WaitState};

use crate::binding::AllowedCores;
use crate::call::guarded;
use crate::communicator::KnownHandles;
use crate::inside;
use crate::members::JobMembers;
use crate::offer;
use crate::report::{self, CountedUntil, Marks};
use crate::settings::WaitSettings;
use crate::tally::CallTallies;

/// A rank of a job, from Init's return on.
#[derive(Debug)]
pub(crate) struct WaitJob {
    pub(crate) mpi: &'static Mpi,
    pub(crate) mode: WaitMode,
    pub(crate) members: JobMembers,
    /// None if there was no room for it.
    pub(crate) page: Option<ConcurrencyPage<'static>>,
    pub(crate) known: KnownHandles,
    pub(crate) tallies: CallTallies,
    /// Whether ranks of other hosts may send messages.
    pub(crate) is_far_possible: bool,
    /// Whether collective calls may go over trees.
    pub(crate) has_trees: bool,
    /// Whether more ranks than cores are here.
    pub(crate) is_crowded: bool,
    pub(crate) settings: WaitSettings,
    /// The core that it is bound to.
    pub(crate) processor: Option<u32>,
    pub(crate) rank: i32,
    /// Counts when Init returned.
    pub(crate) began: CountedUntil,
    pub(crate) marks: Marks,
    folder: Option<Folder>,
    status_ignore: [usize; 2],
    process: Process,
}

static JOB: OnceLock<WaitJob> = OnceLock::new();
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// Has calls that are left to Open MPI yield the core, before MPI begins.
pub(crate) fn prepare() {
    const YIELD: &str = "OMPI_MCA_mpi_yield_when_idle";
    if WaitSettings::read().mode != WaitMode::Library && env::var_os(YIELD).is_none() {
        // SAFETY: the program is about to begin MPI, before which it has no threads that change the environment.
        unsafe { env::set_var(YIELD, "1") };
    }
}

/// Begins the job when MPI has begun. All ranks come here.
pub(crate) fn begin() {
    inside::mark_first();
    let begun = guarded(|| {
        let mpi = Mpi::get().ok_or("the MPI library is neither Open MPI nor MPICH".to_owned())?;
        WaitJob::begin(mpi).map_err(|error| error.to_string())
    });
    match begun {
        Some(Ok(job)) => {
            if JOB.set(job).is_ok() {
                // SAFETY: the function is there until the process ends: this library is never unloaded.
                unsafe { libc::atexit(at_exit) };
            }
        }
        Some(Err(why)) => complain(&format_args!("ranks wait as the library does: {why}")),
        None => complain(&"ranks wait as the library does: mpi-wait panicked, see above"),
    }
}

/// Ends the job when MPI is about to end, or the program is.
pub(crate) fn end() {
    guarded(|| {
        // A process that was forked off has all of this too, but is no rank.
        if let Some(job) = JOB.get().filter(|job| job.process == Process::this())
            && !HAS_ENDED.swap(true, Ordering::SeqCst)
        {
            job.end();
        }
    });
}

extern "C" fn at_exit() {
    end();
}

impl WaitJob {
    /// Returns the job; `None` before MPI has begun and after its end.
    pub(crate) fn get() -> Option<&'static Self> {
        if HAS_ENDED.load(Ordering::Relaxed) { None } else { JOB.get() }
    }

    /// All ranks make the same calls of MPI here, whatever fails on one of them.
    fn begin(mpi: &'static Mpi) -> Result<Self, Failed> {
        let settings = WaitSettings::read();
        let world = mpi.constants().comm_world;
        let rank = mpi.comm_rank(world)?;
        let members = JobMembers::gather(mpi, settings.mode)?;
        let name = mpi.text_of_first(&mpi_job::job_name(&mpi_job::host_name(), std::process::id()), world)?;
        let is_spawned = mpi.is_spawned()?;
        let mode = if members.is_one_mode() { settings.mode } else { WaitMode::Library };
        if rank == 0 {
            settings.faults.iter().for_each(|fault| complain(fault));
            if !members.is_one_mode() {
                complain(&"ranks wait as the library does: FORETOP_MPI_WAIT is not the same on all ranks");
            }
        }
        let processor = bind(&settings, &members);
        // A job that another one started has the other's environment, and ranks of the same numbers.
        let given = settings.job.clone().filter(|_| !is_spawned);
        let path = given.clone().unwrap_or_else(|| mpi_job::root().join(name));
        let folder = Folder::create(&path);
        if let (0, Ok(folder)) = (members.own, &folder) {
            make_page(folder, &members, mode, processor.and(settings.n_processors));
        }
        mpi.barrier(world)?;
        let opened = folder.as_ref().ok().and_then(|folder| ConcurrencyFile::open(folder, Access::ReadWrite).ok());
        let page = opened.and_then(|file| file.leak().ok()).filter(|page| page.n_ranks() == members.here.len());
        let process = Process::this();
        if let Some(page) = page {
            let Process { pid, started: pid_started } = process;
            page.describe(members.own, &ConcurrencyRank { rank: rank as u32, processor, pid, pid_started });
            page.set_state(members.own, WaitState::RUNNING);
            page.count(true, monotonic_ns());
        }
        mpi.barrier(world)?;
        let n_cores = members.cores().list().len();
        let n_cores = settings.n_processors.map_or(n_cores, |n_processors| n_processors.min(n_cores));
        let began = CountedUntil::now(0, page.filter(|_| members.own == 0).as_ref());
        Ok(Self {
            mpi,
            mode,
            is_far_possible: members.is_spread() || is_spawned || page.is_none(),
            has_trees: offer::is_possible(),
            is_crowded: members.here.len() > n_cores,
            members,
            page,
            known: KnownHandles::default(),
            tallies: CallTallies::new(),
            settings,
            processor,
            rank,
            began,
            marks: Marks::default(),
            // Somebody else made the folder and will remove it, as `foretop mpi trace` does.
            folder: if given.is_some() { None } else { folder.ok() },
            status_ignore: mpi.fortran_status_ignore(),
            process,
        })
    }

    /// Returns the page, if this thread stands for its rank.
    pub(crate) fn own_page(&self) -> Option<ConcurrencyPage<'static>> {
        self.page.filter(|_| inside::is_first())
    }

    /// Whether a status argument means that the program ignores the status.
    pub(crate) fn is_ignored(&self, word: usize, is_fortran: bool) -> bool {
        if is_fortran { self.status_ignore.contains(&word) } else { word == self.mpi.constants().status_ignore }
    }

    fn end(&self) {
        if let Err(error) = report::write(self) {
            complain(&format_args!("rank {} leaves no report of its waits: {error}", self.rank));
        }
        if let Some(page) = self.page {
            page.count(false, monotonic_ns());
            page.set_state(self.members.own, WaitState::ENDED);
        }
        if let Some(folder) = &self.folder {
            if self.members.own == 0
                && let Ok(file) = ConcurrencyFile::open(folder, Access::Read)
            {
                file.remove();
            }
            // It is not empty while others have files in it.
            let _ = fs::remove_dir(folder.path());
        }
    }
}

/// Binds this rank to its core, if there is one for it.
fn bind(settings: &WaitSettings, members: &JobMembers) -> Option<u32> {
    let n_processors = settings.n_processors?;
    let cores = members.cores();
    let chosen = cores.choose(n_processors, settings.placing, members.own, members.here.len());
    let bound = match chosen {
        Some(core) => AllowedCores::bind(core).map_err(|error| error.to_string()),
        None => Err(format!("ranks of this host may use {} cores of {n_processors}", cores.list().len())),
    };
    match bound {
        Ok(()) => chosen,
        Err(why) => {
            if members.own == 0 {
                complain(&format_args!("ranks are not bound to cores by FORETOP_MPI_PROCESSORS: {why}"));
            }
            None
        }
    }
}

/// Makes the page of this host, as its lowest rank does.
fn make_page(folder: &Folder, members: &JobMembers, mode: WaitMode, n_processors: Option<usize>) {
    let n_ranks = members.here.len();
    if n_ranks > N_HOST_RANKS_MAX {
        complain(&format_args!("ranks are not counted: {n_ranks} are on this host"));
        return;
    }
    let header = ConcurrencyHeader {
        n_ranks: n_ranks as u32,
        n_job_ranks: members.n_ranks() as u32,
        mode,
        n_processors: n_processors.unwrap_or(0) as u32,
        made_ns: monotonic_ns(),
    };
    if let Err(error) = ConcurrencyFile::create(folder, &header) {
        complain(&format_args!("ranks are not counted: {}", text::with_causes(&error)));
    }
}

/// Writes a message to whoever runs the program, in one piece: other ranks write to the same place.
pub(crate) fn complain(what: &dyn Display) {
    let line = format!("foretop: {what}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
