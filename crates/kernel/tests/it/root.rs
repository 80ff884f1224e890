//! Programs in the kernel: exact counts, and nothing left behind.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use kernel::control::PointState;
use kernel::{Account, Arm, Bpf, GroupLimits, Node, Subsystem, Summary, Traced, Tracer, find};

/// A shell that waits for a line before it becomes another program, and so can be measured from the start.
struct Waiting(Child);

impl Waiting {
    fn to_run(script: &str) -> Self {
        let script = format!("read line; {script}");
        let command = Command::new("sh").arg("-c").arg(script).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
        Self(command.unwrap())
    }

    fn node(&self) -> Node {
        Node::Tree(self.0.id())
    }

    fn run(mut self) {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

struct Measured {
    _shared: Rc<Bpf>,
    arm: Box<dyn Arm>,
    account: Account,
}

fn begin(subsystem: &'static Subsystem, node: Node) -> Measured {
    let shared = Bpf::open(node, GroupLimits::default()).unwrap();
    let mut arm = shared.arm(subsystem).unwrap();
    assert_eq!(arm.missing(), Vec::<String>::new());
    let account = Account::begin(subsystem, arm.read().unwrap());
    Measured { _shared: shared, arm, account }
}

impl Measured {
    fn end(mut self) -> Summary {
        let summary = self.account.advance(self.arm.read().unwrap()).unwrap();
        assert_eq!(summary.contradictions, Vec::<String>::new());
        summary
    }
}

fn file_of(n_bytes: usize) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().write_all(&vec![1; n_bytes]).unwrap();
    file
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn reads_of_a_size_are_counted_exactly_with_bytes_asked_and_returned() {
    // The last of 1000 reads finds half of what it asks for.
    let file = file_of(100_000 * 999 + 50_000);
    let work = Waiting::to_run(&format!("exec dd if={} of=/dev/null bs=100000 count=1000", file.path().display()));
    let measured = begin(find("fs").unwrap(), work.node());
    work.run();
    let summary = measured.end();
    let group = &summary.points[0].groups[&4];
    assert_eq!((group.count, group.asked, group.returned), (Some(1000), Some(100_000_000), Some(99_950_000)));
    assert_eq!(group.ranges.unwrap().iter().sum::<u32>(), 1000);
    assert!(group.min_ns <= group.max_ns && group.time_ns >= group.max_ns, "{group:?}");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn what_others_read_is_not_counted_for_a_process_tree() {
    let file = file_of(100_000 * 10);
    let work = Waiting::to_run("true");
    let measured = begin(find("fs").unwrap(), work.node());
    let other = Waiting::to_run(&format!("exec dd if={} of=/dev/null bs=100000", file.path().display()));
    other.run();
    work.run();
    assert!(!measured.end().points[0].groups.contains_key(&4));
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn tasks_of_a_tree_are_counted_to_the_last_grandchild() {
    // Six subshells, each of which starts one program more.
    let work = Waiting::to_run("for i in 1 2 3 4 5 6; do (/bin/true; :); done");
    let measured = begin(find("task").unwrap(), work.node());
    work.run();
    let summary = measured.end();
    // The shell itself was there before; it ends with the others.
    assert_eq!((summary.points[0].all.count, summary.points[1].all.count), (Some(12), Some(13)));
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn first_touches_of_pages_are_counted_exactly() {
    const N_PAGES: usize = 3000;
    let (mut child, go, done) = toucher(N_PAGES);
    let measured = begin(find("vm").unwrap(), Node::Tree(child.0));
    drop(go);
    // It has touched all pages when it closes its end.
    std::io::copy(&mut &done, &mut std::io::sink()).unwrap();
    let summary = measured.end();
    let zero_fill = &summary.points[11].all;
    assert_eq!(zero_fill.count, Some(N_PAGES as u64));
    let parts: u64 = (0..18).filter_map(|point| summary.points[point].all.count).sum();
    assert!(summary.points[18].all.count.unwrap() >= N_PAGES as u64 && parts >= N_PAGES as u64);
    child.wait();
}

/// A forked process, by its number.
struct Forked(u32);

impl Forked {
    fn wait(&mut self) {
        // SAFETY: it waits for a child of this process that nobody else waits for.
        unsafe { libc::waitpid(self.0 as i32, std::ptr::null_mut(), 0) };
    }
}

/// A process that touches so many new pages once its first pipe is closed, then closes the second and ends.
fn toucher(n_pages: usize) -> (Forked, std::io::PipeWriter, std::io::PipeReader) {
    use std::os::fd::AsRawFd;
    let (wait, go) = std::io::pipe().unwrap();
    let (done, says) = std::io::pipe().unwrap();
    // SAFETY: the child calls nothing but system calls, on memory and descriptors of its own, and leaves by one.
    unsafe {
        let length = n_pages * 4096;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let pages =
            libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        libc::madvise(pages, length, libc::MADV_NOHUGEPAGE);
        let child = libc::fork();
        if child == 0 {
            libc::close(go.as_raw_fd());
            let mut byte = 0u8;
            libc::read(wait.as_raw_fd(), (&raw mut byte).cast(), 1);
            for page in 0..n_pages {
                pages.cast::<u8>().add(page * 4096).write_volatile(1);
            }
            libc::close(says.as_raw_fd());
            libc::_exit(0);
        }
        libc::munmap(pages, length);
        (Forked(child as u32), go, done)
    }
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn nothing_stays_attached() {
    // Those of the test before may still be on their way out.
    testkit::wait_until("no program is there", std::time::Duration::from_secs(10), || {
        (kernel::n_loaded() == 0).then_some(())
    });
    let shared = Bpf::open(Node::Host, GroupLimits::default()).unwrap();
    let arms: Vec<_> = kernel::all().iter().map(|subsystem| shared.arm(subsystem)).filter_map(Result::ok).collect();
    let n_expected = kernel::all().iter().map(|subsystem| subsystem.programs.len()).sum::<usize>();
    assert_eq!(kernel::n_loaded(), n_expected);
    drop((arms, shared));
    // The kernel frees programs when nobody can be in them any more.
    testkit::wait_until("no program is left", std::time::Duration::from_secs(10), || {
        (kernel::n_loaded() == 0).then_some(())
    });
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn shedding_takes_the_probes_off_and_keeps_the_counts() {
    let file = file_of(100_000 * 10);
    let script = format!(
        "dd if={0} of=/dev/null bs=100000; read line; exec dd if={0} of=/dev/null bs=100000",
        file.path().display()
    );
    let mut work = Waiting::to_run(&script);
    let mut measured = begin(find("fs").unwrap(), work.node());
    work.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let n_read = |measured: &mut Measured| {
        let reading = measured.arm.read().unwrap();
        reading.cells.get(&(0, 4)).and_then(|cell| cell.count).unwrap_or(0)
    };
    // Ten reads, and one that finds the end.
    testkit::wait_until("the first half is read", std::time::Duration::from_secs(30), || {
        (n_read(&mut measured) == 11).then_some(())
    });
    measured.arm.set_shed(true).unwrap();
    measured.arm.set_shed(false).unwrap();
    assert_eq!(n_read(&mut measured), 11);
    work.run();
    assert_eq!(n_read(&mut measured), 22);
}

/// Traces so many reads of one byte, taking records out as they come where `is_drained`. Gives the events counted, and
/// records made, received and dropped.
fn traced_reads(n: usize, ring_bytes: u32, is_drained: bool) -> [u64; 4] {
    let file = file_of(n);
    let mut work = Waiting::to_run(&format!("exec dd if={} of=/dev/null bs=1 count={n}", file.path().display()));
    let shared = Bpf::open_with_ring(work.node(), GroupLimits::default(), ring_bytes).unwrap();
    let mut tracer = Tracer::new(&shared).unwrap();
    let mut arm = shared.arm(find("fs").unwrap()).unwrap();
    arm.set_states(&[PointState::Trace, PointState::Summary]).unwrap();
    work.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut received = 0;
    let mut check = |traced: Traced| {
        assert!(traced.begin_ns < traced.end_ns && traced.returned >= 0, "{traced:?}");
        received += 1;
    };
    while work.0.try_wait().unwrap().is_none() {
        if is_drained {
            tracer.drain(&mut check);
        }
    }
    arm.set_states(&[PointState::Summary, PointState::Summary]).unwrap();
    while tracer.drain(&mut check) > 0 {}
    let reading = arm.read().unwrap();
    let counted = reading.cells.iter().filter(|(key, _)| key.0 == 0).filter_map(|(_, cell)| cell.count).sum();
    [counted, reading.records_made, received, reading.records_dropped]
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn of_ten_million_traced_events_each_is_received_or_counted_as_dropped() {
    const N: usize = 10_000_000;
    let [counted, made, received, dropped] = traced_reads(N, 16 << 20, true);
    assert!(made >= N as u64 && counted == made, "{counted} counted, {made} made");
    assert_eq!(made, received + dropped);
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_receiver_that_is_stuck_costs_records_and_not_counts() {
    const N: usize = 20_000;
    let [counted, made, received, dropped] = traced_reads(N, 4096, false);
    assert!(made >= N as u64 && counted == made, "{counted} counted, {made} made");
    assert!(received <= 4096 / 56 && made == received + dropped, "{received} received, {dropped} dropped");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn messages_are_counted_by_size_on_both_sides() {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    const N: usize = 500;
    // A thread of this process is the node; no other test sends at the same time, and none sends messages of this size.
    let measured = begin(find("ipc").unwrap(), Node::Tree(std::process::id()));
    let (mut from, mut to) = UnixStream::pair().unwrap();
    let mut bytes = vec![7; 20_000];
    for _ in 0..N {
        from.write_all(&bytes).unwrap();
        to.read_exact(&mut bytes).unwrap();
    }
    let summary = measured.end();
    for point in 0..2 {
        let group = &summary.points[point].groups[&3];
        assert_eq!((group.count, group.returned), (Some(N as u64), Some((N * bytes.len()) as u64)), "point {point}");
    }
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_task_that_sleeps_often_waits_for_a_processor_as_often() {
    // `read` of the shell wakes once for each line that comes.
    let mut work = Waiting::to_run("for i in 1 2 3 4 5 6 7 8; do read line; done");
    let measured = begin(find("scheduling").unwrap(), work.node());
    let mut stdin = work.0.stdin.take().unwrap();
    let sleeps = |pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") S "));
    for _ in 0..9 {
        testkit::wait_until("the shell waits", std::time::Duration::from_secs(10), || {
            sleeps(work.0.id()).then_some(())
        });
        stdin.write_all(b"\n").unwrap();
    }
    assert!(work.0.wait().unwrap().success());
    let woken = &measured.end().points[0].all;
    assert!(woken.count.unwrap() >= 9 && woken.min_ns > Some(0), "{woken:?}");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn what_goes_to_a_device_is_counted_by_size() {
    let file = file_of(0);
    let measured = begin(find("block").unwrap(), Node::Host);
    // Past the page cache, in one request each or more where the file is scattered.
    let script = format!("exec dd if=/dev/zero of={} bs=65536 count=40 oflag=direct", file.path().display());
    if !Command::new("sh").arg("-c").arg(script).stderr(Stdio::null()).status().unwrap().success() {
        eprintln!("SKIPPED: the folder for temporary files has no direct I/O");
        return;
    }
    let write = &measured.end().points[1].all;
    assert!(write.returned.unwrap() >= 40 * 65536 && write.max_ns > Some(0), "{write:?}");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn points_that_a_user_names_are_counted_exactly() {
    unsafe extern "C" {
        fn labs(number: libc::c_long) -> libc::c_long;
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library =
        maps.lines().find_map(|line| line.split_whitespace().nth(5).filter(|path| path.contains("/libc.so.")));
    let text = format!(
        "[[point]]\nlabel = \"execs\"\ntracepoint = \"sched_process_exec\"\n\
         [[point]]\nlabel = \"labs\"\nfunction = \"labs\"\nfile = \"{}\"\nsize = 1\n",
        library.unwrap()
    );
    let measured = begin(kernel::user::subsystem(&text).unwrap(), Node::Tree(std::process::id()));
    for _ in 0..5 {
        assert!(Command::new("true").status().unwrap().success());
    }
    let call: unsafe extern "C" fn(libc::c_long) -> libc::c_long = std::hint::black_box(labs);
    for _ in 0..100 {
        // SAFETY: it takes any number above the least one, and has no effect.
        std::hint::black_box(unsafe { call(300) });
    }
    let summary = measured.end();
    assert_eq!(summary.points[0].all.count, Some(5));
    let group = &summary.points[1].groups[&1];
    assert_eq!((group.count, group.asked), (Some(100), Some(30_000)));
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn probes_of_a_program_are_counted_and_traced_exactly_with_their_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("probed");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/probed.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let options = ["-O2", "-Wall", "-Wextra", "-Werror", source, "-o"];
    assert!(Command::new(compiler).args(options).arg(&program).status().unwrap().success());
    let file = program.display();
    let text = format!(
        "[[point]]\nlabel = \"steps\"\nusdt = \"foretop:step\"\nfile = \"{file}\"\nsize = 1\n\
         fields = {{ number = 1, below = 2 }}\n\
         [[point]]\nlabel = \"others\"\nusdt = \"foretop:step\"\nfile = \"{file}\"\nsize = 2\n\
         [[point]]\nlabel = \"done\"\nusdt = \"foretop:done\"\nfile = \"{file}\"\n"
    );
    let mut work = Waiting(Command::new(&program).arg("100").stdin(Stdio::piped()).spawn().unwrap());
    let user = kernel::user::subsystem(&text).unwrap();
    let mut measured = begin(user, work.node());
    measured.arm.set_states(&[PointState::Trace, PointState::Summary, PointState::Summary]).unwrap();
    let mut tracer = Tracer::new(&measured._shared).unwrap();
    work.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(work.0.wait().unwrap().success());
    let summary = measured.end();
    let [steps, others, done] = [0, 1, 2].map(|point| &summary.points[point].all);
    assert_eq!((steps.count, steps.asked), (Some(100), Some((0..100).map(|i| 1000 + i).sum())));
    // An argument below zero is no size.
    assert_eq!((others.count, others.asked), (Some(100), Some(0)));
    assert_eq!(done.count, Some(1));
    let mut traced = Vec::new();
    while tracer.drain(|one| traced.push(one)) > 0 {}
    assert!(traced.iter().all(|one| one.subsystem == user && one.point == 0));
    // By name: `below` before `number`.
    let fields: Vec<[i64; 2]> = traced.iter().map(|one| [one.fields[0], one.fields[1]]).collect();
    assert_eq!(fields, (0..100).map(|i| [-i, 1000 + i]).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_point_that_the_kernel_lacks_fails_alone() {
    let text = "[[point]]\nlabel = \"nothing\"\ntracepoint = \"no_such_tracepoint\"\n\
                [[point]]\nlabel = \"execs\"\ntracepoint = \"sched_process_exec\"\n\
                [[point]]\nlabel = \"no probe\"\nusdt = \"no:such\"\nfile = \"/bin/sh\"\n";
    let user = kernel::user::subsystem(text).unwrap();
    let shared = Bpf::open(Node::Tree(std::process::id()), GroupLimits::default()).unwrap();
    let mut arm = shared.arm(user).unwrap();
    let missing = arm.missing();
    assert!(
        matches!(&missing[..], [one, other] if one.contains("nothing") && other.contains("no probe")),
        "{missing:?}"
    );
    assert!(Command::new("true").status().unwrap().success());
    assert_eq!(arm.read().unwrap().cells[&(1, 0)].count, Some(1));
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_window_says_what_programs_run_for() {
    let shared = Bpf::open(Node::Tree(std::process::id()), GroupLimits::default()).unwrap();
    let fs = find("fs").unwrap();
    let mut arm = shared.arm(fs).unwrap();
    let read = || drop(std::fs::read("/proc/self/stat").unwrap());
    read();
    arm.begin_account();
    (0..500).for_each(|_| read());
    let ran = arm.end_account().unwrap();
    // Calls of others are passed as well, but counted are those of this process alone.
    assert!(ran.programs.len() == fs.programs.len() && ran.n_runs() >= 1000, "{ran:?}");
    assert!(ran.n_sampled >= 500 && ran.mean_ns(0).unwrap() > 0.0, "{ran:?}");
    let price = kernel::calibrate(&shared, fs).unwrap().price;
    assert!(price.factor([&ran]).is_some_and(|factor| factor.is_finite() && factor > 0.0));
    assert_eq!(arm.end_account(), None);
}
