//! Activities of the kernel on a core and their times, by its tracepoints, for those who may read them.
//!
//! Tracing happens in an instance of our own below tracefs, so that nobody else's settings change; it is removed in the
//! end, and so are those that killed runs left behind. The kernel's text gives microseconds. Writing an event down
//! takes a fraction of one.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process;

use super::cause::{Cause, Verdict};
use super::detour::Detour;

/// Places where tracefs is, if it is mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Prefix of the names of our instances, before the process's number.
const PREFIX: &str = "foretop-noise-";
/// The kernel's buffer for each core. It holds some 100,000 events; when there are more, it keeps the last.
const BUFFER_KB: u32 = 8 << 10;
/// Begin and end of what takes a core from a thread: event, and whose.
const EVENTS: [&str; 5] =
    ["sched/sched_switch", "irq/irq_handler_entry", "irq/irq_handler_exit", "irq/softirq_entry", "irq/softirq_exit"];
/// Interrupts of the core's own, one pair of events each; there on x86 only.
const VECTORS: &str = "irq_vectors";
/// Events read of a core, so that memory has a limit.
const N_EVENTS_MAX: usize = 2_000_000;
/// Activities within each other that are followed.
const N_OPEN_MAX: usize = 64;
/// Events that explain less than this share of a detour do not explain it.
const EXPLAINING_RATIO: f64 = 0.25;
/// Names that are told of a detour.
const N_NAMES: usize = 4;
/// The last digit of the kernel's times.
const STEP_NS: u64 = 1_000;

/// Tracing that is going on. It ends, and its instance goes, when this is dropped.
#[derive(Debug)]
pub(crate) struct Tracer {
    instance: PathBuf,
}

/// Something that had the core for a while.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Activity {
    /// Start, in nanoseconds of the monotonic clock.
    pub start_ns: u64,
    /// End, in nanoseconds of the monotonic clock.
    pub end_ns: u64,
    /// The cause that it counts as.
    pub cause: Cause,
    /// Its name: a thread, an interrupt's device, a soft interrupt.
    pub name: String,
}

/// Activities that were traced on a core.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Activities {
    /// The activities, in the order in which they ended.
    pub all: Vec<Activity>,
    /// Time from which on the record is whole, in nanoseconds of the monotonic clock: the kernel keeps the last events.
    pub whole_from_ns: u64,
}

impl Tracer {
    /// Begins to trace `cpus`.
    ///
    /// # Errors
    /// Why that is not possible, to be told to people: no tracefs, no right to it, no such event.
    pub(crate) fn start(cpus: &[u32]) -> Result<Self, String> {
        let root = PLACES.iter().map(Path::new).find(|place| place.join("instances").is_dir());
        let root = root.ok_or(
            "tracefs is not mounted, or this user may not see it (as root: mount -t tracefs nodev /sys/kernel/tracing)",
        )?;
        remove_left_behind(root);
        let instance = root.join("instances").join(format!("{PREFIX}{}", process::id()));
        fs::create_dir(&instance)
            .map_err(|error| format!("no tracing instance can be made in {}: {error}", root.display()))?;
        let tracer = Self { instance };
        tracer.set_up(cpus).map_err(|(file, error)| format!("tracing cannot be set up: {file}: {error}"))?;
        Ok(tracer)
    }

    fn set_up(&self, cpus: &[u32]) -> Result<(), (String, io::Error)> {
        let write = |file: &str, text: &str| {
            fs::write(self.instance.join(file), text).map_err(|error| (file.to_owned(), error))
        };
        write("tracing_on", "0")?;
        write("trace_clock", "mono")?;
        write("buffer_size_kb", &BUFFER_KB.to_string())?;
        write("tracing_cpumask", &mask(cpus))?;
        for event in EVENTS {
            write(&format!("events/{event}/enable"), "1")?;
        }
        // Entries and exits of all vectors; the other events of that group are rare.
        if self.instance.join("events").join(VECTORS).is_dir() {
            write(&format!("events/{VECTORS}/enable"), "1")?;
        }
        write("tracing_on", "1")
    }

    /// Writes down no more.
    pub(crate) fn pause(&self) {
        // Events that come all the same lie after the last quantum.
        let _ = fs::write(self.instance.join("tracing_on"), "0");
    }

    /// Returns the activities that had core `cpu` beside thread `thread`, once tracing was paused.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub(crate) fn activities(&self, cpu: u32, thread: i32) -> io::Result<Activities> {
        let folder = self.instance.join(format!("per_cpu/cpu{cpu}"));
        let stats = fs::read_to_string(folder.join("stats"))?;
        let trace = BufReader::new(fs::File::open(folder.join("trace"))?);
        activities(trace, &stats, thread)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.pause();
        // What stays behind is removed by the next run.
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Removes instances of processes that are gone.
fn remove_left_behind(root: &Path) {
    let Ok(entries) = fs::read_dir(root.join("instances")) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(Ok(process)) = name.strip_prefix(PREFIX).map(str::parse::<u32>) else { continue };
        if !Path::new("/proc").join(process.to_string()).exists() {
            // Another run may have been quicker.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Formats a set of cores as the kernel reads it: groups of 32 bits, the highest first.
fn mask(cpus: &[u32]) -> String {
    let n_groups = cpus.iter().max().map_or(1, |cpu| cpu / 32 + 1);
    let bits =
        |group: u32| cpus.iter().filter(|&&cpu| cpu / 32 == group).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
    (0..n_groups).rev().map(|group| format!("{:08x}", bits(group))).collect::<Vec<_>>().join(",")
}

fn activities(trace: impl BufRead, stats: &str, thread: i32) -> io::Result<Activities> {
    let is_overrun = stats.lines().any(|line| line.strip_prefix("overrun: ").is_some_and(|count| count.trim() != "0"));
    let mut found = Activities::default();
    let mut open: Vec<(u64, Cause, String)> = Vec::new();
    let mut is_first = true;
    for line in trace.lines().take(N_EVENTS_MAX) {
        let line = line?;
        let Some((at_ns, event, rest)) = event(&line) else { continue };
        if std::mem::take(&mut is_first) && is_overrun {
            found.whole_from_ns = at_ns;
        }
        let (ended, begun) = edges(event, rest, thread);
        // One that began before the record did has no beginning.
        let innermost = ended.and_then(|(cause, name)| {
            open.iter().rposition(|begun| begun.1 == cause && name.as_ref().is_none_or(|name| begun.2 == *name))
        });
        if let Some(idx) = innermost {
            let (start_ns, cause, name) = open.remove(idx);
            found.all.push(Activity { start_ns, end_ns: at_ns, cause, name });
        }
        open.extend(begun.map(|(cause, name)| (at_ns, cause, name)));
        // Without ends, beginnings would heap up.
        open.drain(..open.len().saturating_sub(N_OPEN_MAX));
    }
    Ok(found)
}

/// Time in nanoseconds, name and fields of a line such as
/// `  kworker/1:2-77  [001] d.h2.  5021.123456: local_timer_entry: vector=236`. Names of threads may have spaces and
/// brackets in them.
fn event(line: &str) -> Option<(u64, &str, &str)> {
    if line.starts_with('#') {
        return None;
    }
    let (stamp, rest) = line.match_indices(": ").find_map(|(idx, _)| Some((stamp(&line[..idx])?, &line[idx + 2..])))?;
    let (name, fields) = rest.split_once(':')?;
    Some((stamp, name, fields.trim()))
}

/// The time at the end of a text that ends with the core in brackets, flags, and seconds with six digits.
fn stamp(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace().rev();
    let (seconds, micros) = words.next()?.split_once('.')?;
    let cpu = words.nth(1)?.strip_prefix('[')?.strip_suffix(']')?;
    let is_stamp =
        micros.len() == 6 && [cpu, seconds, micros].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let ns = |text: &str, unit: u64| text.parse::<u64>().ok()?.checked_mul(unit);
    is_stamp.then(|| ns(seconds, 1_000_000_000)?.checked_add(ns(micros, STEP_NS)?)).flatten()
}

/// The activity that an event ends, the innermost of its cause if there is no name, and the one that the event begins.
type Edges = (Option<(Cause, Option<String>)>, Option<(Cause, String)>);

fn edges(event: &str, fields: &str, thread: i32) -> Edges {
    match event {
        "sched_switch" => switch(fields, thread),
        "irq_handler_entry" => (None, field(fields, "name=").map(|name| (Cause::Interrupt, name.to_owned()))),
        "irq_handler_exit" => (Some((Cause::Interrupt, None)), None),
        "softirq_entry" => (None, Some((Cause::SoftInterrupt, action(fields)))),
        "softirq_exit" => (Some((Cause::SoftInterrupt, Some(action(fields)))), None),
        _ => match (event.strip_suffix("_entry"), event.strip_suffix("_exit")) {
            (Some(vector), _) => (None, Some((Cause::Interrupt, vector.replace('_', " ")))),
            (_, Some(vector)) => (Some((Cause::Interrupt, Some(vector.replace('_', " ")))), None),
            _ => (None, None),
        },
    }
}

/// Returns the edges of a switch between threads: what ends and begins is the time of those that are not `thread`.
fn switch(fields: &str, thread: i32) -> Edges {
    let number = |key: &str| field(fields, key)?.split_whitespace().next()?.parse::<i32>().ok();
    let name = field(fields, "next_comm=").and_then(|rest| Some(rest.rsplit_once(" next_pid=")?.0.to_owned()));
    let (Some(from), Some(to), Some(name)) = (number("prev_pid="), number("next_pid="), name) else {
        return (None, None);
    };
    ((from != thread).then_some((Cause::Switch, None)), (to != thread).then_some((Cause::Switch, name)))
}

fn field<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    fields.split_once(key).map(|(_, value)| value)
}

/// `TIMER` of `vec=1 [action=TIMER]`.
fn action(fields: &str) -> String {
    fields.split_once("action=").map_or(fields, |(_, action)| action.trim_end_matches(']')).to_owned()
}

impl Activities {
    /// Judges the detours; `offset_ns` is the time of the monotonic clock when the run's clock shows 0.
    /// `None` for detours from before the record is whole.
    #[must_use]
    pub(crate) fn verdicts(&self, detours: &[Detour], offset_ns: i64) -> Vec<Option<Verdict>> {
        let longest_ns = self.all.iter().map(|activity| activity.end_ns - activity.start_ns).max().unwrap_or(0);
        let on_kernel_clock = |at_ns: u64| at_ns.saturating_add_signed(offset_ns);
        let verdict = |detour: &Detour| {
            let start_ns = on_kernel_clock(detour.at_ns).saturating_sub(STEP_NS);
            let end_ns = on_kernel_clock(detour.at_ns) + (detour.within_ns + detour.length_ns) as u64 + STEP_NS;
            if start_ns < self.whole_from_ns {
                return None;
            }
            let first = self.all.partition_point(|activity| activity.end_ns < start_ns);
            let near = self.all[first..].iter().take_while(|activity| activity.end_ns <= end_ns + longest_ns);
            let inside: Vec<&Activity> = near.filter(|activity| activity.start_ns <= end_ns).collect();
            Some(verdict(&inside, detour.length_ns, (start_ns, end_ns)))
        };
        detours.iter().map(verdict).collect()
    }
}

/// Judges a detour by the activities that lie in its quantum, `bounds`.
fn verdict(inside: &[&Activity], length_ns: f64, bounds: (u64, u64)) -> Verdict {
    // Each may be a step longer than the kernel's text says.
    let overlap_ns = |activity: &Activity| {
        (activity.end_ns.min(bounds.1) + STEP_NS).saturating_sub(activity.start_ns.max(bounds.0)) as f64
    };
    let explained_ns: f64 = inside.iter().map(|activity| overlap_ns(activity)).sum();
    if explained_ns < EXPLAINING_RATIO * length_ns {
        let seen =
            if inside.is_empty() { "the kernel did nothing here" } else { "what the kernel did here is too short" };
        return Verdict::by(Cause::Unattributed, [format!("{seen}: the hypervisor, the firmware or the hardware")]);
    }
    let mut by_name: Vec<(&str, Cause, f64)> = Vec::new();
    for activity in inside {
        match by_name.iter_mut().find(|known| known.0 == activity.name && known.1 == activity.cause) {
            Some(known) => known.2 += overlap_ns(activity),
            None => by_name.push((&activity.name, activity.cause, overlap_ns(activity))),
        }
    }
    by_name.sort_by(|a, b| b.2.total_cmp(&a.2));
    // Several threads after one another are one cause; interrupts within soft interrupts are not to be counted twice.
    let switched_ns: f64 = by_name.iter().filter(|known| known.1 == Cause::Switch).map(|known| known.2).sum();
    let longest = by_name.first().map_or(Cause::Unattributed, |known| known.1);
    let cause = if 2.0 * switched_ns >= explained_ns { Cause::Switch } else { longest };
    Verdict::by(cause, by_name.iter().take(N_NAMES).map(|known| known.0.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "# tracer: nop
#
   foretop-noise-88    [001] d.h2.     5.000100: local_timer_entry: vector=236
   foretop-noise-88    [001] d.h2.     5.000104: local_timer_exit: vector=236
   foretop-noise-88    [001] ..s1.     5.000104: softirq_entry: vec=1 [action=TIMER]
   foretop-noise-88    [001] d.s1.     5.000105: irq_handler_entry: irq=36 name=virtio1-req.0
   foretop-noise-88    [001] d.s1.     5.000107: irq_handler_exit: irq=36 ret=handled
   foretop-noise-88    [001] ..s1.     5.000109: softirq_exit: vec=1 [action=TIMER]
   foretop-noise-88    [001] d..2.     5.001000: sched_switch: prev_comm=foretop-noise prev_pid=88 prev_prio=120 prev_state=R ==> next_comm=a [b]: 3.000001: c next_pid=7 next_prio=120
   a [b]: 3.000001: c-7 [001] d..2.    5.001300: sched_switch: prev_comm=a [b]: 3.000001: c prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=rustc next_pid=9 next_prio=120
           rustc-9      [001] d..2.    5.001400: sched_switch: prev_comm=rustc prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=foretop-noise next_pid=88 next_prio=120
  <broken
";

    fn traced(stats: &str) -> Activities {
        activities(TRACE.as_bytes(), stats, 88).unwrap()
    }

    fn detour(at_ns: u64, length_ns: f64) -> Detour {
        Detour { idx: 0, at_ns, within_ns: 50_000.0, length_ns }
    }

    #[test]
    fn activities_begin_and_end_inside_each_other() {
        let found: Vec<(u64, u64, Cause, String)> = traced("overrun: 0\n")
            .all
            .into_iter()
            .map(|a| (a.start_ns, a.end_ns - a.start_ns, a.cause, a.name))
            .collect();
        assert_eq!(
            found,
            [
                (5_000_100_000, 4_000, Cause::Interrupt, "local timer".to_owned()),
                (5_000_105_000, 2_000, Cause::Interrupt, "virtio1-req.0".to_owned()),
                (5_000_104_000, 5_000, Cause::SoftInterrupt, "TIMER".to_owned()),
                (5_001_000_000, 300_000, Cause::Switch, "a [b]: 3.000001: c".to_owned()),
                (5_001_300_000, 100_000, Cause::Switch, "rustc".to_owned()),
            ]
        );
    }

    #[test]
    fn a_detour_is_of_what_took_most_of_it() {
        // The run's clock is 4 s behind the kernel's.
        let detours = [
            detour(1_000_080_000, 9_000.0),
            detour(1_000_980_000, 400_000.0),
            detour(1_002_000_000, 5_000.0),
            detour(1_000_080_000, 1_200_000.0),
        ];
        let verdicts = traced("overrun: 0\n").verdicts(&detours, 4_000_000_000);
        let causes: Vec<Cause> = verdicts.iter().map(|verdict| verdict.as_ref().unwrap().cause).collect();
        assert_eq!(causes, [Cause::SoftInterrupt, Cause::Switch, Cause::Unattributed, Cause::Switch]);
        assert_eq!(verdicts[0].as_ref().unwrap().evidence, ["TIMER", "local timer", "virtio1-req.0"]);
        assert!(verdicts[2].as_ref().unwrap().evidence[0].starts_with("the kernel did nothing"));
    }

    #[test]
    fn detours_from_before_the_record_are_not_judged() {
        assert_eq!(traced("entries: 4\noverrun: 12\n").verdicts(&[detour(0, 5.0)], 4_000_000_000), [None]);
    }

    #[test]
    fn cores_are_told_to_the_kernel_in_groups_of_32() {
        assert_eq!(mask(&[0, 1]), "00000003");
        assert_eq!(mask(&[1, 33]), "00000002,00000002");
    }

    #[test]
    fn nonsense_is_no_event() {
        for line in [
            "",
            ": ",
            "x: y: z",
            "1.5: a: b",
            "x [001] d 99999999999999999999.000000: a: b",
            "x [x] d 1.000000: a: b",
            "# [001] d 1.000000: a: b",
        ] {
            assert_eq!(event(line), None, "{line}");
        }
    }
}
