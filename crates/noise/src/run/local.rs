//! Detours on the cores of this host, without MPI: one thread on each core does nothing but quanta of work and looks at
//! the clock.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::thread;
use std::time::Duration;

use clock::Stopwatch;
use mpi_run::{Calibration, ClockQuality, OutcomeError, Writer};
use rustix::thread::gettid;
use statistics::digest::Digest;

use crate::cause::{Cause, Usual, Verdict};
use crate::detour::{Baseline, Detection, Detour, clock_limit_ns, joined};
use crate::injector::{Injected, Injector, bind, monotonic_ns};
use crate::plan::{LocalPlan, Method};
use crate::quanta::{Counts, Lengths, fixed_time, fixed_work, saturated, touched};
use crate::record::{CauseShare, Core, DetourSeen, Envelope, InjectedNoise, Note, SpectrumSeen, TrainSeen, kind};
use crate::spectrum::{Spectrum, losses, merged};
use crate::tracing::{Activities, Tracer};
use crate::train::trains;
use crate::watch::{Watch, Watched};

/// Quanta that tell what an undisturbed one takes, before the run: a twentieth of it, but no more than this.
const N_FIRST_MAX: u64 = 1_000;
/// Detours of a core that are written down, the longest ones; all are counted.
const N_DETOURS_KEPT: usize = 10_000;
/// Stretches of time that an envelope has.
const N_STRETCHES: usize = 600;
/// Pieces of work in a quantum of fixed time, where the clock allows it.
const N_UNITS: f64 = 1_000.0;
/// Looks at the clock, or steps of it, that a piece of such work is at least as long as.
const UNIT_LOOKS_MIN: f64 = 10.0;
/// Time for which a waiting thread sleeps; when the thread wakes, it disturbs a core.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// Kinds of evidence that are told of for a cause.
const N_EVIDENCE_MAX: usize = 6;

/// Results of one thread.
struct Raw {
    cpu: u32,
    thread: i32,
    work: Option<(Lengths, Watched)>,
    time: Option<Counts>,
    injected: Option<Injected>,
}

/// A method's detours on a core, and all that is said of them.
struct Told {
    core: Core,
    detours: Vec<Detour>,
    envelope: Envelope,
    spectrum: Option<SpectrumSeen>,
}

/// Reasons why a host cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// A core that the system does not give.
    #[error("cannot bind a thread to core {cpu}")]
    Bind {
        /// The core.
        cpu: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// No thread.
    #[error("cannot start a thread for core {cpu}")]
    Thread {
        /// The core.
        cpu: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// The result takes no more.
    #[error(transparent)]
    Write(#[from] OutcomeError),
}

/// Does it, and records what was found. `tell` hears seconds done and in all.
///
/// # Errors
/// When a thread cannot be had on its core, or the result not be written.
pub fn run_alone(
    plan: &LocalPlan,
    clock: Stopwatch,
    seed: u64,
    writer: &mut Writer,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<(), LocalError> {
    let quality = ClockQuality::survey(&clock);
    let mut notes = Vec::new();
    let tracer = plan.is_traced.then(|| Tracer::start(&plan.cpus)).and_then(|started| match started {
        Ok(tracer) => Some(tracer),
        Err(why) => {
            notes.push(format!("no kernel events were traced, so causes are by counters: {why}"));
            None
        }
    });
    let offset_ns = monotonic_ns() as i64 - clock.elapsed_ns() as i64;
    let raws = measure(plan, clock, &quality, seed, tell)?;
    if let Some(tracer) = &tracer {
        tracer.pause();
    }
    for raw in raws {
        let events = tracer.as_ref().and_then(|tracer| events(tracer, &raw, &mut notes));
        let judge = Judge { events: events.as_ref(), offset_ns };
        record(&raw, plan, &quality, seed, &judge, writer, &mut notes)?;
    }
    notes.sort();
    notes.dedup();
    Ok(notes.into_iter().try_for_each(|text| writer.record(kind::NOTE, &Note { text }))?)
}

fn events(tracer: &Tracer, raw: &Raw, notes: &mut Vec<String>) -> Option<Activities> {
    let read = tracer.activities(raw.cpu, raw.thread);
    read.map_err(|error| notes.push(format!("the kernel's events on core {} cannot be read: {error}", raw.cpu))).ok()
}

fn measure(
    plan: &LocalPlan,
    clock: Stopwatch,
    quality: &ClockQuality,
    seed: u64,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Raw>, LocalError> {
    thread::scope(|scope| {
        let start = |&cpu: &u32| {
            let builder = thread::Builder::new().name(format!("core {cpu}"));
            let started = builder.spawn_scoped(scope, move || on_core(plan, clock, quality, seed, cpu));
            started.map_err(|source| LocalError::Thread { cpu, source })
        };
        let threads = plan.cpus.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let (begun, total) = (clock.elapsed_ns(), plan.time.as_secs());
        while threads.iter().any(|thread| !thread.is_finished()) {
            clock::sleep(BETWEEN_LOOKS);
            tell(((clock.elapsed_ns() - begun) / 1_000_000_000).min(total), total);
        }
        threads.into_iter().map(|thread| thread.join().expect("a measuring thread does not panic")).collect()
    })
}

/// All methods on one core, by a thread of its own.
fn on_core(plan: &LocalPlan, clock: Stopwatch, quality: &ClockQuality, seed: u64, cpu: u32) -> Result<Raw, LocalError> {
    bind(cpu).map_err(|error| LocalError::Bind { cpu, source: error.into() })?;
    let calibration = Calibration::measure();
    let time = plan.time_of_method();
    let n = (time.as_nanos() / plan.quantum.as_nanos().max(1)) as u64;
    let mut raw = Raw { cpu, thread: gettid().as_raw_nonzero().get(), work: None, time: None, injected: None };
    let injector = plan.injection.map(|injection| Injector::start(cpu, injection)).transpose();
    let injector = injector.map_err(|source| LocalError::Thread { cpu, source })?;
    for method in &plan.methods {
        match method {
            Method::FixedWork => raw.work = Some(by_work(plan, clock, quality, seed, cpu, &calibration)),
            Method::FixedTime => {
                let look_ns = quality.cost_ns.max(quality.resolution_ns as f64);
                let unit_ns = (plan.quantum.as_nanos() as f64 / N_UNITS).max(UNIT_LOOKS_MIN * look_ns);
                let turns = calibration.turns(Duration::from_nanos(unit_ns as u64)).max(1);
                raw.time = Some(fixed_time(&clock, turns, plan.quantum, n, touched(n)));
            }
        }
    }
    raw.injected = injector.map(Injector::stop);
    Ok(raw)
}

fn by_work(
    plan: &LocalPlan,
    clock: Stopwatch,
    quality: &ClockQuality,
    seed: u64,
    cpu: u32,
    calibration: &Calibration,
) -> (Lengths, Watched) {
    let time = plan.time_of_method();
    let turns = calibration.turns(plan.quantum).max(1);
    let n = (time.as_nanos() / plan.quantum.as_nanos().max(1)) as u64;
    // Frequency may rise during a run: room for a quarter more.
    let room = touched(n + n / 4);
    let first = fixed_work(&clock, turns, u64::MAX, touched((n / 20).clamp(20, N_FIRST_MAX)), |_, _, _| false);
    let untold = Baseline { centre_ns: f64::INFINITY, spread_ns: 0.0, limit_ns: 0.0 };
    let baseline = Baseline::of(&first.lengths_ns, clock_limit_ns(quality)).unwrap_or(untold);
    let mut watch = Watch::start(clock, cpu, baseline, seed);
    let until_ns = clock.elapsed_ns() + time.as_nanos() as u64;
    let lengths =
        fixed_work(&clock, turns, until_ns, room, |idx, end_ns, length_ns| watch.after(idx, end_ns, length_ns));
    (lengths, watch.end())
}

/// The kernel's events, if there are any, by which detours are judged.
struct Judge<'a> {
    events: Option<&'a Activities>,
    offset_ns: i64,
}

fn record(
    raw: &Raw,
    plan: &LocalPlan,
    quality: &ClockQuality,
    seed: u64,
    judge: &Judge,
    writer: &mut Writer,
    notes: &mut Vec<String>,
) -> Result<(), LocalError> {
    let work = raw.work.as_ref().map(|(lengths, watched)| told_by_work(raw.cpu, plan, quality, lengths, watched));
    let time = raw.time.as_ref().map(|counts| told_by_time(raw.cpu, quality, counts));
    for told in work.iter().chain(&time) {
        writer.record(kind::CORE, &told.core)?;
        writer.record(kind::ENVELOPE, &told.envelope)?;
        told.spectrum.iter().try_for_each(|spectrum| writer.record(kind::SPECTRUM, spectrum))?;
    }
    // Quanta of fixed work tell a detour's length better, so causes and trains are of those where there are any.
    let Some(told) = work.as_ref().or(time.as_ref()) else { return Ok(()) };
    let watched = raw.work.as_ref().map(|(_, watched)| watched);
    let seen = judged(raw.cpu, &told.detours, watched, judge);
    shares(raw.cpu, &seen).iter().try_for_each(|share| writer.record(kind::CAUSE, share))?;
    longest(seen).iter().try_for_each(|detour| writer.record(kind::DETOUR, detour))?;
    if told.detours.len() > N_DETOURS_KEPT {
        notes.push(format!(
            "core {}: the {N_DETOURS_KEPT} longest of {} detours are written down one by one",
            raw.cpu,
            told.detours.len()
        ));
    }
    notes.extend(watched.into_iter().flat_map(|watched| watched.missing.iter().cloned()));
    let (place, trains) = (format!("core {}", raw.cpu), trains(&told.detours, seed));
    for train in &trains {
        writer.record(kind::TRAIN, &TrainSeen { place: place.clone(), train: train.clone() })?;
    }
    if let (Some(asked), Some(injected)) = (plan.injection, raw.injected.clone()) {
        writer.record(kind::INJECTED, &InjectedNoise::among(&trains, place, asked, injected))?;
    }
    Ok(())
}

fn told_by_work(cpu: u32, plan: &LocalPlan, quality: &ClockQuality, lengths: &Lengths, watched: &Watched) -> Told {
    let clock_limit_ns = clock_limit_ns(quality);
    let detection = Detection::of(&lengths.lengths_ns, clock_limit_ns, None);
    let starts: Vec<u64> = lengths.starts_ns().collect();
    let within = |idx: usize| detection.baseline(idx).map_or(0.0, |baseline| baseline.centre_ns);
    let detour =
        |&(idx, length_ns): &(usize, f64)| Detour { idx, at_ns: starts[idx], within_ns: within(idx), length_ns };
    let detours: Vec<Detour> = detection.detours.iter().map(detour).collect();
    let end_ns = starts.last().copied().unwrap_or(0) + u64::from(lengths.lengths_ns.last().copied().unwrap_or(0));
    let (lost, step_ns) = losses(&detours, starts.first().copied().unwrap_or(0), end_ns, plan.quantum);
    Told {
        core: Core {
            blind_ns: watched.blind_ns,
            ..core(
                cpu,
                Method::FixedWork,
                plan.quantum,
                &detection,
                &detours,
                clock_limit_ns,
                lengths.observed_ns(),
                lengths.lengths_ns.len(),
            )
        },
        envelope: envelope(
            format!("core {cpu}, {}", Method::FixedWork.name()),
            "time of a quantum",
            starts.iter().copied().zip(lengths.lengths_ns.iter().copied()),
        ),
        spectrum: spectrum(cpu, Method::FixedWork, &lost, step_ns),
        detours,
    }
}

fn told_by_time(cpu: u32, quality: &ClockQuality, counts: &Counts) -> Told {
    let clock_limit_ns = clock_limit_ns(quality).max(3.0 * counts.unit_ns());
    let quantum_ns = counts.quantum.as_nanos() as u64;
    let losses_ns = counts.losses_ns();
    let detection = Detection::of(&losses_ns, clock_limit_ns, Some(saturated(quantum_ns)));
    let start_ns = |idx: usize| counts.start_ns + idx as u64 * quantum_ns;
    let detour =
        |(idx, length_ns): (usize, f64)| Detour { idx, at_ns: start_ns(idx), within_ns: quantum_ns as f64, length_ns };
    let detours: Vec<Detour> = joined(&detection.detours).into_iter().map(detour).collect();
    let lost: Vec<f64> = losses_ns.iter().copied().map(f64::from).collect();
    let (lost, step_ns) = merged(&lost, quantum_ns as f64);
    let observed_ns = counts.counts.len() as u64 * quantum_ns;
    Told {
        core: core(
            cpu,
            Method::FixedTime,
            counts.quantum,
            &detection,
            &detours,
            clock_limit_ns,
            observed_ns,
            counts.counts.len(),
        ),
        envelope: envelope(
            format!("core {cpu}, {}", Method::FixedTime.name()),
            "time lost in a quantum",
            losses_ns.iter().enumerate().map(|(idx, &loss)| (start_ns(idx), loss)),
        ),
        spectrum: spectrum(cpu, Method::FixedTime, &lost, step_ns),
        detours,
    }
}

#[allow(clippy::too_many_arguments, reason = "the two methods differ in each of them")]
fn core(
    cpu: u32,
    method: Method,
    quantum: Duration,
    detection: &Detection,
    detours: &[Detour],
    clock_limit_ns: f64,
    observed_ns: u64,
    n_quanta: usize,
) -> Core {
    let unknown = Baseline { centre_ns: 0.0, spread_ns: 0.0, limit_ns: clock_limit_ns };
    let typical = detection.typical().unwrap_or(unknown);
    let quantum_ns = quantum.as_nanos() as f64;
    let is_told = match method {
        Method::FixedWork => !detection.baselines.is_empty(),
        // More than a quantum is not lost in a quantum.
        Method::FixedTime => !detection.baselines.is_empty() && typical.centre_ns + typical.limit_ns < quantum_ns,
    };
    let not_measurable = (!is_told).then(|| "less than a quarter of the quanta were undisturbed".to_owned());
    let mut lengths = Digest::default();
    detours.iter().for_each(|detour| lengths.record(detour.length_ns as u64));
    let lost_ns = detours.iter().fold(0.0, |sum, detour| sum + detour.length_ns);
    let observed = (observed_ns as f64).max(1.0);
    Core {
        cpu,
        method,
        quantum_ns,
        n_quanta: n_quanta as u64,
        centre_ns: typical.centre_ns,
        spread_ns: typical.spread_ns,
        limit_ns: typical.limit_ns,
        clock_limit_ns,
        observed_ns,
        blind_ns: 0,
        n_detours: detours.len() as u64,
        lost_ns,
        lost_ratio: lost_ns / observed,
        detours_per_sec: detours.len() as f64 / observed * 1e9,
        lengths: lengths.summary(),
        slow_ratio: detection.slow_ratio,
        slow_ns: detection.slow_ns,
        not_measurable,
    }
}

fn spectrum(cpu: u32, method: Method, lost: &[f64], step_ns: f64) -> Option<SpectrumSeen> {
    // Where nothing was lost, there is no spectrum to be had.
    let Spectrum { step_ns, points, peaks } = Spectrum::of(lost, step_ns).ok()?;
    Some(SpectrumSeen { cpu, method, step_ns, points, peaks })
}

/// Shortest and longest in each of a few hundred stretches of time.
pub(super) fn envelope(name: String, what: &str, pieces: impl Iterator<Item = (u64, u32)> + Clone) -> Envelope {
    let first_ns = pieces.clone().next().map_or(0, |piece| piece.0);
    let last_ns = pieces.clone().last().map_or(0, |piece| piece.0);
    let stretch_ns = ((last_ns - first_ns) / N_STRETCHES as u64).max(1);
    let mut stretches: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for (at_ns, length_ns) in pieces {
        let length_ns = f64::from(length_ns);
        let ends = stretches.entry((at_ns - first_ns) / stretch_ns).or_insert((length_ns, length_ns));
        *ends = (ends.0.min(length_ns), ends.1.max(length_ns));
    }
    let middle = |stretch: u64| (stretch as f64 + 0.5) * stretch_ns as f64 / 1e9;
    let points = stretches.into_iter().map(|(stretch, (low, high))| (middle(stretch), low, high)).collect();
    Envelope { name, what: what.to_owned(), points }
}

/// Returns each detour with its cause: by the kernel's events if there are any of that time, else by its counters.
fn judged(cpu: u32, detours: &[Detour], watched: Option<&Watched>, judge: &Judge) -> Vec<DetourSeen> {
    let looks: HashMap<usize, &crate::cause::Look> =
        watched.into_iter().flat_map(|watched| &watched.looks).filter_map(|look| Some((look.detour?, look))).collect();
    let usual = watched.map_or_else(Usual::default, |watched| Usual::of(&watched.looks));
    let by_events = judge.events.map(|events| events.verdicts(detours, judge.offset_ns));
    let by_counters = |detour: &Detour| {
        let (watched, look) = (watched?, looks.get(&detour.idx)?);
        let mut verdict = Verdict::of(look, detour.length_ns, &usual, watched.is_interrupt_time_known);
        verdict.evidence.iter_mut().for_each(|evidence| describe(evidence, &watched.descriptions));
        Some((verdict, look.window_ns))
    };
    let judged = |(position, detour): (usize, &Detour)| {
        let traced = by_events.as_ref().and_then(|verdicts| verdicts[position].clone()).map(|verdict| (verdict, 0));
        let unread = || (Verdict::by(Cause::Unread, []), 0);
        let (verdict, window_ns) = traced.or_else(|| by_counters(detour)).unwrap_or_else(unread);
        DetourSeen {
            cpu,
            at_ns: detour.at_ns,
            length_ns: detour.length_ns,
            cause: verdict.cause,
            evidence: verdict.evidence,
            window_ns,
        }
    };
    detours.iter().enumerate().map(judged).collect()
}

/// Puts the device or purpose beside an interrupt's label.
fn describe(evidence: &mut String, descriptions: &[(Box<str>, String)]) {
    if let Some((label, description)) = descriptions.iter().find(|(label, _)| **label == **evidence) {
        *evidence = format!("{label} {description}");
    }
}

fn shares(cpu: u32, seen: &[DetourSeen]) -> Vec<CauseShare> {
    let mut by_cause: BTreeMap<Cause, (u64, f64, BTreeMap<&str, u64>)> = BTreeMap::new();
    for detour in seen {
        let share = by_cause.entry(detour.cause).or_default();
        share.0 += 1;
        share.1 += detour.length_ns;
        // How long a detour waited is its own; names are not.
        let names = detour.evidence.iter().filter(|evidence| !evidence.contains(" us "));
        names.for_each(|name| *share.2.entry(name).or_default() += 1);
    }
    let share = |(cause, (n_detours, lost_ns, names)): (Cause, (u64, f64, BTreeMap<&str, u64>))| {
        let mut evidence: Vec<(String, u64)> =
            names.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        evidence.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        evidence.truncate(N_EVIDENCE_MAX);
        CauseShare { cpu, cause, n_detours, lost_ns, evidence }
    };
    by_cause.into_iter().map(share).collect()
}

/// The longest ones, in the order of time.
fn longest(mut seen: Vec<DetourSeen>) -> Vec<DetourSeen> {
    if seen.len() > N_DETOURS_KEPT {
        seen.sort_by(|a, b| b.length_ns.total_cmp(&a.length_ns));
        seen.truncate(N_DETOURS_KEPT);
        seen.sort_by_key(|detour| detour.at_ns);
    }
    seen
}

#[cfg(test)]
mod tests {
    use mpi_run::{Header, Measurement, Placement};

    use super::*;
    use crate::Noise;

    fn seen(cause: Cause, length_ns: f64, evidence: &[&str]) -> DetourSeen {
        let evidence = evidence.iter().map(|text| (*text).to_owned()).collect();
        DetourSeen { cpu: 0, at_ns: 0, length_ns, cause, evidence, window_ns: 0 }
    }

    #[test]
    fn causes_have_their_share_and_commonest_evidence() {
        let all = [
            seen(Cause::Interrupt, 5.0, &["LOC", "RES"]),
            seen(Cause::Switch, 50.0, &["waited 3.0 us for the core"]),
            seen(Cause::Interrupt, 7.0, &["LOC"]),
        ];
        let shares = shares(3, &all);
        let told: Vec<_> = shares.iter().map(|share| (share.cause, share.n_detours, share.lost_ns)).collect();
        assert_eq!(told, [(Cause::Switch, 1, 50.0), (Cause::Interrupt, 2, 12.0)]);
        assert_eq!(shares[1].evidence, [("LOC".to_owned(), 2), ("RES".to_owned(), 1)]);
        assert!(shares[0].evidence.is_empty());
    }

    #[test]
    fn an_envelope_keeps_every_extreme() {
        let pieces = (0..100_000_u64).map(|k| (k * 1_000 + 7, if k == 41_234 { 99 } else { 5 + (k % 2) as u32 }));
        let envelope = envelope("e".to_owned(), "w", pieces);
        assert!((N_STRETCHES..=N_STRETCHES + 1).contains(&envelope.points.len()), "{}", envelope.points.len());
        let highest = envelope.points.iter().max_by(|a, b| a.2.total_cmp(&b.2)).unwrap();
        assert_eq!(highest.2, 99.0);
        assert!((highest.0 - 0.041_234).abs() < 2e-4);
        assert_eq!(super::envelope(String::new(), "w", std::iter::empty()).points, []);
    }

    #[test]
    fn nothing_judges_a_detour_that_nobody_looked_at() {
        let detour = Detour { idx: 4, at_ns: 5, within_ns: 1.0, length_ns: 9.0 };
        let judged = judged(0, &[detour], None, &Judge { events: None, offset_ns: 0 });
        assert_eq!((judged[0].cause, judged[0].window_ns), (Cause::Unread, 0));
    }

    #[test]
    fn a_short_run_on_this_host_records_what_it_watched() {
        let cpu = mpi_run::allowed_cpus()[0];
        let plan = LocalPlan {
            time: Duration::from_millis(100),
            quantum: Duration::from_micros(100),
            methods: vec![Method::FixedWork, Method::FixedTime],
            cpus: vec![cpu],
            injection: None,
            is_traced: false,
        };
        let clock = Stopwatch::start();
        let header = Header::of(&Noise, "none".to_owned(), Vec::new(), 1, vec![Placement::alone(&clock)]);
        let mut writer = Writer::create(None, &header).unwrap();
        run_alone(&plan, clock, 1, &mut writer, &mut |_, _| {}).unwrap();
        let cores: Vec<Core> = writer.outcome().all(kind::CORE).unwrap();
        assert_eq!(cores.iter().map(|core| core.method).collect::<Vec<_>>(), plan.methods);
        for core in &cores {
            assert!(core.n_quanta > 0 && core.lost_ratio >= 0.0 && core.lost_ns <= core.observed_ns as f64, "{core:?}");
            assert!(core.limit_ns >= core.clock_limit_ns && core.n_detours == core.lengths.count, "{core:?}");
        }
        assert!(Noise.table(writer.outcome()).unwrap().contains(&format!("core {cpu}")));
    }
}
