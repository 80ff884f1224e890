//! Whatever the files say, a reading is finite and in its range, and nothing panics.

use proptest::{collection::vec, prelude::*, sample::select};
use sensor::Host;
use signal::Readings;

use crate::scene::{Written, read};

/// A file, with the beginnings of its lines.
type File = (&'static str, &'static [&'static str]);

/// Every file that is read on most hosts.
const FILES: [File; 24] = [
    ("proc/stat", &["cpu ", "cpu0", "cpu1", "procs_running", "procs_blocked"]),
    ("proc/loadavg", &["0.5 0.25 7.00 1/2"]),
    ("proc/meminfo", &["MemAvailable:", "SwapTotal:", "SwapFree:"]),
    ("proc/vmstat", &["pswpin", "pswpout"]),
    ("proc/net/dev", &["eth0:", "l\u{2003}o:", "\u{1b}[2J:"]),
    ("proc/diskstats", &["254 0 vda", "7 0 loop0", "1 0 .."]),
    ("proc/pressure/cpu", &["some", "full", "some total=5"]),
    ("proc/pressure/memory", &["some", "full"]),
    ("proc/pressure/io", &["some", "full"]),
    ("proc/pressure/irq", &["full"]),
    ("proc/self/cgroup", &["0::/"]),
    ("sys/fs/cgroup/cpu.max", &["max", ""]),
    ("sys/fs/cgroup/cpu.stat", &["usage_usec", "nr_periods", "nr_throttled"]),
    ("sys/block/vda/size", &[""]),
    ("proc/schedstat", &["cpu0", "cpu1"]),
    ("proc/uptime", &["120.50", ""]),
    ("proc/7/stat", &["7 (a) R 1 7 7 0 -1 0 0 0 0 0", "7 (b) c) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 20 -5 1 0 90 0"]),
    ("proc/7/task/7/schedstat", &["", "500000000"]),
    ("proc/7/autogroup", &["/autogroup-9 nice", "/autogroup-9 nice 5"]),
    ("proc/7/cgroup", &["0::/a", "0::/../b", "1:cpu:/a"]),
    ("proc/sys/kernel/sched_autogroup_enabled", &["1"]),
    ("sys/fs/cgroup/cpu.weight", &[""]),
    ("sys/fs/cgroup/cpu.idle", &[""]),
    (
        "proc/self/mountinfo",
        &["27 1 254:0 / / rw - ext4 a rw", "28 27 0:9 / /p\\012q rw - tmpfs", "29 27 8:1 / /../.. rw -"],
    ),
];

/// The files of hardware and of parts of the kernel that few hosts have, with a host to be opened.
const HARDWARE: [File; 23] = [
    ("proc/loadavg", &["0.5 0.25 7.00 1/2"]),
    ("proc/sys/fs/file-nr", &[""]),
    ("proc/sys/kernel/pid_max", &[""]),
    ("proc/sys/net/netfilter/nf_conntrack_count", &[""]),
    ("proc/sys/net/netfilter/nf_conntrack_max", &[""]),
    ("proc/spl/kstat/zfs/arcstats", &["hits 4", "misses 4", "size 4", "c_max 4"]),
    ("sys/block/md0/md/degraded", &[""]),
    ("sys/class/hwmon/hwmon0/name", &["a", ""]),
    ("sys/class/hwmon/hwmon0/temp1_input", &["", "-5"]),
    ("sys/class/hwmon/hwmon0/temp1_label", &["a b", "\u{1b}[2J"]),
    ("sys/class/hwmon/hwmon0/temp2_input", &[""]),
    ("sys/class/hwmon/hwmon0/temp2_label", &["a b"]),
    ("sys/class/hwmon/hwmon1/name", &["a", "a a"]),
    ("sys/class/hwmon/hwmon1/temp1_input", &[""]),
    ("sys/class/thermal/thermal_zone0/type", &["a", "a 1"]),
    ("sys/class/thermal/thermal_zone0/temp", &[""]),
    ("sys/class/powercap/intel-rapl:0/name", &["a"]),
    ("sys/class/powercap/intel-rapl:0/energy_uj", &[""]),
    ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", &[""]),
    ("sys/class/power_supply/BAT0/type", &["Battery"]),
    ("sys/class/power_supply/BAT0/capacity", &[""]),
    ("sys/class/power_supply/BAT0/current_now", &["", "-9223372036854775808"]),
    ("sys/class/power_supply/BAT0/voltage_now", &[""]),
];

/// Numbers as the kernel writes them, the greatest among them.
const COUNTS: &[&str] = &["0", "1", "7", "100", "4294967296", "18446744073709551615"];

/// What may stand where a number should.
const ODDITIES: &[&str] = &[
    "0.5",
    "-1",
    "+3",
    "NaN",
    "inf",
    "-inf",
    "1e308",
    "18446744073709551616",
    "total=18446744073709551615",
    "kB",
    "\u{fffd}",
];

/// A line with such a beginning, nothing wrong in its counts.
fn right(beginning: &'static str) -> impl Strategy<Value = String> {
    let total = prop_oneof![Just(""), Just(" total=9"), Just(" total=18446744073709551615")];
    (vec(select(COUNTS), 16..18), total)
        .prop_map(move |(counts, total)| format!("{beginning} {}{total}\n", counts.join(" ")))
}

/// A line with one of these beginnings, too short or with something else in it than numbers.
fn wrong(beginnings: &'static [&'static str]) -> impl Strategy<Value = String> {
    let counts = vec(prop_oneof![select(COUNTS), select(ODDITIES)], 0..18);
    (select(beginnings), counts).prop_map(|(beginning, counts)| format!("{beginning} {}\n", counts.join(" ")))
}

/// Texts of a file: noise, some of its lines in any order and wrong, each of them once, one number, or nothing.
fn text(beginnings: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let each_once: Vec<_> = beginnings.iter().map(|beginning| right(beginning)).collect();
    prop_oneof![
        1 => vec(any::<u8>(), 0..200),
        2 => vec(wrong(beginnings), 0..8).prop_map(|lines| lines.concat().into_bytes()),
        4 => each_once.prop_map(|lines| lines.concat().into_bytes()),
        4 => (select(beginnings), prop_oneof![Just(""), select(COUNTS)])
            .prop_map(|(beginning, count)| format!("{beginning} {count}\n").into_bytes()),
    ]
}

/// Some ticks of a host with these files.
fn ticks<const N: usize>(files: [File; N]) -> impl Strategy<Value = Vec<[Vec<u8>; N]>> {
    vec(files.map(|(_, beginnings)| text(beginnings)), 1..4)
}

fn read_all<const N: usize>(files: &[File; N], ticks: &[[Vec<u8>; N]], apart_s: u64) {
    let written = Written::new(&[]);
    let mut host = None;
    let mut readings = Readings::default();
    for (at, texts) in (0..).zip(ticks) {
        for ((file, _), text) in files.iter().zip(texts) {
            written.write(file, text);
        }
        let host = host.get_or_insert_with(|| Host::open(written.root()).unwrap());
        read(host, &mut readings, at * apart_s);
    }
}

proptest! {
    #[test]
    fn random_files_never_panic_and_never_give_a_value_out_of_range(ticks in ticks(FILES), apart_s in 0_u64..3) {
        read_all(&FILES, &ticks, apart_s);
    }
}

proptest! {
    // Fewer, because making so many files takes most of the time.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_files_of_hardware_never_panic_either(ticks in ticks(HARDWARE), apart_s in 0_u64..90) {
        read_all(&HARDWARE, &ticks, apart_s);
    }
}
