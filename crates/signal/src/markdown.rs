//! The table of signals as a page for people.

use std::fmt::{self, Write};

use crate::{FAMILIES, Family};

const HEAD: &str = "\
# Signals

Everything that can be measured. Generated from the table in `crates/signal/src/families.rs`; a test compares the two.

A name in braces stands for each core, interface, disk, device or place where a file system is mounted, and `{watched}` for each entry of `foretop up --watch`. *Kind* is `gauge`
for a value that is read as it is, and `rate` for the change of a counter over the time between two readings. A rate has no value at the first reading, after a reset of
the counter, or after a device was absent. The range of `memory.available` ends at the memory that the host has.

The file systems are those that the host's first process has mounted, under the names that it has for them, if their own options allow writing; that one is mounted
read-only somewhere changes nothing. One that the node has no path to is left out: `ProtectHome=yes` of systemd, or a folder that its user may not enter. In a
container, `--root /host` reads the mounts of the host that is at `/host`.

`cgroup.*` is about the control group of the node itself: its container, or its service. Limits of the groups above it count, as far as it can see them. A group's memory
is its usage less what the kernel reclaims before it kills: active and inactive pages of files, and reclaimable slabs, as in `MemAvailable` of a host (version 1: pages of
files only). `cgroup.memory.available` is the smallest rest up to the limit (`memory.max`, not `memory.high`) over the group and those above it, and like
`cgroup.memory.limit` it is absent if no limit is below the memory of the host. `cgroup.memory.pressure` is that of version 2 only.

Signals of hardware exist if the host has the hardware and the node may read it; they are not listed among absent signals. Devices that come later are found within a
minute, except for GPUs and the counters of processors, which are looked for at the start. `{sensor}` is the chip's name and the sensor's label, or its number if it has no label:
`temperature.coretemp Package id 0`. If several chips have one name, the device of each follows it, such as the place on the bus of an NVMe disk. Thermal zones are read
if no chip has a temperature. At most 64 sensors of each kind are read, the first ones of each chip first. Chips `drivetemp` are left out because asking them keeps some
disks from spinning down. A device that is suspended is not asked; in some versions of the kernel, being asked keeps a GPU from being suspended. `rapl.*` needs the right
to read `energy_uj`, which only root has since kernel 5.10.

`clock.*` is what the kernel has from its NTP daemon, as adjtimex(2) returns it, and is read with `--root /` only. `clock.offset` is 0 if the daemon corrects
the clock by its frequency alone, as chrony does. `conntrack.*` is about the network that the node is in.

In a name, bytes that are not text, control characters and the backslash are written as `\\xNN`.

| signal | unit | kind | range | metric | what it says |
|---|---|---|---|---|---|
";

/// The text of `docs/signals.md`: a row for each family, in Markdown.
#[must_use]
pub fn signals_markdown() -> String {
    let mut page = HEAD.to_owned();
    for family in FAMILIES {
        // Writing to a `String` cannot fail.
        let _ = writeln!(page, "{}", Row(family));
    }
    page
}

struct Row(&'static Family);

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row(family) = self;
        write!(f, "| `{}`", family.pattern)?;
        if let Some(alias) = family.alias {
            write!(f, ", short `{alias}`")?;
        }
        write!(f, " | {} | {} | ", family.unit.as_str(), family.kind.as_str())?;
        match (family.range.min, family.range.max) {
            (Some(min), Some(max)) => write!(f, "{min} to {max}")?,
            (Some(min), None) if family.is_up_to_label() => {
                write!(f, "{min} to {{{}}}", family.label_name().unwrap_or_default())?
            }
            (Some(min), None) => write!(f, "{min} or more")?,
            (None, Some(max)) => write!(f, "{max} or less")?,
            (None, None) => write!(f, "any")?,
        }
        write!(f, " | `{}", family.metric_name())?;
        if let Some(label) = family.label_name() {
            write!(f, "{{{label}}}")?;
        }
        write!(f, "` | {} |", family.sentence)
    }
}
