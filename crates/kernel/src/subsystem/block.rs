//! Requests that block devices have completed.

use crate::{Attach, Counters, Drive, Error, FromProc, Point, Program, Reading, Subsystem, Timing};

/// The block subsystem, of the whole host: a completion does not say for whom.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "block",
    title: "Block",
    purpose: "requests that block devices have completed, from the moment they were given to the device",
    points: &[
        request("Read", "read"),
        request("Write", "write"),
        request("Flush", "flush"),
        request("Other", "discard and others"),
    ],
    programs: &[Program {
        name: "request_is_completed",
        attach: Attach::Tracepoint("block_rq_complete"),
        without: "all of it",
    }],
    totals: &[],
    from_proc: read,
    proc_lacks: "extremes, size groups and bytes asked for; its times begin when a request enters the queue",
    drive: Drive::None,
};

const fn request(name: &'static str, label: &'static str) -> Point {
    Point { name, label, timing: Timing::Timed, is_sized: true }
}

/// Columns of requests, sectors of 512 bytes and milliseconds in a line of /proc/diskstats, by point; flushes have no
/// sectors.
const COLUMNS: [(usize, Option<usize>, usize); 4] = [(3, Some(5), 6), (7, Some(9), 10), (18, None, 19), (14, Some(16), 17)];

fn read(proc: &FromProc) -> Result<Reading, Error> {
    let mut reading = Reading::default();
    for (point, (requests, sectors, ms)) in COLUMNS.into_iter().enumerate() {
        let (mut count, mut bytes, mut time_ns) = (0, 0, 0);
        for line in proc.text("diskstats")?.lines().filter(|line| is_whole_device(line)) {
            let columns: Vec<u64> = line.split_whitespace().map(|column| column.parse().unwrap_or(0)).collect();
            let column = |place: usize| columns.get(place).copied().unwrap_or(0);
            count += column(requests);
            bytes += sectors.map_or(0, column) * 512;
            time_ns += column(ms) * 1_000_000;
        }
        let cell = Counters {
            count: Some(count),
            sampled: count,
            time_ns: Some(time_ns),
            returned: Some(bytes),
            ..Counters::default()
        };
        reading.cells.insert((point, 0), cell);
    }
    Ok(reading)
}

/// Whether a line is of a whole device: partitions are counted with their devices, and loop and memory devices are
/// none.
fn is_whole_device(line: &str) -> bool {
    let name = line.split_whitespace().nth(2).unwrap_or_default();
    let is_partition = match name.strip_prefix("nvme").or_else(|| name.strip_prefix("mmcblk")) {
        Some(rest) => rest.contains('p'),
        None => name.ends_with(|c: char| c.is_ascii_digit()),
    };
    !is_partition && !name.starts_with("loop") && !name.starts_with("ram")
}

#[cfg(test)]
mod tests {
    use super::is_whole_device;

    #[test]
    fn partitions_are_not_counted_twice() {
        let names = ["vda", "vda1", "sdb", "sdb2", "nvme0n1", "nvme0n1p2", "loop0", "mmcblk0", "mmcblk0p1"];
        let whole: Vec<&str> = names.into_iter().filter(|name| is_whole_device(&format!("8 0 {name} 1 2"))).collect();
        assert_eq!(whole, ["vda", "sdb", "nvme0n1", "mmcblk0"]);
    }
}
