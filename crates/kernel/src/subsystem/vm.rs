//! Page faults by what they did and to what, and what reclaim does with pages.

use crate::from_proc::counted;
use crate::{Attach, Drive, Error, FromProc, Point, Program, Reading, Subsystem, Timing, Total};

/// Six kinds times three classes, then all faults. Page-in, zero-fill, copy-on-write and map are faults, and each fault
/// is one of them; page-out and reactivation are done by reclaim, and are none.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "vm",
    title: "VM",
    purpose: "page faults by kind and by class of memory, pages written out and activated again by reclaim",
    points: &[
        timed("FilePageIn", "page-in, file"),
        timed("ExecPageIn", "page-in, executable"),
        timed("IntPageIn", "page-in, internal"),
        seen("FilePageOut", "page-out, file"),
        seen("ExecPageOut", "page-out, executable"),
        seen("IntPageOut", "page-out, internal"),
        seen("FileReactivation", "reactivation, file"),
        seen("ExecReactivation", "reactivation, executable"),
        seen("IntReactivation", "reactivation, internal"),
        timed("FileZeroFill", "zero-fill, file"),
        timed("ExecZeroFill", "zero-fill, executable"),
        timed("IntZeroFill", "zero-fill, internal"),
        timed("FileCopyOnWrite", "copy-on-write, file"),
        timed("ExecCopyOnWrite", "copy-on-write, executable"),
        timed("IntCopyOnWrite", "copy-on-write, internal"),
        timed("FileMap", "map, file"),
        timed("ExecMap", "map, executable"),
        timed("IntMap", "map, internal"),
        Point { name: "PageFaults", label: "all faults", timing: Timing::Followed, is_sized: false },
    ],
    programs: &[
        fault("user_fault_begins", "page_fault_user", "faults by programs"),
        fault("kernel_fault_begins", "page_fault_kernel", "faults by the kernel for programs"),
        Program { name: "minor_fault_ends", attach: Attach::SoftwareEvent(5), without: "all faults but page-ins" },
        Program { name: "major_fault_ends", attach: Attach::SoftwareEvent(6), without: "page-ins" },
        fault("page_goes_out", "mm_vmscan_write_folio", "page-outs"),
        fault("page_is_active_again", "mm_lru_activate", "reactivations"),
        fault("fault_of_task_is_forgotten", "sched_process_exit", "the end of faults that ended their task"),
    ],
    totals: &[Total { point: 18, parts: &[0, 1, 2, 9, 10, 11, 12, 13, 14, 15, 16, 17] }],
    from_proc: read,
    proc_lacks: "times, copy-on-write, zero-fill, and classes of memory: what it counts stands under `all faults` and `internal`; its \
                 page-ins are all major faults, and its page-outs those to swap",
    drive: Drive::Faults,
};

const fn timed(name: &'static str, label: &'static str) -> Point {
    Point { name, label, timing: Timing::Timed, is_sized: false }
}

const fn seen(name: &'static str, label: &'static str) -> Point {
    Point { name, label, timing: Timing::Counted, is_sized: false }
}

const fn fault(name: &'static str, tracepoint: &'static str, without: &'static str) -> Program {
    Program { name, attach: Attach::Tracepoint(tracepoint), without }
}

fn read(proc: &FromProc) -> Result<Reading, Error> {
    let text = proc.text("vmstat")?;
    let number = |name| proc.number(&text, "vmstat", name);
    let cells = [
        ((2, 0), counted(number("pgmajfault")?)),
        ((5, 0), counted(number("pswpout").unwrap_or(0))),
        ((8, 0), counted(number("pgactivate")?)),
        ((18, 0), counted(number("pgfault")?)),
    ];
    Ok(Reading { cells: cells.into(), ..Reading::default() })
}
