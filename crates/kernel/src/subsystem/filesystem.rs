//! Reads and writes of files, by size group; bytes asked for and returned kept apart.

use std::fs;

use crate::{Attach, Counters, Drive, Error, FromProc, Point, Program, Reading, Subsystem, Timing};

/// The file system subsystem, by system call: read, pread64, readv, preadv, preadv2 and their counterparts.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "filesystem",
    title: "File System",
    purpose: "reads and writes of regular files by system call, with bytes asked for and returned",
    points: &[
        Point { name: "Read", label: "read", timing: Timing::Followed, is_sized: true },
        Point { name: "Write", label: "write", timing: Timing::Followed, is_sized: true },
    ],
    programs: &[
        Program { name: "file_call_begins", attach: Attach::Tracepoint("sys_enter"), without: "all of it" },
        Program { name: "file_call_ends", attach: Attach::Tracepoint("sys_exit"), without: "all of it" },
    ],
    totals: &[],
    from_proc: read,
    proc_lacks: "times, size groups and bytes asked for; it counts every read and write call, of sockets and pipes too, \
                 and only those of processes that run and that this user may look at",
    drive: Drive::Reads,
};

fn read(proc: &FromProc) -> Result<Reading, Error> {
    let (mut reads, mut writes) = ([0; 2], [0; 2]);
    for process in proc.processes() {
        // It may be somebody else's, or gone.
        let Ok(text) = fs::read_to_string(process.join("io")) else { continue };
        let number = |name| proc.number(&text, "PID/io", name).unwrap_or(0);
        reads = [reads[0] + number("syscr"), reads[1] + number("rchar")];
        writes = [writes[0] + number("syscw"), writes[1] + number("wchar")];
    }
    let cell = |[count, bytes]: [u64; 2]| Counters {
        count: Some(count),
        sampled: count,
        returned: Some(bytes),
        ..Counters::default()
    };
    Ok(Reading { cells: [((0, 0), cell(reads)), ((1, 0), cell(writes))].into(), ..Reading::default() })
}
