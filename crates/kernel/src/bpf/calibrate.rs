//! Prices of probes, measured on the host that pays them.

use std::rc::Rc;

use super::{Bpf, BpfArm, drive};
use crate::{Arguments, Arm, Attach, Drive, Error, Point, Price, Program, Ran, Reading, Subsystem, Timing, Toll};

/// Measurements that a price was derived from, in nanoseconds for each event of the work.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The price.
    pub price: Price,
    /// The work alone.
    pub bare_ns: f64,
    /// The work with the probes attached and all points inactive.
    pub passing_ns: f64,
    /// The work with all points counting.
    pub counting_ns: f64,
    /// Time that the kernel's account of run times adds to a run while it is on; `None` if that is not known.
    pub account_ns: Option<f64>,
}

/// Time to call a program at a tracepoint, in nanoseconds, for programs that the work calls too rarely to measure it,
/// or for which the work hides it.
const CALL_NS: f64 = 70.0;

/// Run time of programs that count and time an event, in nanoseconds, by the kernel's account of several.
const RUN_NS: f64 = 180.0;

/// Number of times that the work is done without probes, with inactive probes, and with counting probes, in turn. A
/// neighbour that slows this processor for as long as one of these lasts would otherwise be taken for a price.
const N_SWEEPS: usize = 4;

/// The fastest times so far.
struct Sweep {
    bare: Work,
    passing: Work,
    counting_ns: f64,
}

/// Times of an event of the work, and of a system call that is of no interest.
#[derive(Clone, Copy)]
struct Work {
    event_ns: f64,
    call_ns: f64,
}

const FOREVER: Work = Work { event_ns: f64::INFINITY, call_ns: f64::INFINITY };

impl Work {
    /// Does the work once more, and keeps the shorter times.
    fn or_faster(self, drive: Drive) -> Self {
        Self {
            event_ns: self.event_ns.min(drive::per_event_ns(drive)),
            call_ns: self.call_ns.min(drive::per_call_ns()),
        }
    }
}

/// Measures the price of a subsystem's probes by doing work that passes them: without probes, with inactive probes,
/// with counting probes. Takes some hundred milliseconds.
///
/// # Errors
/// If the kernel does not take the programs.
pub fn calibrate(shared: &Rc<Bpf>, subsystem: &'static Subsystem) -> Result<Calibration, Error> {
    if subsystem.drive == Drive::None {
        // Nobody makes its events at will, so that its programs are taken to cost what most do.
        let of_function = drive::function().map(|function| price_of_function(shared, function)).transpose()?.flatten();
        let pass_ns = subsystem.programs.iter().map(|program| match program.attach {
            // A probe is passed by a breakpoint, as a function is.
            Attach::UserFunction(..) | Attach::UserProbe(..) => of_function.unwrap_or(FUNCTION_NS),
            _ => CALL_NS + RUN_NS,
        });
        let paid = Toll { pass_ns: pass_ns.collect(), event_ns: 0.0 };
        let seen = Toll { pass_ns: vec![RUN_NS; subsystem.programs.len()], event_ns: 0.0 };
        let price = Price { paid, seen };
        return Ok(Calibration { price, bare_ns: 0.0, passing_ns: 0.0, counting_ns: 0.0, account_ns: None });
    }
    let mut fastest = Sweep { bare: FOREVER, passing: FOREVER, counting_ns: f64::INFINITY };
    let (mut hits, mut n_events) = (Vec::new(), 0.0);
    let (mut ran_passing, mut ran_counting, mut accounted_ns) = (Ran::default(), Ran::default(), f64::INFINITY);
    // Whatever runs first finds caches and the kernel's free lists cold. That would be the work without probes, and
    // prices too low: of a fault's, a single sweep missed up to four fifths.
    let _ = drive::per_event_ns(subsystem.drive);
    for _ in 0..N_SWEEPS {
        fastest.bare = fastest.bare.or_faster(subsystem.drive);

        let mut arm = BpfArm::new(Rc::clone(shared), subsystem)?;
        let states = std::mem::take(&mut arm.settings.states);
        arm.write_settings()?;
        let before = arm.read()?;
        fastest.passing = fastest.passing.or_faster(subsystem.drive);
        hits = hits_between(&before, &arm.read()?);
        arm.begin_account();
        let _ = drive::per_event_ns(subsystem.drive);
        ran_passing = shorter(ran_passing, arm.end_account());

        arm.settings.states = states;
        arm.write_settings()?;
        let before = arm.read()?;
        arm.begin_account();
        accounted_ns = accounted_ns.min(drive::per_event_ns(subsystem.drive));
        ran_counting = shorter(ran_counting, arm.end_account());
        fastest.counting_ns = fastest.counting_ns.min(drive::per_event_ns(subsystem.drive));
        n_events =
            (arm.read()?.n_sampled() - before.n_sampled()) as f64 / (2 * drive::n_events(subsystem.drive)) as f64;
    }
    let Sweep { bare, passing, counting_ns } = fastest;
    let (bare_ns, passing_ns) = (bare.event_ns, passing.event_ns);

    // What programs take is lost in what threads take, so there the kernel's own account has to do.
    if subsystem.drive == Drive::Threads {
        let run_ns = |program| ran_counting.mean_ns(program).unwrap_or(0.0);
        let seen: Vec<f64> = (0..hits.len()).map(run_ns).collect();
        let paid = Toll { pass_ns: seen.iter().map(|run_ns| CALL_NS + run_ns).collect(), event_ns: 0.0 };
        let price = Price { paid, seen: Toll { pass_ns: seen, event_ns: 0.0 } };
        return Ok(Calibration { price, bare_ns, passing_ns, counting_ns, account_ns: None });
    }
    let is_at_calls = subsystem.programs.iter().any(|program| program.attach == Attach::Tracepoint("sys_enter"));
    // Programs at system calls are passed by calls of all kinds, so that a call that is of no interest tells what
    // passing costs.
    let passing_alone_ns = if is_at_calls { passing.call_ns - bare.call_ns } else { passing_ns - bare_ns };
    let most = hits.iter().copied().max().unwrap_or(0);
    let is_driven = |hits: u64| hits > most / 2;
    let n_driven = hits.iter().filter(|hits| is_driven(**hits)).count().max(1);
    let driven_ns = (passing_alone_ns / n_driven as f64).max(0.0);
    let pass_ns = hits.iter().map(|hits| if is_driven(*hits) { driven_ns } else { CALL_NS }).collect();
    let event_ns = ((counting_ns - bare_ns - passing_alone_ns) / n_events.max(1.0)).max(0.0);
    let n_runs = ran_counting.n_runs() as f64 / drive::n_events(subsystem.drive) as f64;
    let account_ns = (n_runs > 0.0).then(|| ((accounted_ns - counting_ns) / n_runs).max(0.0));
    let price = Price { paid: Toll { pass_ns, event_ns }, seen: seen(&ran_passing, &ran_counting) };
    Ok(Calibration { price, bare_ns, passing_ns, counting_ns, account_ns })
}

/// Returns the account that was disturbed less: what takes the processor away from a run is no price.
fn shorter(ran: Ran, other: Option<Ran>) -> Ran {
    let mean_ns = |ran: &Ran| ran.programs.iter().map(|(_, ns)| *ns).sum::<u64>() as f64 / ran.n_runs() as f64;
    // Without runs there is no mean.
    match other {
        Some(other) if ran.n_runs() == 0 || mean_ns(&other) < mean_ns(&ran) => other,
        _ => ran,
    }
}

/// Returns the part of the prices that the kernel's account shows: of runs that found nothing to count, and of counting
/// on top.
fn seen(passing: &Ran, counting: &Ran) -> Toll {
    let pass_ns: Vec<f64> = (0..passing.programs.len()).map(|of| passing.mean_ns(of).unwrap_or(0.0)).collect();
    let ran_ns: u64 = counting.programs.iter().map(|(_, ns)| ns).sum();
    let passed_ns: f64 = counting.programs.iter().zip(&pass_ns).map(|((n, _), price)| price * *n as f64).sum();
    let event_ns = ((ran_ns as f64 - passed_ns) / counting.n_sampled.max(1) as f64).max(0.0);
    Toll { pass_ns, event_ns }
}

/// Price of a function, in nanoseconds, if it cannot be measured, as in a program without shared libraries.
const FUNCTION_NS: f64 = 10_000.0;

/// Measures the cost of a function as a point, from one of this process's own.
fn price_of_function(shared: &Rc<Bpf>, file: &'static str) -> Result<Option<f64>, Error> {
    let attach = Attach::UserFunction(file, drive::FUNCTION, 0, Arguments::default());
    let programs: &'static [Program] =
        Box::leak(Box::new([Program { name: "user_function", attach, without: "its price" }]));
    let point = Point { name: "Price", label: "price", timing: Timing::Counted, is_sized: false };
    let points: &'static [Point] = Box::leak(Box::new([point]));
    let subsystem = Box::leak(Box::new(Subsystem { points, programs, ..crate::user::EMPTY }));
    let bare_ns = drive::per_function_ns();
    let arm = BpfArm::new(Rc::clone(shared), subsystem)?;
    Ok(arm.missing().is_empty().then(|| (drive::per_function_ns() - bare_ns).max(0.0)))
}

fn hits_between(before: &Reading, now: &Reading) -> Vec<u64> {
    now.hits.iter().zip(&before.hits).map(|(now, before)| now - before).collect()
}
