//! Functions that the shims call: they use the job, if there is one, and nothing of ours unwinds into the program.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use mpi_abi::Mpi;
use mpi_tree::Collective;

use crate::arguments::{Arguments, Language, comm_at};
use crate::conditional;
use crate::job::Job;
use crate::report::{Tally, Way};
use crate::taking::Done;

static JOB: OnceLock<Option<Job>> = OnceLock::new();

/// Begins the job when MPI has begun. All ranks come here.
pub(crate) fn begin() {
    JOB.get_or_init(|| {
        let mpi = Mpi::get()?;
        guarded(mpi, || Job::begin(mpi)).unwrap_or_else(|error| abort(mpi, &error))
    });
    if let Some(mpi) = Mpi::get() {
        guarded(mpi, || conditional::begin(mpi)).unwrap_or_else(|error| abort(mpi, &error));
    }
}

/// The job, if it has a tree file.
pub(crate) fn job() -> Option<&'static Job> {
    JOB.get()?.as_ref()
}

/// Ends the job when MPI is about to end.
pub(crate) fn end(_language: Language, _words: &[usize]) {
    if let Some(mpi) = Mpi::get() {
        conditional::end(mpi);
    }
    if let Some(job) = job() {
        guarded(job.mpi, || job.end());
    }
}

/// Forgets a communicator that the program gives up.
pub(crate) fn forget(language: Language, words: &[usize]) {
    let (Some(mpi), Some(&word)) = (Mpi::get(), words.first()) else { return };
    // SAFETY: it is the argument of such a call.
    let comm = unsafe { comm_at(mpi, language, word) };
    conditional::forget(mpi, comm);
    let Some(job) = job() else { return };
    let known = job.communicators().remove(&comm).flatten();
    if let Some(communicator) = known {
        guarded(job.mpi, || communicator.free(job));
    }
}

/// Carries out a call, unless it is for the library. All that decides is the same on all ranks.
pub(crate) fn take(collective: Collective, language: Language, words: &[usize]) -> Option<i32> {
    if let Some(code) = conditional::take(collective, language, words) {
        return Some(code);
    }
    let job = job()?;
    guarded(job.mpi, || {
        let arguments = Arguments::read(job.mpi, &job.fortran, collective, language, words);
        match job.take(collective, &arguments) {
            Ok(reason) => {
                let reason = reason?;
                job.report.add(collective, Way::Library(reason), Tally { n_calls: 1, ..Tally::default() });
                None
            }
            Err(Done) => Some(0),
        }
    })
}

/// Runs what may break. A panic must not unwind into the program, and other ranks may wait for this one by then.
pub(crate) fn guarded<T>(mpi: &Mpi, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| abort(mpi, &"the collectives panicked, see above"))
}

/// Ends the job: others may be waiting for what this rank cannot do.
pub(crate) fn abort(mpi: &Mpi, why: &dyn Display) -> ! {
    complain(&format_args!("the job ends here: {why}"));
    // It does not return; if it does, nothing is lost by ending this process alone.
    let _ = mpi.abort(mpi.constants().comm_world, 1);
    std::process::exit(1)
}

/// Writes a message to whoever runs the program.
pub(crate) fn complain(what: &dyn Display) {
    eprintln!("foretop: {what}");
}
