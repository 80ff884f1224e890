//! Watched programs, units and containers on hosts whose processes are written by the test.

use std::fs;

use sensor::{Host, WatchList};
use signal::Readings;

use crate::scene::{Values, Written, check_all, read};

/// A process of the test, which used so many of the kernel's ticks since its start.
struct Process<'a> {
    pid: u32,
    name: &'a [u8],
    started: u64,
    used: u64,
    state: char,
    group: &'a str,
    /// Bytes read and written; `None` if this user may not know.
    bytes: Option<[u64; 2]>,
}

const ANY: Process<'_> =
    Process { pid: 0, name: b"other", started: 5, used: 0, state: 'S', group: "/", bytes: Some([0; 2]) };

/// A host with these watched. The first process is always there.
struct Scene {
    files: Written,
    host: Host,
    readings: Readings,
}

impl Scene {
    fn new(watched: &[&str]) -> Scene {
        let files = Written::new(&[("proc/self", b"no number")]);
        let mut host = Host::open_load(files.root()).unwrap();
        host.start_watch(files.root(), &WatchList::new(watched).unwrap());
        let scene = Scene { files, host, readings: Readings::default() };
        scene.put(&Process { pid: 1, name: b"init", ..ANY });
        scene
    }

    /// Each process has 2 pages of memory.
    fn put(&self, process: &Process<'_>) {
        let Process { pid, name, started, used, state, group, bytes } = process;
        let zeros = "0 ".repeat(14);
        let after = format!(") {state} 1 1 1 0 -1 0 0 0 0 0 {used} 0 0 0 20 0 1 0 {started} 0 2 {zeros}17 0 0 0\n");
        let file = |file: &str| format!("proc/{pid}/{file}");
        self.files.write(&file("stat"), &[format!("{pid} (").as_bytes(), name, after.as_bytes()].concat());
        self.files.write(&file("cgroup"), format!("0::{group}\n").as_bytes());
        let io = bytes.map(|[read, written]| format!("rchar: 9\nread_bytes: {read}\nwrite_bytes: {written}\n"));
        self.files.write(&file("io"), io.unwrap_or_default().as_bytes());
    }

    fn end(&self, pid: u32) {
        fs::remove_dir_all(self.files.root().join(format!("proc/{pid}"))).unwrap();
    }

    #[track_caller]
    fn read(&mut self, at_s: u64) -> Values {
        let values = read(&mut self.host, &mut self.readings, at_s);
        assert_eq!(self.host.n_errors(), 0, "{:?}", self.host.last_error());
        values
    }
}

/// Claims what was read of an entry: cores, pages, bytes per second read and written, processes.
#[track_caller]
fn check_entry(values: &Values, entry: &str, [cpu, pages, read, written, processes]: [Option<f64>; 5]) {
    let bytes = pages.map(|pages| pages * procfs::page_size() as f64);
    let named = [("cpu", cpu), ("memory", bytes), ("read", read), ("written", written), ("processes", processes)]
        .map(|(name, value)| (format!("process.{entry}.{name}"), value));
    let expected: Vec<(&str, f64)> = named.iter().filter_map(|(id, value)| Some((id.as_str(), (*value)?))).collect();
    check_all(values, &format!("process.{entry}."), &expected);
}

/// The same if all is known.
#[track_caller]
fn check(values: &Values, entry: &str, expected: [f64; 5]) {
    check_entry(values, entry, expected.map(Some));
}

#[test]
fn the_processes_of_a_program_are_summed() {
    let mut scene = Scene::new(&["postgres"]);
    let of = |pid, used, bytes| Process { pid, name: b"postgres", used, bytes: Some(bytes), ..ANY };
    scene.put(&of(10, 500, [4096, 0]));
    scene.put(&of(11, 0, [0, 1 << 20]));
    scene.put(&Process { pid: 12, name: b"postgresql", used: 999, ..ANY });
    check_entry(&scene.read(100), "postgres", [None, Some(4.0), None, None, Some(2.0)]);
    scene.put(&of(10, 600, [8192, 0]));
    scene.put(&of(11, 50, [0, (1 << 20) + 512]));
    check(&scene.read(102), "postgres", [0.75, 4.0, 2048.0, 256.0, 2.0]);
    check(&scene.read(103), "postgres", [0.0, 4.0, 0.0, 0.0, 2.0]);
}

#[test]
fn a_program_that_is_not_there_uses_nothing() {
    let mut scene = Scene::new(&["postgres", "unit:a.service"]);
    check_entry(&scene.read(0), "postgres", [None, Some(0.0), None, None, Some(0.0)]);
    let values = scene.read(1);
    check(&values, "postgres", [0.0; 5]);
    check(&values, "unit:a.service", [0.0; 5]);
    // One that began since counts from its start, and is gone at the next tick.
    scene.put(&Process { pid: 20, name: b"postgres", started: 300, used: 30, bytes: Some([10, 20]), ..ANY });
    check(&scene.read(2), "postgres", [0.3, 2.0, 10.0, 20.0, 1.0]);
    scene.end(20);
    check(&scene.read(3), "postgres", [0.0; 5]);
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let mut scene = Scene::new(&["postgres"]);
    let of = |started, used| Process { pid: 20, name: b"postgres", started, used, ..ANY };
    scene.put(&of(100, 5000));
    scene.read(0);
    scene.put(&of(200, 10));
    check(&scene.read(1), "postgres", [0.1, 2.0, 0.0, 0.0, 1.0]);
    scene.put(&Process { name: b"other", ..of(300, 10) });
    check(&scene.read(2), "postgres", [0.0; 5]);
}

#[test]
fn one_that_was_overlooked_does_not_count_from_its_start() {
    let mut scene = Scene::new(&["postgres"]);
    scene.put(&Process { pid: 9, started: 900, ..ANY });
    scene.read(0);
    // It began before the newest one of the tick before.
    let of = |used| Process { pid: 20, name: b"postgres", started: 100, used, ..ANY };
    scene.put(&of(90_000));
    check(&scene.read(1), "postgres", [0.0, 2.0, 0.0, 0.0, 1.0]);
    scene.put(&of(90_010));
    check(&scene.read(2), "postgres", [0.1, 2.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_program_is_met_by_its_name_after_exec() {
    let mut scene = Scene::new(&["postgres"]);
    scene.read(0);
    let of = |name, used| Process { pid: 20, name, started: 100, used, ..ANY };
    scene.put(&of(b"sh", 5));
    check(&scene.read(1), "postgres", [0.0; 5]);
    scene.put(&of(b"postgres", 15));
    check(&scene.read(2), "postgres", [0.1, 2.0, 0.0, 0.0, 1.0]);
    // It becomes another program, whose use is not that of the watched one.
    scene.put(&of(b"sh", 500));
    check(&scene.read(3), "postgres", [0.0; 5]);
}

#[test]
fn a_process_that_changes_late_is_met_in_its_turn_without_its_past() {
    let mut scene = Scene::new(&["postgres", "unit:a.service"]);
    let of = |name, used, group| Process { pid: 20, name, used, group, ..ANY };
    scene.put(&of(b"sh", 0, "/"));
    (0..10).for_each(|at_s| drop(scene.read(at_s)));
    scene.put(&of(b"postgres", 5000, "/system.slice/a.service"));
    let first = (10..40).find(|at_s| {
        let values = scene.read(*at_s);
        assert_eq!(values["process.postgres.cpu"], 0.0);
        values["process.postgres.processes"] == 1.0
    });
    let first = first.expect("each process is read once in 30 ticks");
    scene.put(&of(b"postgres", 5100, "/system.slice/a.service"));
    let values = scene.read(first + 1);
    check(&values, "postgres", [1.0, 2.0, 0.0, 0.0, 1.0]);
    check(&values, "unit:a.service", [1.0, 2.0, 0.0, 0.0, 1.0]);
}

#[test]
fn units_and_containers_are_known_by_their_groups() {
    let id = "3f4e0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789ab";
    let mut scene = Scene::new(&["unit:nginx.service", "container:3f4e0a1b2c3d", "container:web", "nginx"]);
    let docker = format!("/system.slice/docker-{id}.scope");
    let of = |pid, group| Process { pid, name: b"nginx", group, ..ANY };
    scene.put(&of(20, "/system.slice/nginx.service"));
    scene.put(&of(21, &docker));
    scene.put(&of(22, "/lxc.payload.web/system.slice/nginx.service"));
    scene.put(&of(23, "/user.slice"));
    scene.read(0);
    let values = scene.read(1);
    for (entry, processes) in [("unit:nginx.service", 2.0), ("container:3f4e0a1b2c3d", 1.0), ("container:web", 1.0)] {
        check(&values, entry, [0.0, 2.0 * processes, 0.0, 0.0, processes]);
    }
    check(&values, "nginx", [0.0, 8.0, 0.0, 0.0, 4.0]);
}

#[test]
fn bytes_that_this_user_may_not_know_are_a_gap() {
    let mut scene = Scene::new(&["postgres"]);
    let of = |pid, bytes| Process { pid, name: b"postgres", bytes, ..ANY };
    scene.put(&of(20, Some([100, 0])));
    scene.put(&of(21, None));
    scene.read(0);
    check_entry(&scene.read(1), "postgres", [Some(0.0), Some(4.0), None, None, Some(2.0)]);
    // A rate needs two ticks at which all of it is known.
    scene.end(21);
    scene.put(&of(20, Some([600, 0])));
    check_entry(&scene.read(2), "postgres", [Some(0.0), Some(2.0), None, None, Some(1.0)]);
    scene.put(&of(20, Some([700, 0])));
    check(&scene.read(3), "postgres", [0.0, 2.0, 100.0, 0.0, 1.0]);
}

#[test]
fn one_that_waits_for_its_parent_is_no_process_any_more() {
    let mut scene = Scene::new(&["postgres"]);
    let of = |state, used| Process { pid: 20, name: b"postgres", state, used, ..ANY };
    scene.put(&of('S', 0));
    scene.read(0);
    scene.put(&of('Z', 40));
    let values = scene.read(1);
    assert_eq!((values["process.postgres.processes"], values["process.postgres.cpu"]), (0.0, 0.4));
}

#[test]
fn hostile_names_are_text_and_no_other_name() {
    let mut scene = Scene::new(&[") R 1 (", "a\nb", "\\x0a", "é"]);
    for (pid, name) in [(20, &b") R 1 ("[..]), (21, b"a\nb"), (22, b"\xff"), (23, b""), (24, "é".as_bytes())] {
        scene.put(&Process { pid, name, ..ANY });
    }
    scene.files.write("proc/25/stat", b"no stat");
    scene.read(0);
    let values = scene.read(1);
    for (entry, processes) in [(") R 1 (", 1.0), ("a\\x0ab", 1.0), ("\\x5cx0a", 0.0), ("é", 1.0)] {
        check(&values, entry, [0.0, 2.0 * processes, 0.0, 0.0, processes]);
    }
}

#[test]
fn nothing_is_known_of_processes_that_are_hidden() {
    let mut scene = Scene::new(&["postgres"]);
    scene.end(1);
    scene.read(0);
    check_entry(&scene.read(1), "postgres", [None; 5]);
    scene.put(&Process { pid: 20, name: b"postgres", ..ANY });
    scene.read(2);
    check(&scene.read(3), "postgres", [0.0, 2.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_host_without_a_list_opens_nothing() {
    let scene = Scene::new(&[]);
    let mut host = scene.host;
    fs::remove_dir_all(scene.files.root().join("proc")).unwrap();
    assert!(read(&mut host, &mut Readings::default(), 0).is_empty());
    assert_eq!(host.n_errors(), 0);
    host.start_watch(scene.files.root(), &WatchList::new(&["a"]).unwrap());
    assert!(read(&mut host, &mut Readings::default(), 1).is_empty());
    let error = host.last_error().unwrap().to_string();
    assert!(error.starts_with("cannot read `") && error.ends_with("/proc`"), "{error}");
}
