//! Use of the processors' time, by the kernel's own accounting. It has no hooks, and so no traces.

use crate::{Counters, Drive, Error, FromProc, Point, Reading, Subsystem, Timing};

/// The CPU subsystem, with its points in the order of /proc/stat.
pub const SUBSYSTEM: Subsystem = Subsystem {
    name: "cpu",
    title: "CPU Utilization",
    purpose: "shares of each processor's time, as the kernel accounts for it",
    points: &[
        share("User", "user"),
        share("Nice", "user, at low priority"),
        share("System", "system"),
        share("Idle", "idle"),
        share("WaitingForDevice", "idle, waiting for a device"),
        share("Interrupt", "interrupts"),
        share("SoftInterrupt", "soft interrupts"),
        share("Stolen", "taken by the hypervisor"),
    ],
    programs: &[],
    totals: &[],
    from_proc: read,
    proc_lacks: "",
    drive: Drive::None,
};

/// Nanoseconds in a tick: /proc gives hundredths of a second on all architectures.
const NS_PER_TICK: u64 = 10_000_000;

const fn share(name: &'static str, label: &'static str) -> Point {
    Point { name, label, timing: Timing::Spent, is_sized: false }
}

fn read(proc: &FromProc) -> Result<Reading, Error> {
    let mut reading = Reading::default();
    for line in proc.text("stat")?.lines() {
        let Some((name, times)) = line.split_once(' ') else { continue };
        let Some(processor) = name.strip_prefix("cpu").and_then(|number| number.parse::<usize>().ok()) else { continue };
        for (point, ticks) in times.split_whitespace().take(SUBSYSTEM.points.len()).enumerate() {
            let time_ns = ticks.parse().ok().map(|ticks: u64| ticks.saturating_mul(NS_PER_TICK));
            reading.cells.insert((point, processor), Counters { time_ns, ..Counters::default() });
        }
    }
    Ok(reading)
}
