//! Tasks that begin and end: processes and threads alike.

use crate::from_proc::counted;
use crate::{Attach, Drive, Error, FromProc, Point, Program, Reading, Subsystem, Timing};

/// The task subsystem. An end's length of time is the task's life.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "task",
    title: "Task",
    purpose: "tasks that begin and end; the time of an end is how long the task lived",
    points: &[
        Point { name: "Creation", label: "creation", timing: Timing::Counted, is_sized: false },
        Point { name: "Termination", label: "termination", timing: Timing::Timed, is_sized: false },
    ],
    programs: &[
        Program { name: "task_begins", attach: Attach::Tracepoint("sched_process_fork"), without: "creations" },
        Program { name: "task_ends", attach: Attach::Tracepoint("sched_process_exit"), without: "terminations" },
    ],
    totals: &[],
    from_proc: read,
    proc_lacks: "terminations, and how long tasks lived",
    drive: Drive::Threads,
};

fn read(proc: &FromProc) -> Result<Reading, Error> {
    let created = proc.number(&proc.text("stat")?, "stat", "processes")?;
    Ok(Reading { cells: [((0, 0), counted(created))].into(), ..Reading::default() })
}
