//! The table of signal families: what can be measured, in which unit, within which range.
//!
//! Longer than most files because it is the table. Metrics, the HTTP interface and `docs/signals.md` are made from
//! it, and the sensors take their rows from it at compile time, so no name is written that is not in here. What others
//! name, such as an exporter, has families that are made while the program runs and are not in the table.

use std::borrow::Cow;

use crate::{Family, Kind, Range, Unit};

/// The row of the table that a signal called `id` belongs to, and what stands for its label if it has one.
///
/// For ids that come from elsewhere, such as another host. A row without a label goes before one with.
#[must_use]
pub fn family_of_signal(id: &str) -> Option<(&'static Family, Option<&str>)> {
    let only = FAMILIES.iter().find(|family| family.pattern == id).map(|family| (family, None));
    only.or_else(|| FAMILIES.iter().find_map(|family| Some((family, Some(family.label_in(id)?)))))
}

/// The row of `pattern`. Called in constants only, so a name that is not in the table does not compile.
#[must_use]
pub const fn row(pattern: &str) -> &'static Family {
    let mut idx = 0;
    while idx < FAMILIES.len() {
        if let Cow::Borrowed(name) = &FAMILIES[idx].pattern
            && is_same(name.as_bytes(), pattern.as_bytes())
        {
            return &FAMILIES[idx];
        }
        idx += 1;
    }
    panic!("no family has this pattern")
}

/// `==` for bytes, which is not to be had in constants.
const fn is_same(left: &[u8], right: &[u8]) -> bool {
    let mut idx = 0;
    while idx < left.len() && idx < right.len() && left[idx] == right[idx] {
        idx += 1;
    }
    idx == left.len() && idx == right.len()
}

const fn gauge(pattern: &'static str, unit: Unit, sentence: &'static str) -> Family {
    listed(pattern, unit, Kind::Gauge, sentence, None)
}

/// A gauge whose values may be below zero.
const fn signed_gauge(pattern: &'static str, unit: Unit, sentence: &'static str) -> Family {
    let mut family = gauge(pattern, unit, sentence);
    family.range = Range::ANY;
    family
}

const fn rate(pattern: &'static str, unit: Unit, sentence: &'static str) -> Family {
    listed(pattern, unit, Kind::Rate, sentence, None)
}

const fn listed(
    pattern: &'static str,
    unit: Unit,
    kind: Kind,
    sentence: &'static str,
    alias: Option<&'static str>,
) -> Family {
    let range = range_of(&unit);
    Family { pattern: Cow::Borrowed(pattern), unit, kind, sentence: Cow::Borrowed(sentence), range, alias }
}

const fn range_of(unit: &Unit) -> Range {
    match unit {
        Unit::Ratio => Range::SHARE,
        Unit::Celsius => Range::ANY,
        _ => Range::NOT_NEGATIVE,
    }
}

/// Everything that can be measured, in the order in which it is shown.
pub static FAMILIES: &[Family] = &[
    gauge(
        "cpu.availability",
        Unit::Ratio,
        "Share of one core that a new process of full priority would get, from the scheduler's rules and recent load.",
    ),
    gauge(
        "cpu.availability.{threads}",
        Unit::Cores,
        "Cores that a new process with this many busy threads would get, all of them together.",
    ),
    gauge(
        "cpu.availability.vmstat",
        Unit::Ratio,
        "Share of one core that a new process would get: idle time plus its fair part of user and system time.",
    ),
    listed(
        "cpu.availability.loadavg",
        Unit::Ratio,
        Kind::Gauge,
        "Share of one core that a new process would get, judged by the 1-minute load average alone.",
        Some("cpu.availability.load"),
    ),
    gauge(
        "cpu.availability.hybrid",
        Unit::Ratio,
        "Share of one core that a new process would get, from the formula closer to the last probe, corrected by it.",
    ),
    gauge(
        "cpu.availability.hybrid.cost",
        Unit::Ratio,
        "Share of one core that the hybrid sensor's last probe used, over the time between probes.",
    ),
    gauge("load.1m", Unit::Tasks, "Tasks running, or waiting for a core or a disk, averaged over about 1 minute."),
    gauge("load.5m", Unit::Tasks, "Tasks running, or waiting for a core or a disk, averaged over about 5 minutes."),
    gauge("load.15m", Unit::Tasks, "Tasks running, or waiting for a core or a disk, averaged over about 15 minutes."),
    gauge(
        "tasks.runnable",
        Unit::Tasks,
        "Tasks running or waiting for a core at this moment, not counting the reader.",
    ),
    gauge("tasks.blocked", Unit::Tasks, "Tasks waiting for a disk at this moment."),
    gauge(
        "tasks.used",
        Unit::Ratio,
        "Share that is taken of the processes and threads that the kernel allows, by number or by memory.",
    ),
    gauge("files.open", Unit::Count, "Files that are open in all processes."),
    gauge(
        "files.used",
        Unit::Ratio,
        "Share that is taken of the files that all processes may have open; absent if there is no limit.",
    ),
    gauge("conntrack.entries", Unit::Count, "Connections that the kernel's firewall tracks."),
    gauge(
        "conntrack.used",
        Unit::Ratio,
        "Share that is taken of the table of tracked connections; new ones are dropped if it is full.",
    ),
    rate("cpu.busy", Unit::Ratio, "Share of all cores' time that was neither idle nor waiting for a disk."),
    rate("cpu.user", Unit::Ratio, "Share of all cores' time in programs of normal priority, guests included."),
    rate("cpu.nice", Unit::Ratio, "Share of all cores' time in programs of lowered priority, guests included."),
    rate("cpu.system", Unit::Ratio, "Share of all cores' time in the kernel on behalf of programs."),
    rate("cpu.idle", Unit::Ratio, "Share of all cores' time with nothing to do."),
    rate("cpu.iowait", Unit::Ratio, "Share of all cores' time with nothing to do while a task waited for a disk."),
    rate("cpu.irq", Unit::Ratio, "Share of all cores' time in hardware interrupts."),
    rate("cpu.softirq", Unit::Ratio, "Share of all cores' time in the kernel's deferred interrupt work."),
    rate("cpu.steal", Unit::Ratio, "Share of all cores' time that the hypervisor gave to others."),
    rate("cpu.guest", Unit::Ratio, "Share of all cores' time in virtual machines of this host; part of `cpu.user`."),
    rate(
        "cpu.guest_nice",
        Unit::Ratio,
        "Share of all cores' time in virtual machines of lowered priority; part of `cpu.nice`.",
    ),
    rate("cpu.{core}.busy", Unit::Ratio, "Share of this core's time that was neither idle nor waiting for a disk."),
    rate("cpu.{core}.user", Unit::Ratio, "Share of this core's time in programs of normal priority, guests included."),
    rate("cpu.{core}.nice", Unit::Ratio, "Share of this core's time in programs of lowered priority, guests included."),
    rate("cpu.{core}.system", Unit::Ratio, "Share of this core's time in the kernel on behalf of programs."),
    rate("cpu.{core}.idle", Unit::Ratio, "Share of this core's time with nothing to do."),
    rate(
        "cpu.{core}.iowait",
        Unit::Ratio,
        "Share of this core's time with nothing to do while a task waited for a disk.",
    ),
    rate("cpu.{core}.irq", Unit::Ratio, "Share of this core's time in hardware interrupts."),
    rate("cpu.{core}.softirq", Unit::Ratio, "Share of this core's time in the kernel's deferred interrupt work."),
    rate("cpu.{core}.steal", Unit::Ratio, "Share of this core's time that the hypervisor gave to others."),
    rate(
        "cpu.{core}.guest",
        Unit::Ratio,
        "Share of this core's time in virtual machines of this host; part of `cpu.{core}.user`.",
    ),
    rate(
        "cpu.{core}.guest_nice",
        Unit::Ratio,
        "Share of this core's time in virtual machines of lowered priority; part of `cpu.{core}.nice`.",
    ),
    rate(
        "cpu.core_throttles",
        Unit::OperationsPerSecond,
        "Times per second that a core was slowed down because it was too hot, over all cores.",
    ),
    rate(
        "cpu.package_throttles",
        Unit::OperationsPerSecond,
        "Times per second that a processor was slowed down because it was too hot, over all processors.",
    ),
    rate("pressure.cpu.some", Unit::Ratio, "Share of time in which some task was ready to run but had no core."),
    rate("pressure.cpu.full", Unit::Ratio, "Share of time in which no task got a core; the kernel keeps it at 0."),
    rate("pressure.memory.some", Unit::Ratio, "Share of time in which some task waited for memory."),
    rate("pressure.memory.full", Unit::Ratio, "Share of time in which every task with work to do waited for memory."),
    rate("pressure.io.some", Unit::Ratio, "Share of time in which some task waited for input or output."),
    rate(
        "pressure.io.full",
        Unit::Ratio,
        "Share of time in which every task with work to do waited for input or output.",
    ),
    rate("pressure.irq.full", Unit::Ratio, "Share of time in which interrupts kept every task from running."),
    gauge("memory.available", Unit::Bytes, "Memory that programs can take without swapping, caches included."),
    gauge("swap.used", Unit::Bytes, "Swap space in use."),
    gauge("swap.free", Unit::Bytes, "Swap space not in use."),
    rate("swap.in", Unit::BytesPerSecond, "Bytes per second read back from swap."),
    rate("swap.out", Unit::BytesPerSecond, "Bytes per second written to swap."),
    rate("net.{interface}.received", Unit::BytesPerSecond, "Bytes received per second on an interface."),
    rate("net.{interface}.sent", Unit::BytesPerSecond, "Bytes sent per second on an interface."),
    rate("net.{interface}.received_packets", Unit::PacketsPerSecond, "Packets received per second on an interface."),
    rate("net.{interface}.sent_packets", Unit::PacketsPerSecond, "Packets sent per second on an interface."),
    gauge(
        "kernel.cost",
        Unit::Cores,
        "What the probes of the kernel agent take of a core, by their calibrated prices.",
    ),
    rate("kernel.{point}.rate", Unit::OperationsPerSecond, "Events per second at a point in the kernel."),
    gauge("kernel.{point}.time", Unit::Seconds, "Mean time that an operation took at a point in the kernel."),
    gauge(
        "kernel.{point}.active",
        Unit::Tasks,
        "Tasks that were in an operation of a point in the kernel, on average.",
    ),
    rate(
        "kernel.{point}.bytes",
        Unit::BytesPerSecond,
        "Bytes per second that operations at a point in the kernel moved.",
    ),
    gauge(
        "flow.{peer}",
        Unit::BytesPerSecond,
        "Bytes per second that a new flow to this peer would get, from a test transfer or from what its links have left.",
    ),
    gauge(
        "flow.{peer}.received",
        Unit::BytesPerSecond,
        "Bytes per second that a new flow from this peer to this host would get.",
    ),
    gauge(
        "flow.{peer}.transfer",
        Unit::BytesPerSecond,
        "Bytes per second of the whole test transfer to this peer, slow start included: the rate of a transfer this short.",
    ),
    gauge(
        "flow.{peer}.delivery",
        Unit::BytesPerSecond,
        "Bytes per second that the kernel saw delivered in the last round trip of the test transfer to this peer.",
    ),
    gauge("flow.{peer}.round_trip", Unit::Seconds, "Shortest round trip to this peer during the test transfer."),
    gauge(
        "flow.{peer}.retransmits",
        Unit::Ratio,
        "Share of the segments of the test transfer to this peer that were retransmitted.",
    ),
    rate(
        "link.{name}.received",
        Unit::BytesPerSecond,
        "Bytes received per second on a link, as its agent counts them.",
    ),
    rate("link.{name}.sent", Unit::BytesPerSecond, "Bytes sent per second on a link, as its agent counts them."),
    gauge(
        "link.{name}.capacity",
        Unit::BytesPerSecond,
        "Bytes per second that a link can carry each way; 0 while it is down.",
    ),
    rate("disk.{device}.read", Unit::BytesPerSecond, "Bytes read per second from a disk."),
    rate("disk.{device}.written", Unit::BytesPerSecond, "Bytes written per second to a disk."),
    rate("disk.{device}.reads", Unit::OperationsPerSecond, "Reads completed per second by a disk."),
    rate("disk.{device}.writes", Unit::OperationsPerSecond, "Writes completed per second by a disk."),
    rate("disk.{device}.busy", Unit::Ratio, "Share of time in which a disk had something to do."),
    gauge(
        "filesystem.{mountpoint}.available",
        Unit::Bytes,
        "Bytes that users other than root can still write to a file system.",
    ),
    gauge(
        "filesystem.{mountpoint}.used",
        Unit::Ratio,
        "Share that is taken of what users other than root can write to a file system, as `df` has it.",
    ),
    gauge("filesystem.{mountpoint}.inodes_used", Unit::Ratio, "Share of a file system's inodes that are taken."),
    gauge("md.{array}.degraded", Unit::Count, "Disks that a software RAID (md) lacks: 0 if it is whole."),
    gauge("zfs.arc.size", Unit::Bytes, "Memory that the cache of ZFS (ARC) takes."),
    gauge("zfs.arc.limit", Unit::Bytes, "Most memory that the cache of ZFS (ARC) may take."),
    rate("zfs.arc.hits", Unit::Ratio, "Share of the reads from ZFS that its cache (ARC) answered."),
    gauge(
        "temperature.{sensor}",
        Unit::Celsius,
        "Temperature that a sensor of the hardware shows, named after its chip and its place.",
    ),
    gauge("fan.{sensor}", Unit::RevolutionsPerMinute, "Speed of a fan."),
    gauge("power.{sensor}", Unit::Watts, "Power that a sensor of the hardware shows."),
    rate(
        "rapl.{zone}.power",
        Unit::Watts,
        "Power of a processor, of a part of it, of memory or of the platform, as the processor counts energy (RAPL).",
    ),
    gauge("gpu.{gpu}.busy", Unit::Ratio, "Share of time in which a GPU by AMD computed, as its driver has it."),
    rate(
        "gpu.{gpu}.awake",
        Unit::Ratio,
        "Share of time in which a GPU by Intel was not in its idle state: no less than it was busy.",
    ),
    gauge("gpu.{gpu}.memory.used", Unit::Bytes, "Memory of a GPU by AMD that is taken."),
    gauge("gpu.{gpu}.memory.available", Unit::Bytes, "Memory of a GPU by AMD that is not taken."),
    gauge("battery.{battery}.charge", Unit::Ratio, "Charge of a battery, as a share of what it can hold."),
    gauge(
        "battery.{battery}.power",
        Unit::Watts,
        "Power that a battery gives or takes, whichever it does at this moment.",
    ),
    gauge(
        "clock.synchronized",
        Unit::Ratio,
        "Whether the kernel has the wall clock synchronized, as by an NTP daemon: 1 if so, else 0.",
    ),
    signed_gauge(
        "clock.offset",
        Unit::Seconds,
        "Offset that the kernel is still to correct, as its NTP daemon measured it; positive if the wall clock is behind.",
    ),
    gauge(
        "clock.max_error",
        Unit::Seconds,
        "Bound on the error of the wall clock, which grows until the NTP daemon sets it again.",
    ),
    rate("cgroup.cpu.used", Unit::Cores, "Cores that the container uses."),
    gauge(
        "cgroup.cpu.limit",
        Unit::Cores,
        "Most cores that the container may use, by its own limit or that of a control group above it.",
    ),
    rate(
        "cgroup.cpu.throttled",
        Unit::Ratio,
        "Share of the scheduler's periods in which the container or a control group above it used up its limit and had to wait.",
    ),
    gauge(
        "cgroup.memory.used",
        Unit::Bytes,
        "Memory that the container uses, without file pages and slabs that the kernel can reclaim.",
    ),
    gauge(
        "cgroup.memory.limit",
        Unit::Bytes,
        "Most memory that the container may use, if that is less than the host has.",
    ),
    gauge(
        "cgroup.memory.available",
        Unit::Bytes,
        "Memory that the container can take before it reaches its limit or that of a control group above it.",
    ),
    rate("cgroup.memory.pressure", Unit::Ratio, "Share of time in which some task of the container waited for memory."),
    rate(
        "cgroup.memory.kills",
        Unit::OperationsPerSecond,
        "Processes of the container killed per second because memory ran out.",
    ),
    rate("process.{watched}.cpu", Unit::Cores, "Cores that a watched program, unit or container uses."),
    gauge(
        "process.{watched}.memory",
        Unit::Bytes,
        "Resident memory of a watched program, unit or container; pages that processes share count for each of them.",
    ),
    rate(
        "process.{watched}.read",
        Unit::BytesPerSecond,
        "Bytes per second that a watched program, unit or container reads from disks.",
    ),
    rate(
        "process.{watched}.written",
        Unit::BytesPerSecond,
        "Bytes per second that a watched program, unit or container writes to disks.",
    ),
    gauge(
        "process.{watched}.processes",
        Unit::Tasks,
        "Processes of a watched program, unit or container, without those that have ended and wait for their parent.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check_metric(pattern: &str, name: &str, label: Option<&str>) {
        let family = FAMILIES.iter().find(|family| family.pattern == pattern).expect("the pattern is in the table");
        assert_eq!((family.metric_name().as_str(), family.label_name()), (name, label));
    }

    #[test]
    fn a_metric_is_named_after_the_pattern_and_the_unit() {
        check_metric("net.{interface}.received", "foretop_net_received_bytes_per_second", Some("interface"));
        check_metric("load.1m", "foretop_load_1m_tasks", None);
        check_metric("cpu.availability.vmstat", "foretop_cpu_availability_vmstat_ratio", None);
    }

    #[test]
    fn a_core_s_metric_is_not_that_of_all_cores() {
        check_metric("cpu.busy", "foretop_cpu_busy_ratio", None);
        check_metric("cpu.{core}.busy", "foretop_cpu_core_busy_ratio", Some("core"));
    }

    #[track_caller]
    fn check_row(id: &str, expected: Option<(&str, Option<&str>)>) {
        let found = family_of_signal(id);
        assert_eq!(found.as_ref().map(|(family, label)| (&*family.pattern, *label)), expected);
    }

    #[test]
    fn an_id_from_elsewhere_finds_its_row() {
        check_row("cpu.busy", Some(("cpu.busy", None)));
        check_row("cpu.12.busy", Some(("cpu.{core}.busy", Some("12"))));
        check_row("cpu.availability.vmstat", Some(("cpu.availability.vmstat", None)));
        check_row("net.eth0.100.sent", Some(("net.{interface}.sent", Some("eth0.100"))));
        check_row("net..sent", None);
        check_row("gpu_busy", None);
    }

    #[test]
    fn a_metric_does_not_say_its_unit_twice() {
        check_metric("net.{interface}.sent_packets", "foretop_net_sent_packets_per_second", Some("interface"));
        check_metric("tasks.runnable", "foretop_tasks_runnable", None);
    }

    #[test]
    fn every_metric_has_its_own_name_in_prometheus_letters() {
        let names: BTreeSet<String> = FAMILIES.iter().map(Family::metric_name).collect();
        assert_eq!(names.len(), FAMILIES.len());
        for name in names {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
        }
    }

    #[test]
    fn no_id_and_no_alias_is_taken_twice() {
        let ids: Vec<&str> =
            FAMILIES.iter().flat_map(|family| [Some(&*family.pattern), family.alias]).flatten().collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    }

    #[test]
    fn every_row_says_a_sentence() {
        for family in FAMILIES {
            let is_sentence = family.sentence.starts_with(char::is_uppercase) && family.sentence.ends_with('.');
            assert!(is_sentence, "{}: {}", family.pattern, family.sentence);
        }
    }
}
