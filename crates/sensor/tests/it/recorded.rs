//! Recorded hosts, and values worked out by hand.

use std::fmt::Write;

use expect_test::expect_file;
use sensor::{ContainerLimits, Host};
use signal::Readings;

use crate::scene::{Recorded, Values, Written, check, check_all, read, testdata};

#[test]
fn a_recorded_machine_reads_as_written_down() {
    let mut recorded = Recorded::open("two_core_vm");
    let mut text = String::new();
    for (tick_idx, values) in recorded.read_three(5).iter().enumerate() {
        writeln!(text, "tick {tick_idx}").unwrap();
        for (id, value) in values {
            writeln!(text, "  {id} {value:.6}").unwrap();
        }
    }
    for absent in recorded.host.absent() {
        writeln!(text, "absent {}: {}", absent.signal, absent.reason).unwrap();
    }
    expect_file![testdata().join("two_core_vm/readings.txt")].assert_eq(&text);
    assert_eq!(recorded.host.n_errors(), 0, "{:?}", recorded.host.last_error());
}

#[test]
fn no_more_memory_can_be_available_than_the_host_has() {
    let mut recorded = Recorded::open("two_core_vm");
    let mut readings = Readings::default();
    read(&mut recorded.host, &mut readings, 0);
    let of_memory = (&readings).into_iter().find(|(signal, _)| &**signal.id() == "memory.available");
    assert_eq!(of_memory.unwrap().0.range().max, Some(24_684_084.0 * 1024.0));
}

#[test]
fn all_cores_time_is_split_as_the_kernel_splits_it() {
    let [first, second, third] = Recorded::open("four_core_no_pressure").read_three(10);
    assert!(!first.contains_key("cpu.busy"), "a share needs two reads");
    // 300 ticks: 70 user, 10 nice, 30 system, 180 idle, 4 less of iowait, 2 irq, 4 softirq, 4 stolen.
    // 20 and 5 of the guests are in the user and nice time and not counted again.
    let expected = [
        ("cpu.busy", 120.0 / 300.0),
        ("cpu.user", 70.0 / 300.0),
        ("cpu.nice", 10.0 / 300.0),
        ("cpu.system", 30.0 / 300.0),
        ("cpu.idle", 180.0 / 300.0),
        ("cpu.iowait", 0.0),
        ("cpu.irq", 2.0 / 300.0),
        ("cpu.softirq", 4.0 / 300.0),
        ("cpu.steal", 4.0 / 300.0),
        ("cpu.guest", 20.0 / 300.0),
        ("cpu.guest_nice", 5.0 / 300.0),
    ];
    for (id, share) in expected {
        check(&second, id, share);
    }
    check(&third, "cpu.busy", 260.0 / 400.0);
}

#[test]
fn a_core_that_goes_offline_gives_nothing_and_starts_again() {
    let [_, second, third] = Recorded::open("four_core_no_pressure").read_three(10);
    let busy = |values: &Values| -> Vec<String> {
        values.keys().filter(|id| id.ends_with(".busy") && id.as_str() != "cpu.busy").cloned().collect()
    };
    assert_eq!(busy(&second), ["cpu.0.busy", "cpu.2.busy", "cpu.3.busy"]);
    // Core 1 is back, and its first read gives nothing.
    assert_eq!(busy(&third), ["cpu.0.busy", "cpu.2.busy", "cpu.3.busy"]);
    // 30 user and 10 system of 100; the line of core 2 is not taken for that of core 1.
    check(&second, "cpu.2.busy", 40.0 / 100.0);
    check(&second, "cpu.3.busy", 0.0);
}

#[test]
fn the_load_s_availability_follows_the_cores_that_are_online() {
    let [first, second, third] = Recorded::open("four_core_no_pressure").read_three(10);
    check_all(&first, "cpu.availability", &[("cpu.availability.loadavg", 4.0 / 8.0)]);
    check(&second, "cpu.availability.loadavg", 3.0 / 8.0);
    check(&third, "cpu.availability.loadavg", 4.0 / 16.0);
}

#[test]
fn the_reader_is_not_among_the_running_tasks() {
    let [_, second, third] = Recorded::open("four_core_no_pressure").read_three(10);
    check_all(&second, "tasks.", &[("tasks.runnable", 4.0), ("tasks.blocked", 2.0)]);
    check_all(&third, "tasks.", &[("tasks.runnable", 0.0), ("tasks.blocked", 0.0)]);
}

#[test]
fn the_vmstat_s_availability_is_equation_2_with_smoothed_tasks() {
    let [_, _, third] = Recorded::open("reset").read_three(10);
    // One task runs besides the reader at every tick; 100 ticks: 50 user, 10 system, 40 idle.
    let expected = 0.4 + 0.5 / 2.0 + 0.5 * 0.1 / 2.0;
    check(&third, "cpu.availability.vmstat", expected);
}

#[test]
fn pressure_that_the_kernel_has_off_is_absent_with_the_reason() {
    let recorded = Recorded::open("four_core_no_pressure");
    let pressure: Vec<_> =
        recorded.host.absent().iter().filter(|absent| absent.signal.starts_with("pressure")).collect();
    assert_eq!(pressure.len(), 1);
    assert_eq!(pressure[0].signal, "pressure.*");
    assert_eq!(pressure[0].reason, "the kernel has pressure stall information off");
}

#[test]
fn a_container_s_use_limit_and_throttling_are_read() {
    let [first, second, third] = Recorded::open("container").read_three(1);
    check_all(&first, "cgroup.cpu.", &[("cgroup.cpu.limit", 1.5)]);
    // 2.5 s of CPU in 1 s; 15 of 20 periods.
    let expected = [("cgroup.cpu.used", 2.5), ("cgroup.cpu.limit", 1.5), ("cgroup.cpu.throttled", 0.75)];
    check_all(&second, "cgroup.cpu.", &expected);
    // The limit was lifted, which is no limit of 0.
    check_all(&third, "cgroup.cpu.", &[("cgroup.cpu.used", 0.5), ("cgroup.cpu.throttled", 0.0)]);
}

#[test]
fn a_container_s_memory_is_read() {
    let mut recorded = Recorded::open("container");
    let [first, second, third] = recorded.read_three(1);
    const MB: f64 = 1e6;
    let gauges = |used, available| {
        [("cgroup.memory.used", used), ("cgroup.memory.limit", 300.0 * MB), ("cgroup.memory.available", available)]
    };
    // 120 of the 200 MB used are pages of files and slabs that can be reclaimed.
    check_all(&first, "cgroup.memory.", &gauges(80.0 * MB, 220.0 * MB));
    // The use and its parts are read one after the other, and the parts have grown.
    let rates = [("cgroup.memory.pressure", 0.25), ("cgroup.memory.kills", 2.0)];
    check_all(&second, "cgroup.memory.", &[&gauges(0.0, 300.0 * MB)[..], &rates].concat());
    // The limit is lifted, and the events have started again.
    check_all(&third, "cgroup.memory.", &[("cgroup.memory.used", 250.0 * MB), ("cgroup.memory.pressure", 0.0)]);
    assert_eq!(recorded.host.n_errors(), 0, "{:?}", recorded.host.last_error());
}

#[test]
fn the_tightest_limit_of_a_service_and_its_slices_counts() {
    let mut recorded = Recorded::open("slice");
    let [first, second] = [0, 1].map(|tick_idx| recorded.read(tick_idx, u64::from(tick_idx)));
    // The service has a limit of 4 cores, and `work.slice` one of 2; the root has none.
    let cpu = [("cgroup.cpu.limit", 2.0), ("cgroup.cpu.throttled", 0.5), ("cgroup.cpu.used", 1.0)];
    check_all(&second, "cgroup.cpu.", &cpu);
    // The service has 1000 MB and uses 100 MB, and all of the slice 450 of its 500 MB.
    let memory = [("cgroup.memory.used", 1e8), ("cgroup.memory.limit", 5e8), ("cgroup.memory.available", 5e7)];
    check_all(&first, "cgroup.memory.", &memory);
    // The service is near its own limit, which is not the tightest.
    check(&second, "cgroup.memory.available", 1e7);
    check(&second, "cgroup.memory.limit", 5e8);
    assert_eq!(recorded.host.n_errors(), 0, "{:?}", recorded.host.last_error());
}

#[test]
fn control_groups_of_version_1_have_limits_too() {
    let mut recorded = Recorded::open("container_v1");
    let [first, second] = [0, 1].map(|tick_idx| recorded.read(tick_idx, u64::from(tick_idx)));
    check_all(&first, "cgroup.cpu.", &[("cgroup.cpu.limit", 0.5)]);
    check_all(
        &second,
        "cgroup.cpu.",
        &[("cgroup.cpu.limit", 0.5), ("cgroup.cpu.throttled", 0.25), ("cgroup.cpu.used", 0.25)],
    );
    // `docker` has a limit of 100 MB that does not count, for it does not count the groups below it.
    let memory = [("cgroup.memory.used", 8e7), ("cgroup.memory.limit", 3e8), ("cgroup.memory.available", 2.2e8)];
    check_all(&first, "cgroup.memory.", &memory);
    check(&second, "cgroup.memory.kills", 1.0);
    assert_eq!(recorded.host.n_errors(), 0, "{:?}", recorded.host.last_error());
}

#[test]
fn limits_that_are_tighter_than_the_host_are_its_container_s() {
    let limits = |name: &str| ContainerLimits::read(&testdata().join(name).join("0"));
    let of_container = ContainerLimits { memory_bytes: Some(300_000_000), cpu_cores: Some(1.5) };
    assert_eq!(limits("container"), of_container);
    assert_eq!(limits("container_v1"), ContainerLimits { memory_bytes: Some(300_000_000), cpu_cores: Some(0.5) });
    // The host of the slice has 2 cores.
    assert_eq!(limits("slice"), ContainerLimits { memory_bytes: Some(500_000_000), cpu_cores: None });
    assert_eq!(limits("two_core_vm"), ContainerLimits::default());
}

#[test]
fn an_interface_with_a_hostile_name_is_text() {
    let [_, second, third] = Recorded::open("hostile_interface").read_three(2);
    let expected = [
        ("net.<b>&x.received", 1000.0),
        ("net.<b>&x.received_packets", 2.0),
        ("net.<b>&x.sent", 250.0),
        ("net.<b>&x.sent_packets", 0.5),
    ];
    check_all(&second, "net.<", &expected);
    check(&third, "net.<b>&x.received", 0.0);
}

#[test]
fn interfaces_come_and_go() {
    let [_, second, third] = Recorded::open("hostile_interface").read_three(2);
    assert!(second.contains_key("net.lo.sent") && !second.contains_key("net.veth7.sent"));
    assert!(!third.contains_key("net.lo.sent"));
    check(&third, "net.veth7.received", 100.0);
}

#[test]
fn a_reset_gives_no_rate_and_no_error() {
    let mut recorded = Recorded::open("reset");
    let [_, second, _] = recorded.read_three(10);
    let gauges = ["memory.available", "swap.free", "swap.used", "tasks.blocked", "tasks.runnable"];
    assert_eq!(second.keys().collect::<Vec<_>>(), gauges);
    assert_eq!(recorded.host.n_errors(), 0);
}

#[test]
fn rates_go_on_after_a_reset() {
    let [_, _, third] = Recorded::open("reset").read_three(10);
    check(&third, "cpu.busy", 0.6);
    let net = [
        ("net.eth0.received", 100.0),
        ("net.eth0.received_packets", 1.0),
        ("net.eth0.sent", 200.0),
        ("net.eth0.sent_packets", 2.0),
    ];
    check_all(&third, "net.", &net);
    // 0.5 of 10 seconds stalled, 0.25 of them entirely.
    let pressure = [
        ("pressure.cpu.some", 0.05),
        ("pressure.memory.some", 0.05),
        ("pressure.memory.full", 0.025),
        ("pressure.io.some", 0.05),
        ("pressure.io.full", 0.025),
        ("pressure.irq.full", 0.025),
    ];
    check_all(&third, "pressure.", &pressure);
    let page_bytes = procfs::page_size() as f64;
    check(&third, "swap.in", page_bytes);
    check(&third, "swap.out", page_bytes);
}

#[test]
fn disks_are_whole_and_used_and_may_have_a_slash() {
    let [_, _, third] = Recorded::open("reset").read_three(10);
    let of = |name: &str| {
        [("read", 5120.0), ("written", 2560.0), ("reads", 1.0), ("writes", 0.5), ("busy", 0.05)]
            .map(|(what, value)| (format!("disk.{name}.{what}"), value))
    };
    let expected: Vec<(String, f64)> = of("sda").into_iter().chain(of("cciss/c0d0")).collect();
    let expected: Vec<(&str, f64)> = expected.iter().map(|(id, value)| (id.as_str(), *value)).collect();
    check_all(&third, "disk.", &expected);
}

#[test]
fn memory_and_swap_are_bytes() {
    let [first, ..] = Recorded::open("reset").read_three(10);
    check_all(&first, "memory.", &[("memory.available", 1_024_000.0)]);
    check_all(&first, "swap.", &[("swap.used", 102_400.0), ("swap.free", 204_800.0)]);
}

#[test]
fn a_file_system_that_cannot_be_asked_is_left_out() {
    let mounts = "27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 8:1 / /gone rw - ext4 /dev/sda1 rw\n\
                  29 27 254:0 /x /proc-like rw - ext4 /dev/vda rw\n30 27 8:2 / /proc/self/mountinfo rw - ext4 a rw\n";
    let host = Written::new(&[("proc/self/mountinfo", mounts.as_bytes()), ("proc-like/file", b"")]);
    let mut sensors = Host::open(host.root()).unwrap();
    let values = read(&mut sensors, &mut Readings::default(), 0);
    let ids: Vec<&str> =
        values.keys().map(String::as_str).filter(|id| id.ends_with("able") && id.starts_with("filesystem")).collect();
    // Of a disk that is mounted twice the shorter place is told; a file is no place to store in.
    assert_eq!(ids, ["filesystem./.available"]);
    assert_eq!(sensors.n_errors(), 0, "{:?}", sensors.last_error());
}

#[test]
fn the_first_process_names_the_file_systems() {
    let first = "27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 8:1 / /home rw - ext4 /dev/sda1 rw\n\
                 29 28 8:1 /www /home/www ro - ext4 /dev/sda1 rw\n";
    let own = "27 1 254:0 / / ro - ext4 /dev/vda rw\n29 27 254:0 /var/x /var/x rw - ext4 /dev/vda rw\n";
    let files = [("proc/1/mountinfo", first.as_bytes()), ("proc/self/mountinfo", own.as_bytes()), ("home/file", b"")];
    let host = Written::new(&files);
    let mut sensors = Host::open(host.root()).unwrap();
    let values = read(&mut sensors, &mut Readings::default(), 0);
    let names: Vec<&str> = values.keys().filter_map(|id| id.strip_suffix(".available")).collect();
    assert_eq!(names, ["filesystem./", "filesystem./home"]);
    assert_eq!(sensors.n_errors(), 0, "{:?}", sensors.last_error());
}

#[test]
fn sixty_four_cores_share_as_one_does() {
    let host = Written::new(&[("proc/stat", &stat_of_64(0)), ("proc/loadavg", b"127.00 1.00 1.00 1/2 3\n")]);
    let mut sensors = Host::open(host.root()).unwrap();
    let mut readings = Readings::default();
    read(&mut sensors, &mut readings, 0);
    host.write("proc/stat", &stat_of_64(1));
    let values = read(&mut sensors, &mut readings, 1);
    check(&values, "cpu.availability.loadavg", 64.0 / 128.0);
    // 64 * (0.75 / 128 + 0.75 * 0.25 / 128)
    check(&values, "cpu.availability.vmstat", 0.46875);
    check(&values, "cpu.63.user", 0.75);
    assert_eq!(values.keys().filter(|id| id.ends_with(".busy")).count(), 65);
}

/// `/proc/stat` of a host with 64 cores and 127 tasks, after `elapsed_s` seconds: 75 % user, 25 % system.
fn stat_of_64(elapsed_s: u64) -> Vec<u8> {
    let line = |name: &str, n_cores: u64| {
        let [user, system] = [75, 25].map(|ticks| n_cores * ticks * elapsed_s);
        format!("{name} {user} 0 {system} 9000 0 0 0 0 0 0\n")
    };
    let cores: String = (0..64).map(|core| line(&format!("cpu{core}"), 1)).collect();
    format!("{}{cores}procs_running 128\nprocs_blocked 0\n", line("cpu ", 64)).into_bytes()
}

#[test]
fn this_host_is_read_without_an_error() {
    let mut host = Host::open("/".as_ref()).unwrap();
    let mut readings = Readings::default();
    for at_s in 0..3 {
        let values = read(&mut host, &mut readings, at_s);
        assert!(values.contains_key("load.1m") && values.contains_key("memory.available"));
    }
    assert_eq!(host.n_errors(), 0, "{:?}", host.last_error());
}
