//! What a new process would get, on hosts whose processes are written by the test.
//!
//! Each host is read once a second for half a minute, so that what was before does not count any more: exponentials of
//! 5 seconds leave 0.25 % of it, and the tolerances are that.

use sensor::Host;
use signal::Readings;
use testkit::{PATIENCE, wait_until};

use crate::scene::{Values, Written, read};

/// Time of one core in a second, in hundredths: user, nice, system, idle, iowait, irq, softirq, steal.
type Core = [u64; 8];

const IDLE: Core = [0, 0, 0, 100, 0, 0, 0, 0];
const USER: Core = [100, 0, 0, 0, 0, 0, 0, 0];
const NICED: Core = [0, 100, 0, 0, 0, 0, 0, 0];

/// A process of one thread, and what it does in a second.
#[derive(Clone)]
struct Process {
    pid: u32,
    nice: i8,
    policy: u32,
    core: usize,
    used_ms: u64,
    waited_ms: u64,
    session: u32,
    group: &'static str,
}

const SPINNER: Process =
    Process { pid: 50, nice: 0, policy: 0, core: 0, used_ms: 1000, waited_ms: 0, session: 1, group: "/" };

/// A host and what goes on in it, the same in each second.
struct World<'a> {
    cores: &'a [Core],
    processes: &'a [Process],
    /// How many tasks run or wait when the sensor looks, without the sensor's.
    n_running: u64,
    /// For how much of each second some task waits, if pressure is measured.
    stalled_ms: Option<u64>,
    /// Further files, the same all the time.
    files: &'a [(&'a str, &'a str)],
}

impl World<'_> {
    const EMPTY: World<'static> =
        World { cores: &[IDLE, IDLE], processes: &[], n_running: 0, stalled_ms: None, files: &[] };

    /// What the sensors say in the end.
    #[track_caller]
    fn read(&self) -> Values {
        let files: Vec<(&str, &[u8])> = self.files.iter().map(|(file, text)| (*file, text.as_bytes())).collect();
        let files = Written::new(&files);
        self.write(&files, 0);
        let mut host = Host::open(files.root()).unwrap();
        let mut readings = Readings::default();
        read(&mut host, &mut readings, 0);
        let mut values = Values::new();
        for at_s in 1..=30 {
            self.write(&files, at_s);
            values = read(&mut host, &mut readings, at_s);
        }
        assert_eq!(host.n_errors(), 0, "{:?}", host.last_error());
        values
    }

    fn write(&self, files: &Written, at_s: u64) {
        let line = |name: &str, core: &Core| {
            let times: Vec<String> = core.iter().map(|time| (10_000 + time * at_s).to_string()).collect();
            format!("{name} {} 0 0\n", times.join(" "))
        };
        let cores = self.cores.iter().enumerate().map(|(idx, core)| line(&format!("cpu{idx}"), core));
        let stat = format!("{}{}", line("cpu ", &self.cores[0]), cores.collect::<String>());
        let running = format!("procs_running {}\nprocs_blocked 0\n", self.n_running + 1);
        files.write("proc/stat", format!("{stat}{running}").as_bytes());
        files.write("proc/uptime", format!("{}.00 0.00\n", 1000 + at_s).as_bytes());
        if let Some(stalled_ms) = self.stalled_ms {
            files.write("proc/pressure/cpu", format!("some avg10=0 total={}\n", stalled_ms * 1000 * at_s).as_bytes());
        }
        self.processes.iter().for_each(|process| process.write(files, at_s));
    }
}

impl Process {
    fn write(&self, files: &Written, at_s: u64) {
        let Process { pid, nice, policy, core, session, .. } = self;
        let used_ticks = self.used_ms * at_s / 10;
        let stat = format!(
            "{pid} (a b) R 1 {session} {session} 0 -1 0 0 0 0 0 {used_ticks} 0 0 0 20 {nice} 1 0 500 0 0 0 0 0 0 0 0 \
             0 0 0 0 0 0 0 17 {core} 0 {policy} 0\n"
        );
        let spent = format!("{} {} {at_s}\n", self.used_ms * at_s * 1_000_000, self.waited_ms * at_s * 1_000_000);
        files.write(&format!("proc/{pid}/stat"), stat.as_bytes());
        files.write(&format!("proc/{pid}/task/{pid}/schedstat"), spent.as_bytes());
        files.write(&format!("proc/{pid}/autogroup"), format!("/autogroup-{session} nice 0\n").as_bytes());
        files.write(&format!("proc/{pid}/cgroup"), format!("0::{}\n", self.group).as_bytes());
    }
}

/// Claims what one thread gets, and what two get together.
#[track_caller]
fn check(world: &World<'_>, one: f64, two: f64) {
    let values = world.read();
    for (id, expected) in [("cpu.availability", one), ("cpu.availability.2", two)] {
        assert!((values[id] - expected).abs() <= 0.005, "{id} is {}, not {expected}", values[id]);
    }
}

#[test]
fn an_idle_host_gives_each_thread_a_core() {
    check(&World::EMPTY, 1.0, 2.0);
}

#[test]
fn niced_spinners_are_hardly_there() {
    let niced = |pid| Process { pid, nice: 19, ..SPINNER };
    let world = World { cores: &[NICED, NICED], processes: &[niced(50), niced(51)], n_running: 2, ..World::EMPTY };
    check(&world, 1.0, 2.0 * 2048.0 / 2078.0);
}

#[test]
fn long_running_spinners_share_fairly() {
    let spinner = |pid| Process { pid, used_ms: 500, waited_ms: 500, ..SPINNER };
    let four = [50, 51, 52, 53].map(spinner);
    let world = World { cores: &[USER, USER], processes: &four, n_running: 4, ..World::EMPTY };
    check(&world, 0.4, 2.0 * 2.0 / 6.0);
}

#[test]
fn more_cores_than_spinners_leave_one_free() {
    let world = World { cores: &[USER, IDLE], processes: &[SPINNER], n_running: 1, ..World::EMPTY };
    check(&world, 1.0, 4.0 / 3.0);
}

#[test]
fn bursts_between_the_readings_count_in_full() {
    // At each reading nothing runs, and yet half of the one core is used.
    let half = [50, 0, 0, 50, 0, 0, 0, 0];
    let world = World { cores: &[half], processes: &[Process { used_ms: 500, ..SPINNER }], ..World::EMPTY };
    let values = world.read();
    // Awake two thirds of the time beside the newcomer, at half a core.
    assert!((values["cpu.availability"] - 2.0 / 3.0).abs() <= 0.005, "{}", values["cpu.availability"]);
    assert!(!values.contains_key("cpu.availability.1"));
}

#[test]
fn a_real_time_task_comes_first_on_its_core() {
    let real_time = Process { policy: 1, ..SPINNER };
    let world = World { cores: &[USER, IDLE], processes: &[real_time], n_running: 1, ..World::EMPTY };
    // The kernel keeps a twentieth of the core for others.
    check(&world, 1.0, 1.05);
}

#[test]
fn what_is_stolen_from_a_spinner_is_stolen_from_a_newcomer() {
    let robbed = [75, 0, 0, 0, 0, 0, 0, 25];
    let processes = [50, 51].map(|pid| Process { pid, used_ms: 750, ..SPINNER });
    let world = World { cores: &[robbed, robbed], processes: &processes, n_running: 2, ..World::EMPTY };
    check(&world, 0.75 * 2.0 / 3.0, 0.75);
}

#[test]
fn interrupts_leave_less_of_a_core() {
    let interrupted = [0, 0, 0, 60, 0, 10, 30, 0];
    check(&World { cores: &[interrupted, IDLE], ..World::EMPTY }, 1.0, 1.6);
}

#[test]
fn a_session_of_many_weighs_as_one() {
    let files = [
        ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
        ("proc/self/cgroup", "0::/\n"),
        ("proc/self/autogroup", "/autogroup-2 nice 0\n"),
    ];
    let other = |pid| Process { pid, used_ms: 500, waited_ms: 500, nice: 10, ..SPINNER };
    let world = World { cores: &[USER, USER], processes: &[50, 51, 52, 53].map(other), files: &files, ..World::EMPTY };
    // Nice levels say nothing between sessions.
    check(&world, 1.0, 1.0);
}

#[test]
fn a_control_group_s_limit_holds_below_it() {
    let files = [
        ("proc/self/cgroup", "0::/box/in\n"),
        ("sys/fs/cgroup/cpu.stat", "usage_usec 1\n"),
        ("sys/fs/cgroup/box/cpu.weight", "100\n"),
        ("sys/fs/cgroup/box/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/box/in/cpu.weight", "100\n"),
        ("sys/fs/cgroup/box/in/cpu.max", "max 100000\n"),
    ];
    check(&World { files: &files, ..World::EMPTY }, 0.5, 0.5);
    let half = [50, 0, 0, 50, 0, 0, 0, 0];
    let inside = Process { used_ms: 500, waited_ms: 500, group: "/box", ..SPINNER };
    let world = World { cores: &[half, IDLE], processes: &[inside], files: &files, ..World::EMPTY };
    // The task and the group `in` are equals below `box`.
    check(&world, 0.25, 0.25);
}

#[test]
fn weights_of_control_groups_are_proportions() {
    let files = [
        ("proc/self/cgroup", "0::/light\n"),
        ("sys/fs/cgroup/cpu.stat", "usage_usec 1\n"),
        ("sys/fs/cgroup/light/cpu.weight", "100\n"),
        ("sys/fs/cgroup/heavy/cpu.weight", "300\n"),
    ];
    let heavy = |pid| Process { pid, group: "/heavy", ..SPINNER };
    let world = World { cores: &[USER, USER], processes: &[heavy(50), heavy(51)], files: &files, ..World::EMPTY };
    check(&world, 0.5, 0.5);
}

#[test]
fn a_limit_of_version_1_holds_too() {
    let files = [
        ("proc/self/cgroup", "1:cpu,cpuacct:/box\n0::/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.shares", "1024\n"),
        ("sys/fs/cgroup/cpu,cpuacct/box/cpu.shares", "1024\n"),
        ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n"),
    ];
    check(&World { files: &files, ..World::EMPTY }, 1.0, 1.5);
}

#[test]
fn processes_on_one_core_leave_the_other() {
    let on_first = "Name:\ta b\nCpus_allowed_list:\t0\n";
    let mut files = [50, 51, 52].map(|pid| (format!("proc/{pid}/task/{pid}/status"), on_first)).to_vec();
    let processes = [50, 51, 52].map(|pid| Process { pid, used_ms: 333, waited_ms: 667, ..SPINNER });
    let read = |files: &[(String, &str)]| {
        let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
        World { cores: &[USER, IDLE], processes: &processes, files: &files, ..World::EMPTY }.read()["cpu.availability"]
    };
    let free = read(&files);
    assert!((free - 1.0).abs() <= 0.005, "{free}");
    // A newcomer takes its own mask along.
    files.push(("proc/self/status".to_owned(), on_first));
    let confined = read(&files);
    assert!((confined - 0.25).abs() <= 0.005, "{confined}");
}

#[test]
fn without_processes_the_counts_of_tasks_stand_for_them() {
    // Six tasks on two cores, nobody known by name: by moments, and by pressure with moments.
    let by_moments = World { cores: &[USER, USER], n_running: 6, ..World::EMPTY };
    check(&by_moments, 2.0 / 7.0, 2.0 * 2.0 / 8.0);
    check(&World { stalled_ms: Some(1000), ..by_moments }, 2.0 / 7.0, 2.0 * 2.0 / 8.0);
}

#[test]
fn programs_that_wake_up_with_the_sensor_are_no_crowd() {
    // Ten tasks run at each reading, and for the rest of the second nobody waits.
    let tenth = [10, 0, 0, 90, 0, 0, 0, 0];
    let world = World { cores: &[tenth, tenth], n_running: 10, stalled_ms: Some(0), ..World::EMPTY };
    let values = world.read();
    assert!(values["cpu.availability"] > 0.98, "{}", values["cpu.availability"]);
}

#[test]
fn the_run_queues_own_sum_of_waiting_comes_first() {
    // Four tasks wait on average, whatever the moments show.
    let line = |waited_ns: u64| format!("version 15\ncpu0 0 0 0 0 0 0 7 {waited_ns} 9\ndomain0 3 0 0\n");
    let files = Written::new(&[("proc/schedstat", line(0).as_bytes())]);
    let world = World { cores: &[USER, USER], n_running: 1, ..World::EMPTY };
    world.write(&files, 0);
    let mut host = Host::open(files.root()).unwrap();
    let mut readings = Readings::default();
    let mut values = read(&mut host, &mut readings, 0);
    for at_s in 1..=30 {
        world.write(&files, at_s);
        files.write("proc/schedstat", line(4_000_000_000 * at_s).as_bytes());
        values = read(&mut host, &mut readings, at_s);
    }
    assert!((values["cpu.availability"] - 2.0 / 7.0).abs() <= 0.005, "{}", values["cpu.availability"]);
}

#[test]
fn a_container_does_not_take_others_load_for_its_own() {
    // Both cores are busy with others, whose processes are not to be seen.
    let files = [
        ("proc/self/cgroup", "0::/\n"),
        ("sys/fs/cgroup/cpu.weight", "100\n"),
        ("sys/fs/cgroup/cpu.max", "100000 100000\n"),
        ("sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
    ];
    let world = World { cores: &[USER, USER], n_running: 2, files: &files, ..World::EMPTY };
    check(&world, 2.0 / 3.0, 2.0 / 3.0);
}

#[test]
fn a_core_that_goes_offline_takes_its_part_along_and_brings_it_back() {
    let files = Written::new(&[]);
    let two = World { cores: &[USER, USER], n_running: 2, ..World::EMPTY };
    let one = World { cores: &[USER], ..two };
    let mut host = None;
    let mut readings = Readings::default();
    for at_s in 0..=60 {
        let world = if (20..40).contains(&at_s) { &one } else { &two };
        world.write(&files, at_s);
        let host = host.get_or_insert_with(|| Host::open(files.root()).unwrap());
        let values = read(host, &mut readings, at_s);
        assert_eq!(values.contains_key("cpu.availability.2"), at_s > 0 && !(20..40).contains(&at_s), "at {at_s} s");
        if at_s == 39 {
            // Two tasks on one core, and the newcomer.
            assert!((values["cpu.availability"] - 1.0 / 3.0).abs() <= 0.01, "{}", values["cpu.availability"]);
        } else if at_s == 60 {
            assert!((values["cpu.availability"] - 2.0 / 3.0).abs() <= 0.01, "{}", values["cpu.availability"]);
        }
    }
}

#[test]
fn a_kernel_that_does_not_count_what_tasks_had_is_judged_by_the_crowd() {
    let idle = |pid| Process { pid, used_ms: 0, ..SPINNER };
    let world = World { cores: &[USER, USER], processes: &[50, 51, 52, 53].map(idle), n_running: 4, ..World::EMPTY };
    check(&world, 0.4, 2.0 * 2.0 / 6.0);
}

#[test]
fn waiting_for_a_disk_is_no_load() {
    let disk = [5, 0, 5, 10, 80, 0, 0, 0];
    let waiter = Process { used_ms: 100, ..SPINNER };
    let world =
        World { cores: &[disk, disk], processes: &[waiter.clone(), Process { pid: 51, ..waiter }], ..World::EMPTY };
    let one = world.read()["cpu.availability"];
    assert!(one > 0.99, "{one}");
}

#[test]
fn pressure_counts_on_each_core() {
    // One waits on each of two cores all the time, which the kernel calls a pressure of 1; at the looks nobody does.
    let world = World { cores: &[USER, USER], n_running: 2, stalled_ms: Some(1000), ..World::EMPTY };
    check(&world, 0.4, 2.0 * 2.0 / 6.0);
}

#[test]
fn a_process_that_is_gone_is_soon_forgotten() {
    let files = Written::new(&[]);
    let busy = World { cores: &[USER, USER], processes: &[SPINNER, Process { pid: 51, ..SPINNER }], ..World::EMPTY };
    busy.write(&files, 0);
    let mut host = Host::open(files.root()).unwrap();
    let mut readings = Readings::default();
    for at_s in 0..=20 {
        busy.write(&files, at_s);
        read(&mut host, &mut readings, at_s);
    }
    for pid in [50, 51] {
        std::fs::remove_dir_all(files.root().join(format!("proc/{pid}"))).unwrap();
    }
    // The cores' memory of them is no load.
    let values = read(&mut host, &mut readings, 21);
    assert!(values["cpu.availability"] > 0.99, "{}", values["cpu.availability"]);
}

/// How much a newcomer gets here and now depends on what else runs, so that only what holds on any host is claimed; the
/// example `availability` compares with real processes.
#[test]
fn this_host_promises_no_more_than_it_has() {
    let mut host = Host::open("/".as_ref()).unwrap();
    let mut readings = Readings::default();
    let start = clock::instant();
    let value = |readings: &Readings, id: &str| {
        readings.iter().find(|(signal, _)| signal.id().as_ref() == id).map(|(_, value)| value)
    };
    let one = wait_until("there is a second look", PATIENCE, || {
        host.read(start.elapsed(), &mut readings);
        value(&readings, "cpu.availability").filter(|one| one.is_finite())
    });
    assert!(one > 0.0 && one <= 1.0, "a newcomer gets {one}");
    if let Some(two) = value(&readings, "cpu.availability.2") {
        assert!(two >= one - 1e-9 && two <= 2.0, "one thread gets {one}, two get {two}");
    }
}
