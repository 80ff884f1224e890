//! Waits of tasks for a processor.

use crate::{Attach, Counters, Drive, Error, FromProc, Point, Program, Reading, Subsystem, Timing};

/// The scheduling subsystem: waits after being woken, and after losing a processor that the task could have used.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "scheduling",
    title: "Scheduling",
    purpose: "how long tasks that could run wait for a processor",
    points: &[
        Point { name: "Woken", label: "from waking to running", timing: Timing::Timed, is_sized: false },
        Point { name: "Preempted", label: "from losing a processor to running", timing: Timing::Timed, is_sized: false },
    ],
    programs: &[
        at("task_is_woken", "sched_wakeup", "waits after waking"),
        at("new_task_is_woken", "sched_wakeup_new", "waits of new tasks"),
        at("tasks_change", "sched_switch", "all of it"),
    ],
    totals: &[],
    from_proc: read,
    proc_lacks: "extremes, and whether a task had been woken or preempted: all waits stand under `from waking to running`, and where the \
                 kernel keeps no schedstat, only the time in which at least one task waited",
    drive: Drive::Threads,
};

const fn at(name: &'static str, tracepoint: &'static str, without: &'static str) -> Program {
    Program { name, attach: Attach::Tracepoint(tracepoint), without }
}

/// Columns of the time spent waiting and the number of turns in a processor's line of /proc/schedstat.
const WAITED_NS: usize = 8;
const TURNS: usize = 9;

fn read(proc: &FromProc) -> Result<Reading, Error> {
    let cell = match proc.text("schedstat") {
        Ok(text) => turns(&text),
        Err(_) => pressure(proc)?,
    };
    Ok(Reading { cells: [((0, 0), cell)].into(), ..Reading::default() })
}

fn turns(text: &str) -> Counters {
    let (mut count, mut time_ns) = (0, 0);
    for line in text.lines().filter(|line| line.starts_with("cpu")) {
        let column = |place| line.split_whitespace().nth(place).and_then(|number| number.parse::<u64>().ok());
        count += column(TURNS).unwrap_or(0);
        time_ns += column(WAITED_NS).unwrap_or(0);
    }
    Counters { count: Some(count), sampled: count, time_ns: Some(time_ns), ..Counters::default() }
}

/// Reads the time for which at least one task waited, as pressure stall information has it, in microseconds.
fn pressure(proc: &FromProc) -> Result<Counters, Error> {
    let text = proc.text("pressure/cpu")?;
    let some = text.lines().find(|line| line.starts_with("some")).unwrap_or_default();
    let total = some.split_whitespace().find_map(|part| part.strip_prefix("total=")?.parse::<u64>().ok());
    Ok(Counters { time_ns: total.map(|us| us.saturating_mul(1000)), ..Counters::default() })
}
