//! Sensors of hardware that few machines have all of: trees after the kernel's documents, and values by hand.

use sensor::Host;
use signal::Readings;

use crate::scene::{Recorded, Values, Written, check_all, read};

const LOAD: (&str, &[u8]) = ("proc/loadavg", b"0.5 0.5 0.5 1/200 300\n");

/// Reads a host of these files once.
#[track_caller]
fn read_once(files: &[(&str, &[u8])]) -> Values {
    let host = Written::new(files);
    host.write(LOAD.0, LOAD.1);
    let mut sensors = Host::open(host.root()).unwrap();
    let values = read(&mut sensors, &mut Readings::default(), 0);
    assert_eq!(sensors.n_errors(), 0, "{:?}", sensors.last_error());
    values
}

#[test]
fn a_sensor_is_named_after_chip_and_label_and_two_chips_by_their_devices() {
    let mut laptop = Recorded::open("laptop");
    let first = laptop.read(0, 0);
    let expected = [
        ("temperature.acpitz 1", 43.0),
        ("temperature.coretemp Package id 0", 52.0),
        ("temperature.coretemp Core 0", 51.0),
        ("temperature.coretemp Core 4", 49.123),
        ("temperature.nvme 0000:01:00.0 Composite", 35.85),
        ("temperature.nvme 0000:02:00.0 Composite", 41.85),
        ("temperature.thinkpad CPU", 52.0),
    ];
    check_all(&first, "temperature.", &expected);
    check_all(&first, "fan.", &[("fan.thinkpad 1", 2412.0), ("fan.thinkpad 2", 0.0)]);
    // Below zero is a temperature.
    assert_eq!(laptop.read(1, 1)["temperature.acpitz 1"], -5.0);
    assert_eq!(laptop.host.n_errors(), 0, "{:?}", laptop.host.last_error());
}

#[test]
fn labels_that_a_chip_has_twice_get_their_numbers() {
    let values = read_once(&[
        ("sys/class/hwmon/hwmon0/name", b"board\n"),
        ("sys/class/hwmon/hwmon0/temp1_input", b"1000\n"),
        ("sys/class/hwmon/hwmon0/temp1_label", b"VRM\n"),
        ("sys/class/hwmon/hwmon0/temp2_input", b"2000\n"),
        ("sys/class/hwmon/hwmon0/temp2_label", b"VRM\n"),
        ("sys/class/hwmon/hwmon0/power1_average", b"65000000\n"),
        ("sys/class/hwmon/hwmon0/power2_average", b"1\n"),
        ("sys/class/hwmon/hwmon0/power2_input", b"2500000\n"),
    ]);
    check_all(&values, "temperature.", &[("temperature.board VRM 1", 1.0), ("temperature.board VRM 2", 2.0)]);
    check_all(&values, "power.", &[("power.board 1", 65.0), ("power.board 2", 2.5)]);
}

#[test]
fn a_sensor_without_a_number_has_no_value_and_is_no_error() {
    let values = read_once(&[
        ("sys/class/hwmon/hwmon0/name", b"a\n"),
        ("sys/class/hwmon/hwmon0/temp1_input", b"\n"),
        ("sys/class/hwmon/hwmon0/temp2_input", b"45.5\n"),
        ("sys/class/hwmon/hwmon0/temp3_input", b"99999999999999999999\n"),
        ("sys/class/hwmon/hwmon0/temp4_input", b"40000\n"),
        ("sys/class/hwmon/hwmon0/temp_input", b"1\n"),
        ("sys/class/hwmon/hwmon1/temp1_input", b"1\n"),
    ]);
    check_all(&values, "temperature.", &[("temperature.a 4", 40.0)]);
}

#[test]
fn a_device_that_sleeps_is_not_woken_and_a_disk_not_asked() {
    let status = "sys/class/hwmon/hwmon0/device/power/runtime_status";
    let files: [(&str, &[u8]); 6] = [
        LOAD,
        ("sys/class/hwmon/hwmon0/name", b"amdgpu\n"),
        ("sys/class/hwmon/hwmon0/temp1_input", b"40000\n"),
        (status, b"suspended\n"),
        ("sys/class/hwmon/hwmon1/name", b"drivetemp\n"),
        ("sys/class/hwmon/hwmon1/temp1_input", b"30000\n"),
    ];
    let host = Written::new(&files);
    let mut sensors = Host::open(host.root()).unwrap();
    let mut readings = Readings::default();
    check_all(&read(&mut sensors, &mut readings, 0), "temperature.", &[]);
    host.write(status, b"active\n");
    check_all(&read(&mut sensors, &mut readings, 1), "temperature.", &[("temperature.amdgpu 1", 40.0)]);
}

#[test]
fn chips_that_come_later_are_found_within_a_minute() {
    let host = Written::new(&[LOAD, ("sys/class/hwmon/hwmon0/name", b"a\n")]);
    let mut sensors = Host::open(host.root()).unwrap();
    let mut readings = Readings::default();
    read(&mut sensors, &mut readings, 0);
    host.write("sys/class/hwmon/hwmon1/name", b"b\n");
    host.write("sys/class/hwmon/hwmon1/temp1_input", b"40000\n");
    check_all(&read(&mut sensors, &mut readings, 59), "temperature.", &[]);
    check_all(&read(&mut sensors, &mut readings, 60), "temperature.", &[("temperature.b 1", 40.0)]);
}

#[test]
fn every_chip_has_its_first_sensors_among_the_64() {
    let host = Written::new(&[LOAD, ("sys/class/hwmon/hwmon0/name", b"big\n")]);
    for number in 1..=100 {
        host.write(&format!("sys/class/hwmon/hwmon0/temp{number}_input"), b"40000\n");
    }
    host.write("sys/class/hwmon/hwmon1/name", b"small\n");
    host.write("sys/class/hwmon/hwmon1/temp1_input", b"30000\n");
    let values = read(&mut Host::open(host.root()).unwrap(), &mut Readings::default(), 0);
    assert_eq!(values.keys().filter(|id| id.starts_with("temperature.")).count(), 64);
    assert!(values.contains_key("temperature.small 1") && values.contains_key("temperature.big 63"));
    assert!(!values.contains_key("temperature.big 64"));
}

#[test]
fn zones_are_read_if_no_chip_has_a_temperature() {
    let zones: [(&str, &[u8]); 6] = [
        ("sys/class/thermal/thermal_zone0/type", b"cpu-thermal\n"),
        ("sys/class/thermal/thermal_zone0/temp", b"45277\n"),
        ("sys/class/thermal/thermal_zone1/type", b"soc\n"),
        ("sys/class/thermal/thermal_zone1/temp", b"44000\n"),
        ("sys/class/thermal/thermal_zone2/type", b"soc\n"),
        ("sys/class/thermal/thermal_zone2/temp", b"46000\n"),
    ];
    let expected = [("temperature.cpu-thermal", 45.277), ("temperature.soc 1", 44.0), ("temperature.soc 2", 46.0)];
    check_all(&read_once(&zones), "temperature.", &expected);
}

#[test]
fn tables_of_the_kernel_have_their_entries_and_shares() {
    let values = read_once(&[
        ("proc/sys/kernel/pid_max", b"4194304\n"),
        ("proc/sys/kernel/threads-max", b"1000\n"),
        ("proc/sys/fs/file-nr", b"1024\t0\t4096\n"),
        ("proc/sys/net/netfilter/nf_conntrack_count", b"65536\n"),
        ("proc/sys/net/netfilter/nf_conntrack_max", b"262144\n"),
    ]);
    // 200 tasks of 1,000 that the memory is enough for, although there are more ids.
    check_all(&values, "tasks.", &[("tasks.used", 0.2)]);
    check_all(&values, "files.", &[("files.open", 1024.0), ("files.used", 0.25)]);
    check_all(&values, "conntrack.", &[("conntrack.entries", 65536.0), ("conntrack.used", 0.25)]);
}

#[test]
fn a_table_without_a_limit_has_no_share_and_one_that_is_not_there_no_signal() {
    let values = read_once(&[
        ("proc/sys/fs/file-nr", b"1024\t0\t9223372036854775807\n"),
        ("proc/sys/net/netfilter/nf_conntrack_count", b"7\n"),
        ("proc/sys/kernel/threads-max", b"-5\n"),
    ]);
    check_all(&values, "files.", &[("files.open", 1024.0)]);
    check_all(&values, "conntrack.", &[]);
    check_all(&values, "tasks.", &[]);
}

#[test]
fn power_follows_from_energy_when_its_counter_starts_again_but_not_when_it_is_reset() {
    let [first, second, third] = Recorded::open("laptop").read_three(1);
    check_all(&first, "rapl.", &[]);
    // The counter of the cores went from 850 uJ below its end to 999,150 uJ.
    let powers = [("rapl.package-0.power", 12.5), ("rapl.package-0 core.power", 1.0), ("rapl.psys.power", 20.0)];
    check_all(&second, "rapl.", &powers);
    // That of the package went back, far from its end.
    check_all(&third, "rapl.", &[("rapl.package-0 core.power", 5.0), ("rapl.psys.power", 25.0)]);
}

#[test]
fn throttling_is_counted_once_for_each_core_and_package() {
    let [first, second, third] = Recorded::open("laptop").read_three(2);
    check_all(&first, "cpu.", &[]);
    check_all(&second, "cpu.", &[("cpu.core_throttles", 1.5), ("cpu.package_throttles", 0.5)]);
    check_all(&third, "cpu.", &[("cpu.core_throttles", 0.0), ("cpu.package_throttles", 0.0)]);
}

#[test]
fn a_cpu_that_goes_offline_takes_no_counts_with_it() {
    let count = |cpu: u8| format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count");
    let host = Written::new(&[LOAD]);
    for cpu in [0_u8, 1] {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        host.write(&format!("{topology}/physical_package_id"), b"0\n");
        host.write(&format!("{topology}/thread_siblings_list"), format!("{cpu}\n").as_bytes());
        host.write(&count(cpu), b"100\n");
    }
    let mut sensors = Host::open(host.root()).unwrap();
    let mut readings = Readings::default();
    read(&mut sensors, &mut readings, 0);
    host.remove(&count(1));
    host.write(&count(0), b"103\n");
    check_all(&read(&mut sensors, &mut readings, 1), "cpu.", &[("cpu.core_throttles", 3.0)]);
    host.write(&count(1), b"150\n");
    check_all(&read(&mut sensors, &mut readings, 2), "cpu.", &[("cpu.core_throttles", 0.0)]);
}

#[test]
fn energy_that_this_user_may_not_read_is_absent() {
    let host = Written::new(&[LOAD, ("sys/class/powercap/intel-rapl:0/name", b"package-0\n")]);
    // Root may read whatever there is, but no directory as a file.
    host.write("sys/class/powercap/intel-rapl:0/energy_uj/file", b"");
    let sensors = Host::open(host.root()).unwrap();
    assert!(sensors.absent().iter().all(|absent| !absent.signal.starts_with("rapl")));
}

#[test]
fn batteries_have_charge_and_power_without_a_sign() {
    let [first, second, third] = Recorded::open("laptop").read_three(1);
    let of = |charge, power| {
        [
            ("battery.BAT0.charge", charge),
            ("battery.BAT0.power", power),
            ("battery.BAT1.charge", 0.5),
            // 1.5 A at 12 V.
            ("battery.BAT1.power", 18.0),
        ]
    };
    check_all(&first, "battery.", &of(0.83, 7.344));
    check_all(&second, "battery.", &of(0.82, 7.344));
    // Some say more than 100 % of an old battery.
    check_all(&third, "battery.", &of(1.0, 0.0));
}

#[test]
fn the_clock_of_this_kernel_is_not_that_of_another_root() {
    let values = read_once(&[("proc/uptime", b"1.00 1.00\n")]);
    check_all(&values, "clock.", &[]);
    let of_this = read(&mut Host::open("/".as_ref()).unwrap(), &mut Readings::default(), 0);
    let n_signals = of_this.keys().filter(|id| id.starts_with("clock.")).count();
    assert!(matches!(n_signals, 0 | 3), "a sandbox may forbid to ask: {n_signals}");
}

#[test]
fn gpus_are_named_after_their_places_and_not_asked_while_they_sleep() {
    const GIB: f64 = (1 << 30) as f64;
    let mut server = Recorded::open("gpu_server");
    let [first, second, third] = server.read_three(1);
    let amd = |busy, used| {
        [
            ("gpu.0000:03:00.0.busy", busy),
            ("gpu.0000:03:00.0.memory.used", used * GIB),
            ("gpu.0000:03:00.0.memory.available", (8.0 - used) * GIB),
        ]
    };
    let intel = |integrated, card| [("gpu.0000:00:02.0.awake", integrated), ("gpu.0000:04:00.0.awake", card)];
    check_all(&first, "gpu.", &amd(0.25, 2.0));
    check_all(&second, "gpu.", &[&amd(1.0, 3.0)[..], &intel(0.001, 0.25)].concat());
    check_all(&third, "gpu.", &[&intel(0.0, 1.0)[..], &[("gpu.0000:03:00.0.busy", 0.0)]].concat());
    assert_eq!(server.host.n_errors(), 0, "{:?}", server.host.last_error());

    // A GPU that sleeps at the start has memory once it is awake.
    let mut server = Recorded::open("gpu_server");
    assert_eq!(server.read(2, 0).get("gpu.0000:03:00.0.memory.used"), None);
    assert_eq!(server.read(0, 1)["gpu.0000:03:00.0.memory.used"], 2.0 * GIB);
}

#[test]
fn the_cache_of_zfs_has_its_size_and_its_share_of_hits() {
    let [first, second, third] = Recorded::open("gpu_server").read_three(1);
    let sizes = |gib: u64| [("zfs.arc.size", (gib << 30) as f64), ("zfs.arc.limit", 17_179_869_184.0)];
    check_all(&first, "zfs.", &sizes(3));
    // 90 hits and 10 misses.
    check_all(&second, "zfs.", &[&sizes(4)[..], &[("zfs.arc.hits", 0.9)]].concat());
    // Nothing was read.
    check_all(&third, "zfs.", &sizes(4));
}

#[test]
fn a_raid_lacks_disks_if_it_can() {
    let [first, second, _] = Recorded::open("gpu_server").read_three(1);
    check_all(&first, "md.", &[("md.md0.degraded", 0.0)]);
    // A disk failed.
    check_all(&second, "md.", &[("md.md0.degraded", 1.0)]);
}
