//! Cost of watching: the same work with probes and without, in pairs.

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::ops::AddAssign;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use clock::thread_cpu;
use kernel::{Attach, Subsystem, SubsystemCost, Summary};
use kernel_study::Answer;
use kernel_study::machine::{Watched, overhead};
use program::Failure;

use super::Bench;
use super::eye::Eye;
use crate::command::failed;

/// A row of the table.
struct Case {
    what: &'static str,
    on: &'static [&'static str],
    traced: &'static [(&'static str, &'static str)],
    interval: Duration,
}

const SECOND: Duration = Duration::from_secs(1);
const ALL: &[&str] = &["cpu", "task", "vm", "fs", "ipc", "block", "scheduling"];

const fn case(what: &'static str, on: &'static [&'static str], interval: Duration) -> Case {
    Case { what, on, traced: &[], interval }
}

const CASES: &[Case] = &[
    case("cpu", &["cpu"], SECOND),
    case("task", &["task"], SECOND),
    case("vm", &["vm"], SECOND),
    case("fs", &["fs"], SECOND),
    case("ipc", &["ipc"], SECOND),
    case("block", &["block"], SECOND),
    case("scheduling", &["scheduling"], SECOND),
    case("all", ALL, Duration::from_millis(10)),
    case("all", ALL, Duration::from_millis(100)),
    case("all", ALL, SECOND),
    Case { what: "all, reads traced", on: ALL, traced: &[("fs", "Read")], interval: SECOND },
    case("cpu", &["cpu"], Duration::from_secs(10)),
    case("all", ALL, Duration::from_secs(10)),
];

const QUICK_INTERVAL: Duration = Duration::from_millis(50);
const QUICK_CASES: &[Case] = &[
    case("cpu", &["cpu"], QUICK_INTERVAL),
    case("fs", &["fs"], QUICK_INTERVAL),
    Case { what: "fs, reads traced", on: &["fs"], traced: &[("fs", "Read")], interval: QUICK_INTERVAL },
];

/// Pairs of each case. Four make no interval of 95 % that is worth the name.
const N_PAIRS: usize = 7;
const QUICK_PAIRS: usize = 2;

/// Rounds of the work in each run of a case whose pulls are a second apart or less.
const N_ROUNDS: u32 = 4_000;
const QUICK_ROUNDS: u32 = 300;
/// No round is shorter, so that each run has a pull before its end.
const ROUND_MIN: Duration = Duration::from_micros(250);

pub fn answer(bench: &Bench) -> Result<Vec<Answer>, Failure> {
    let (cases, n_pairs) = if bench.is_quick { (QUICK_CASES, QUICK_PAIRS) } else { (CASES, N_PAIRS) };
    let mut eye = Eye::open()?;
    let mut work = Work::begin(bench.scratch).map_err(Failure::of)?;
    let watched = cases.iter().map(|case| pairs(case, n_pairs, bench, &mut eye, &mut work));
    let watched = watched.collect::<Result<Vec<_>, _>>()?;
    let conditions = format!(
        "{n_pairs} pairs of runs of the same work in turn, off and on; each round of the work computes, reads a file ({N_READS}), sends itself messages ({N_MESSAGES}) and \
         touches new memory. Added is processor time of the work (median, and the bootstrap's 95 %), beside what the probes that it passed account for; the agent is a share of a core"
    );
    Ok(vec![overhead(&watched, conditions)])
}

fn pairs(case: &Case, n_pairs: usize, bench: &Bench, eye: &mut Eye, work: &mut Work) -> Result<Watched, Failure> {
    let find = |name: &str| kernel::find(name).map_err(failed);
    let on = case.on.iter().map(|name| find(name)).collect::<Result<Vec<&'static Subsystem>, _>>()?;
    let traced = case.traced.iter().map(|(of, point)| Ok((find(of)?, *point))).collect::<Result<Vec<_>, Failure>>()?;
    let for_pulls = case.interval.as_nanos().div_ceil(ROUND_MIN.as_nanos()) as u32;
    let n_rounds = if bench.is_quick { QUICK_ROUNDS } else { N_ROUNDS.max(for_pulls) };
    let mut pairs = Vec::new();
    let (mut n_events, mut account_ns, mut off_sum_ns) = (0, 0.0, 0.0);
    let (mut agent, mut elapsed_ns) = (Duration::ZERO, 0);
    for number in 0..n_pairs {
        bench.go_on()?;
        // Which of the two is first alternates.
        let before = if number % 2 == 0 { Some(run(n_rounds, work)?) } else { None };
        eye.turn(&on, &traced)?;
        let seen = eye.watch(case.interval, || run(n_rounds, work))?;
        n_events += seen.n_events();
        account_ns += account(&seen.pulled, f64::from(n_rounds) * CALLS);
        agent += seen.agent;
        elapsed_ns += seen.elapsed_ns;
        eye.off();
        let on_ns = seen.done?;
        let off_ns = match before {
            Some(off_ns) => off_ns,
            None => run(n_rounds, work)?,
        };
        off_sum_ns += off_ns;
        pairs.push([off_ns, on_ns]);
    }
    let elapsed_s = elapsed_ns as f64 / 1e9;
    Ok(Watched {
        what: case.what.into(),
        interval_s: case.interval.as_secs_f64(),
        pairs,
        events_per_sec: n_events as f64 / elapsed_s,
        account: account_ns / off_sum_ns,
        agent_cores: agent.as_secs_f64() / elapsed_s,
    })
}

/// Nanoseconds that the work paid for probes, by their prices. Neighbours pass them too: of the passes of system calls
/// the work's share is known, and of all others as many are its as its counted events may have made.
fn account(pulled: &[(Summary, SubsystemCost)], n_calls: f64) -> f64 {
    let mut by_subsystem: BTreeMap<&str, Passes> = BTreeMap::new();
    for (summary, cost) in pulled {
        let passes = by_subsystem.entry(summary.subsystem.name).or_default();
        let span_ns = summary.span_ns() as f64;
        passes.passing_ns += cost.passing_cores * span_ns;
        passes.counting_ns += cost.counting_cores * span_ns;
        passes.n_events += summary.n_sampled as f64;
        for (program, hits) in summary.subsystem.programs.iter().zip(&summary.hits) {
            match program.attach {
                Attach::Tracepoint("sys_enter" | "sys_exit") => passes.by_calls.entry(program.name).or_default(),
                _ => &mut passes.n_others,
            }
            .add_assign(*hits as f64);
        }
    }
    by_subsystem.values().map(|passes| passes.counting_ns + passes.own_passing_ns(n_calls)).sum()
}

/// The number of times that probes of a subsystem were passed on the whole host, and the time that passing and counting
/// took.
#[derive(Default)]
struct Passes {
    passing_ns: f64,
    counting_ns: f64,
    n_events: f64,
    /// The number of events by system calls, for each program.
    by_calls: BTreeMap<&'static str, f64>,
    n_others: f64,
}

/// Programs that an event passes beside those at system calls: at most one at its begin and one at its end.
const PASSES: f64 = 2.0;

impl Passes {
    fn own_passing_ns(&self, n_calls: f64) -> f64 {
        let all = self.by_calls.values().sum::<f64>() + self.n_others;
        let by_calls: f64 = self.by_calls.values().map(|n| n.min(n_calls)).sum();
        let own = by_calls + self.n_others.min(PASSES * self.n_events);
        self.passing_ns * own / all.max(1.0)
    }
}

/// Nanoseconds of processor time that rounds of the work take.
fn run(n_rounds: u32, work: &mut Work) -> Result<f64, Failure> {
    let before = thread_cpu();
    (0..n_rounds).try_for_each(|_| work.round()).map_err(Failure::of)?;
    Ok((thread_cpu() - before).as_nanos() as f64)
}

const N_READS: usize = 2;
const N_MESSAGES: usize = 1;
const N_PAGES: usize = 1;
/// System calls of a round: a message is sent and received, and memory is mapped and unmapped.
const CALLS: f64 = (N_READS + 2 * N_MESSAGES + 2) as f64;
/// Each takes as long as a multiplication, and waits for the one before.
const N_STEPS: u64 = 200_000;
const PAGE: usize = 4096;
/// More than the allocator ever keeps, so that its pages are new each time.
const MAPPED_BYTES: usize = 33 << 20;

/// Work that passes the probes of most subsystems.
struct Work {
    file: File,
    ends: (UnixStream, UnixStream),
    sum: u64,
}

impl Work {
    fn begin(folder: &Path) -> io::Result<Self> {
        let path = folder.join("work");
        std::fs::write(&path, [1; PAGE])?;
        Ok(Self { file: File::open(path)?, ends: UnixStream::pair()?, sum: 0 })
    }

    fn round(&mut self) -> io::Result<()> {
        for step in 0..N_STEPS {
            self.sum = black_box(self.sum.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
        }
        let mut bytes = [0; 64];
        for _ in 0..N_READS {
            self.file.read_exact_at(&mut bytes, 0)?;
        }
        for _ in 0..N_MESSAGES {
            self.ends.0.write_all(&bytes)?;
            self.ends.1.read_exact(&mut bytes)?;
        }
        let mut pages = vec![0_u8; MAPPED_BYTES];
        for page in 0..N_PAGES {
            pages[page * PAGE] = 1;
        }
        black_box(&pages);
        Ok(())
    }
}
