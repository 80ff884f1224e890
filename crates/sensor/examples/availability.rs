//! Compares every CPU availability sensor with what a real process gets, under loads that this program makes.
//!
//! Usage: `cargo run --release -p sensor --example availability [SCENARIO…]`. For each scenario the load runs, the
//! sensors are read once a second, and then a test process spins for some seconds; the error of a sensor is how far
//! its last value before that is from the test's CPU clock over the wall clock. As in "Predicting the CPU availability
//! of time-shared Unix systems", section 2.2. Some scenarios need root and are left out without it.
#![allow(clippy::print_stdout, reason = "the table is what the program is for")]

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use sensor::{Host, HybridSettings, Readings};

/// How long the load runs before the first test.
const WARM_UP: Duration = Duration::from_secs(15);
/// How long each test process spins.
const TEST: Duration = Duration::from_secs(8);
/// How long the sensors are read between two tests.
const PAUSE: Duration = Duration::from_secs(12);
/// How many tests there are in each scenario.
const N_TESTS: usize = 3;

const SENSORS: [&str; 5] = [
    "cpu.availability",
    "cpu.availability.2",
    "cpu.availability.vmstat",
    "cpu.availability.loadavg",
    "cpu.availability.hybrid",
];

/// A load: its name, what is run before each of its programs, and the programs.
struct Scenario {
    name: &'static str,
    loads: &'static [(&'static [&'static str], &'static str)],
    group: Option<&'static str>,
}

const PLAIN: &[&str] = &[];
const NICED: &[&str] = &["nice", "-n", "19"];
const REAL_TIME: &[&str] = &["chrt", "-f", "1"];

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "idle", loads: &[], group: None },
    Scenario { name: "niced-spinners", loads: &[(NICED, "spin"), (NICED, "spin")], group: None },
    Scenario { name: "one-spinner", loads: &[(PLAIN, "spin")], group: None },
    Scenario { name: "two-spinners", loads: &[(PLAIN, "spin"), (PLAIN, "spin")], group: None },
    Scenario { name: "four-spinners", loads: &[(PLAIN, "spin"); 4], group: None },
    Scenario { name: "four-threads", loads: &[(PLAIN, "threads")], group: None },
    Scenario { name: "bursty", loads: &[(PLAIN, "burst"); 3], group: None },
    Scenario { name: "bursty-and-spinner", loads: &[(PLAIN, "burst"), (PLAIN, "burst"), (PLAIN, "spin")], group: None },
    Scenario { name: "fork-storm", loads: &[(PLAIN, "fork"); 3], group: None },
    Scenario { name: "real-time", loads: &[(REAL_TIME, "spin")], group: None },
    Scenario { name: "limited-to-half", loads: &[], group: Some("50000") },
    Scenario { name: "limited-with-spinner", loads: &[(PLAIN, "spin")], group: Some("150000") },
];

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("spin") => spin(Duration::MAX),
        Some("threads") => thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| spin(Duration::MAX))))),
        Some("burst") => burst(),
        Some("fork") => fork()?,
        Some("test") => println!("{}", test()?),
        _ => compare(&arguments)?,
    }
    Ok(())
}

fn compare(names: &[String]) -> io::Result<()> {
    println!("{:22} {:>6}  mean absolute error of {} tests", "scenario", "got", N_TESTS);
    print!("{:22} {:>6}", "", "");
    SENSORS.iter().for_each(|sensor| print!("  {:>24}", sensor));
    println!();
    for scenario in SCENARIOS.iter().filter(|one| names.is_empty() || names.iter().any(|name| name == one.name)) {
        match run(scenario) {
            Ok(errors) => println!("{errors}"),
            Err(error) => println!("{:22} left out: {error}", scenario.name),
        }
    }
    Ok(())
}

/// Runs one scenario, and gives its line of the table.
fn run(scenario: &Scenario) -> io::Result<String> {
    let _group = scenario.group.map(LimitedGroup::enter).transpose()?;
    let loads = scenario.loads.iter().map(|(before, program)| Load::start(before, program));
    let _loads: Vec<Load> = loads.collect::<io::Result<_>>()?;
    let mut host = Host::open(Path::new("/")).map_err(io::Error::other)?;
    host.start_hybrid(HybridSettings::default()).map_err(io::Error::other)?;
    let start = Instant::now();
    watch(&mut host, start, WARM_UP);
    let mut errors: BTreeMap<&str, f64> = BTreeMap::new();
    let mut sum = 0.0;
    for _ in 0..N_TESTS {
        let said = watch(&mut host, start, PAUSE);
        let one = got(1)?;
        let two = got(2)?;
        sum += one;
        if env::var_os("VERBOSE").is_some() {
            let said = said.iter().filter(|(id, _)| id.starts_with("cpu.availability"));
            println!("  got {one:.3} and {two:.3}: {:.3?}", said.collect::<Vec<_>>());
        }
        for sensor in SENSORS {
            let truth = if sensor.ends_with(".2") { two } else { one };
            *errors.entry(sensor).or_default() += said.get(sensor).map_or(f64::NAN, |value| (value - truth).abs());
        }
    }
    let line = SENSORS.iter().map(|sensor| format!("  {:>22.1} %", 100.0 * errors[sensor] / N_TESTS as f64));
    Ok(format!("{:22} {:>6.3}{}", scenario.name, sum / N_TESTS as f64, line.collect::<String>()))
}

/// Reads the sensors once a second for `span`, and gives the last of each.
fn watch(host: &mut Host, start: Instant, span: Duration) -> BTreeMap<String, f64> {
    let mut readings = Readings::default();
    let end = Instant::now() + span;
    while Instant::now() < end {
        thread::sleep(Duration::from_secs(1));
        host.read(start.elapsed(), &mut readings);
    }
    readings.iter().map(|(signal, value)| (signal.id().to_string(), value)).collect()
}

/// What `n` test processes get together that start at this moment.
fn got(n: usize) -> io::Result<f64> {
    let start = || Command::new(env::current_exe()?).arg("test").stdout(Stdio::piped()).spawn();
    let tests: Vec<Child> = (0..n).map(|_| start()).collect::<io::Result<_>>()?;
    let mut sum = 0.0;
    for test in tests {
        let output = test.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        sum += text.trim().parse::<f64>().map_err(io::Error::other)?;
    }
    Ok(sum)
}

/// Spins for a while, and gives the CPU time that it had over the wall time that passed.
fn test() -> io::Result<f64> {
    let used_ns = || -> io::Result<u64> {
        let text = fs::read_to_string("/proc/self/schedstat")?;
        text.split(' ').next().unwrap_or_default().parse().map_err(io::Error::other)
    };
    let (start, used) = (Instant::now(), used_ns()?);
    spin(TEST);
    Ok((used_ns()? - used) as f64 / start.elapsed().as_nanos() as f64)
}

fn spin(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        (0..10_000).for_each(|step| _ = std::hint::black_box(step));
    }
}

/// Works for 30 ms of CPU time on average and sleeps as long.
fn burst() {
    // Any constant with many bits; each process starts where its number is.
    let mut state = u64::from(std::process::id()) * 0x9E37_79B9_7F4A_7C15;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        -(1.0 - (state >> 11) as f64 / (1_u64 << 53) as f64).ln()
    };
    // How much counting is a millisecond, when nobody else runs.
    let count = |n: u64| (0..n).for_each(|step| _ = std::hint::black_box(step));
    let fastest = (0..20).map(|_| {
        let start = Instant::now();
        count(1_000_000);
        start.elapsed()
    });
    let per_ms = 1e6 / fastest.min().map_or(1.0, |span| span.as_secs_f64() * 1e3);
    loop {
        count((30.0 * random() * per_ms) as u64);
        thread::sleep(Duration::from_secs_f64(0.03 * random()));
    }
}

/// One process after the other, each gone at once.
fn fork() -> io::Result<()> {
    loop {
        Command::new("/bin/true").status()?;
    }
}

/// A program that runs until this is dropped.
struct Load(Child);

impl Load {
    fn start(before: &[&str], program: &str) -> io::Result<Load> {
        let own = env::current_exe()?;
        let mut command = match before {
            [] => Command::new(own),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(own);
                command
            }
        };
        Ok(Load(command.arg(program).spawn()?))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // A program that has ended by itself is as good as one that was killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group with a limit, which this process is in until this is dropped.
struct LimitedGroup {
    path: std::path::PathBuf,
    parent: std::path::PathBuf,
}

impl LimitedGroup {
    fn enter(quota_us: &str) -> io::Result<LimitedGroup> {
        let is_v1 = Path::new("/sys/fs/cgroup/cpu/cpu.shares").exists();
        let parent = Path::new(if is_v1 { "/sys/fs/cgroup/cpu" } else { "/sys/fs/cgroup" }).to_owned();
        let path = parent.join("foretop-availability");
        fs::create_dir_all(&path)?;
        let group = LimitedGroup { path, parent };
        match is_v1 {
            true => fs::write(group.path.join("cpu.cfs_quota_us"), quota_us)?,
            false => fs::write(group.path.join("cpu.max"), format!("{quota_us} 100000"))?,
        }
        fs::write(group.path.join("cgroup.procs"), std::process::id().to_string())?;
        Ok(group)
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        // What fails here leaves an empty group behind, and the line of the table is as good.
        let _ = fs::write(self.parent.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.path);
    }
}
