//! Checks that must hold at the end, computed from the observations. Each check has numbers, and a test that breaks it.

use std::collections::BTreeMap;
use std::time::Duration;

use units::{Timestamp, span};

use crate::node::Held;
use crate::plan::Fault;
use crate::server::Told;

/// Largest difference between a label and the moment at which its value was sent, by the node's clock: the step by
/// which that clock is set back for a while, and the delay of a busy machine.
const LABEL_OFF_MAX: Duration = Duration::from_millis(4500);

/// Time whose samples a kill may lose: the last second, which was not written, and a read whose answer had just
/// arrived.
const KILL_LOSS: Duration = Duration::from_millis(1500);

/// Time whose samples a kill may lose on their way to a server: they are buffered once a second.
const KILL_LOSS_WRITTEN: Duration = Duration::from_millis(3000);

/// Time after a fault during which a node may still be unwell: retries come within seconds, and a shared machine is
/// slow.
pub const WELL_WITHIN: Duration = Duration::from_secs(30);

/// Memory that a process may have gained in a round: a share, what histories of young series and backlogs that were
/// written take, and what the allocator keeps of dear fits that were made at once.
const MEMORY_GAIN: (f64, u64) = (1.05, 12 << 20);

/// Descriptors that it may have gained: connections to its neighbours that are idle.
const DESCRIPTOR_GAIN: usize = 6;

/// A fault, and when it was on.
#[derive(Clone, Debug)]
pub struct Window {
    pub fault: Fault,
    pub from: Timestamp,
    pub lifted: Timestamp,
    /// When the node called itself well again.
    pub well: Option<Timestamp>,
    pub was_degraded: bool,
    /// Response times of the forecasts that were requested beside clients with dear models.
    pub answers: Vec<Duration>,
}

/// Observations from a run.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub windows: Vec<Window>,
    /// Offsets of the node's clock ahead of this process's, each with the moment from which it holds.
    pub clock: Vec<(Timestamp, Duration)>,
    /// Values that the exporter sent.
    pub told: Vec<Told>,
    /// Values of the exporter's metric that the node returned, by label.
    pub stored: Vec<Told>,
    /// Values that the remote-write server received, in the order of arrival.
    pub written: Vec<Told>,
    /// Pushes while hostile clients were there, and those that were not answered well.
    pub pushes: (usize, usize),
    /// Messages of the stream that were read, and those that were not later than the one before.
    pub frames: (u64, u64),
    /// Scores and forecasts of the series that was pushed: here, and in a quiet node.
    pub scores: (String, String),
    /// Each process some seconds after its start, and at its end.
    pub held: Vec<(Held, Held)>,
    /// Time limit for those forecasts at the 99th percentile, if it is checked.
    pub answers_within: Option<Duration>,
    /// Exit status of the node, asked to end.
    pub status: Option<i32>,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub what: &'static str,
    pub figure: String,
    pub bound: String,
    pub is_met: bool,
}

impl Verdict {
    /// Nothing of `n` may be wrong.
    fn none_of(what: &'static str, n_wrong: usize, n: usize) -> Self {
        Self {
            what,
            figure: format!("{n_wrong} of {n}"),
            bound: "0, of some".to_owned(),
            is_met: n_wrong == 0 && n > 0,
        }
    }
}

/// Everything that must hold.
pub fn verdicts(seen: &Evidence) -> Vec<Verdict> {
    let mut all = vec![in_order(seen), as_told(seen), lost(seen)];
    all.extend(written(seen));
    let (n_frames, n_disorderly) = seen.frames;
    all.push(Verdict::none_of("stream messages out of order", n_disorderly as usize, n_frames as usize));
    let (n_pushes, n_refused) = seen.pushes;
    all.push(Verdict::none_of("pushes refused beside hostile clients", n_refused, n_pushes));
    all.push(scores(seen));
    all.extend(held(seen));
    all.extend(health(seen));
    all.extend(seen.answers_within.map(|limit| answers(seen, limit)));
    all.push(Verdict {
        what: "exit status",
        figure: seen.status.map_or_else(|| "killed".to_owned(), |status| status.to_string()),
        bound: "0".to_owned(),
        is_met: seen.status == Some(0),
    });
    all
}

/// The exporter counts its answers, so a sample that is labelled twice, or out of order, is seen.
fn in_order(seen: &Evidence) -> Verdict {
    let is_after = |pair: &&[Told]| pair[0].at < pair[1].at && pair[0].value < pair[1].value;
    let n_wrong = seen.stored.windows(2).filter(|pair| !is_after(pair)).count();
    Verdict::none_of("samples out of order or labelled twice", n_wrong, seen.stored.len())
}

fn as_told(seen: &Evidence) -> Verdict {
    let told: BTreeMap<u64, Timestamp> = seen.told.iter().map(|told| (told.value as u64, told.at)).collect();
    let is_right = |sample: &&Told| {
        told.get(&(sample.value as u64)).is_some_and(|at| {
            let ahead =
                seen.clock.iter().rev().find(|(from, _)| from <= at).map_or(Duration::ZERO, |(_, ahead)| *ahead);
            let at = *at + ahead;
            sample.at.saturating_since(at).max(at.saturating_since(sample.at)) <= LABEL_OFF_MAX
        })
    };
    let n_wrong = seen.stored.iter().filter(|sample| !is_right(sample)).count();
    Verdict::none_of("samples that the exporter did not say then", n_wrong, seen.stored.len())
}

fn lost(seen: &Evidence) -> Verdict {
    let stored: BTreeMap<u64, Timestamp> = seen.stored.iter().map(|sample| (sample.value as u64, sample.at)).collect();
    let Some(last) = stored.keys().next_back() else { return Verdict::none_of("samples lost", 0, 0) };
    let is_due = |told: &&Told| told.value as u64 <= *last && !is_excused(seen, told.at);
    let due: Vec<&Told> = seen.told.iter().filter(is_due).collect();
    let n_lost = due.iter().filter(|told| !stored.contains_key(&(told.value as u64))).count();
    Verdict::none_of("samples lost", n_lost, due.len())
}

/// Whether what was told at this moment need not be there.
fn is_excused(seen: &Evidence, at: Timestamp) -> bool {
    seen.windows.iter().any(|window| {
        window.fault.stops_sampling() && window.from - KILL_LOSS <= at && at <= window.well.unwrap_or(window.lifted)
    })
}

fn written(seen: &Evidence) -> [Verdict; 2] {
    let ms = |at: Timestamp| at.as_nanos() / 1_000_000;
    let stored: BTreeMap<i64, f64> = seen.stored.iter().map(|sample| (ms(sample.at), sample.value)).collect();
    let written: BTreeMap<i64, f64> = seen.written.iter().map(|sample| (ms(sample.at), sample.value)).collect();
    let is_wrong = |(at, value): &(&i64, &f64)| stored.get(at).is_some_and(|stored| stored != *value);
    let n_wrong = written.iter().filter(is_wrong).count();
    let told: BTreeMap<u64, Timestamp> = seen.told.iter().map(|told| (told.value as u64, told.at)).collect();
    let is_due = |sample: &&Told| {
        let Some(at) = told.get(&(sample.value as u64)) else { return true };
        !seen.windows.iter().any(|window| {
            let ends = window.well.unwrap_or(window.lifted);
            window.fault == Fault::Kill && window.from - KILL_LOSS_WRITTEN <= *at && *at <= ends
        })
    };
    let due: Vec<&Told> = seen.stored.iter().filter(is_due).collect();
    let n_missing = due.iter().filter(|sample| !written.contains_key(&ms(sample.at))).count();
    [
        Verdict::none_of("remote write: values that differ from the store's", n_wrong, written.len()),
        Verdict::none_of("remote write: samples missing", n_missing, due.len()),
    ]
}

fn scores(seen: &Evidence) -> Verdict {
    let (here, quiet) = &seen.scores;
    let is_met = here == quiet && here.contains("mean_squared");
    Verdict {
        what: "scores and forecast beside a quiet node's",
        figure: if here == quiet { "equal".to_owned() } else { difference(here, quiet) },
        bound: "equal to the bit".to_owned(),
        is_met,
    }
}

/// The first place at which two texts differ.
fn difference(one: &str, other: &str) -> String {
    let at = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| text.get(at.saturating_sub(20)..(at + 20).min(text.len())).unwrap_or_default().to_owned();
    format!("{} / {}", part(one), part(other))
}

fn held(seen: &Evidence) -> [Verdict; 2] {
    let is_small = |(first, last): &(Held, Held)| {
        last.resident_bytes as f64 <= first.resident_bytes as f64 * MEMORY_GAIN.0 + MEMORY_GAIN.1 as f64
    };
    let few = |(first, last): &(Held, Held)| last.n_descriptors <= first.n_descriptors + DESCRIPTOR_GAIN;
    let gains = |of: fn(&(Held, Held)) -> String| seen.held.iter().map(of).collect::<Vec<_>>().join(", ");
    [
        Verdict {
            what: "memory, MiB, at the begin and end of each process",
            figure: gains(|(first, last)| format!("{} to {}", first.resident_bytes >> 20, last.resident_bytes >> 20)),
            bound: "+ 5 % + 12".to_owned(),
            is_met: !seen.held.is_empty() && seen.held.iter().all(is_small),
        },
        Verdict {
            what: "descriptors at the begin and end of each process",
            figure: gains(|(first, last)| format!("{} to {}", first.n_descriptors, last.n_descriptors)),
            bound: format!("+ {DESCRIPTOR_GAIN}"),
            is_met: !seen.held.is_empty() && seen.held.iter().all(few),
        },
    ]
}

fn health(seen: &Evidence) -> [Verdict; 2] {
    let told: Vec<_> = seen.windows.iter().filter(|window| window.fault.is_told()).collect();
    let n_untold = told.iter().filter(|window| !window.was_degraded).count();
    let recovery = |window: &Window| window.well.map(|well| well.saturating_since(window.lifted));
    let slowest = seen.windows.iter().map(|window| recovery(window).unwrap_or(Duration::MAX)).max();
    let slowest = slowest.unwrap_or(Duration::MAX);
    [
        Verdict::none_of("faults that health did not tell", n_untold, told.len()),
        Verdict {
            what: "longest time from the end of a fault until health is ok",
            figure: if slowest == Duration::MAX {
                "never".to_owned()
            } else {
                format!("{:.1} s", slowest.as_secs_f64())
            },
            bound: span::format(WELL_WITHIN),
            is_met: slowest <= WELL_WITHIN,
        },
    ]
}

fn answers(seen: &Evidence, limit: Duration) -> Verdict {
    let mut answers: Vec<Duration> = seen.windows.iter().flat_map(|window| window.answers.iter().copied()).collect();
    answers.sort_unstable();
    let at = answers.get((answers.len() * 99).div_ceil(100).saturating_sub(1));
    Verdict {
        what: "forecast of load.1m beside dear models, 99th percentile",
        figure: at
            .map_or_else(|| "none".to_owned(), |at| format!("{:.1} ms of {}", at.as_secs_f64() * 1e3, answers.len())),
        bound: span::format(limit),
        is_met: at.is_some_and(|at| *at <= limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: Held = Held { resident_bytes: 50 << 20, n_descriptors: 30 };

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    /// A minute without a loss, and a kill in it.
    fn fine() -> Evidence {
        let told: Vec<Told> = (0..300).map(|n| Told { at: at(n * 200), value: n as f64 }).collect();
        let stored: Vec<Told> =
            told.iter().filter(|told| !(143..158).contains(&(told.value as u64))).copied().collect();
        let window = |fault, from| Window {
            fault,
            from: at(from),
            lifted: at(from + 1000),
            well: Some(at(from + 1500)),
            was_degraded: true,
            answers: vec![Duration::from_millis(5)],
        };
        Evidence {
            windows: vec![window(Fault::Kill, 30_000), window(Fault::FullDisk, 40_000)],
            clock: Vec::new(),
            written: stored.clone(),
            told,
            stored,
            pushes: (5, 0),
            frames: (100, 0),
            scores: ("mean_squared: 1".to_owned(), "mean_squared: 1".to_owned()),
            held: vec![(HELD, HELD)],
            answers_within: Some(Duration::from_millis(50)),
            status: Some(0),
        }
    }

    /// Asserts that a check with `what` in its name fails when the evidence is changed.
    #[track_caller]
    fn check_fails(what: &str, change: impl FnOnce(&mut Evidence)) {
        let mut seen = fine();
        change(&mut seen);
        let failed: Vec<_> = verdicts(&seen).into_iter().filter(|verdict| !verdict.is_met).collect();
        assert!(failed.iter().any(|verdict| verdict.what.contains(what)), "{failed:?}");
    }

    #[test]
    fn all_is_met_where_all_is_well() {
        let failed: Vec<_> = verdicts(&fine()).into_iter().filter(|verdict| !verdict.is_met).collect();
        assert_eq!(failed, []);
    }

    #[test]
    fn every_check_can_fail() {
        check_fails("labelled twice", |seen| seen.stored[5] = seen.stored[4]);
        check_fails("did not say then", |seen| seen.stored[100].value = 0.0);
        check_fails("did not say then", |seen| seen.stored[100].at = at(26_000));
        check_fails("samples lost", |seen| {
            seen.stored.remove(200);
        });
        check_fails("samples lost", |seen| {
            seen.stored.remove(100);
        });
        check_fails("values that differ", |seen| seen.written[9].value = 1.0);
        check_fails("samples missing", |seen| {
            seen.written.remove(9);
        });
        check_fails("messages out of order", |seen| seen.frames.1 = 1);
        check_fails("messages out of order", |seen| seen.frames.0 = 0);
        check_fails("beside hostile clients", |seen| seen.pushes.1 = 1);
        check_fails("quiet node's", |seen| seen.scores.0.push('0'));
        check_fails("memory", |seen| seen.held[0].1.resident_bytes = 70 << 20);
        check_fails("descriptors", |seen| seen.held[0].1.n_descriptors = 37);
        check_fails("did not tell", |seen| seen.windows[1].was_degraded = false);
        check_fails("until health is ok", |seen| seen.windows[0].well = None);
        check_fails("99th percentile", |seen| seen.windows[0].answers[0] = Duration::from_millis(51));
        check_fails("99th percentile", |seen| seen.windows.iter_mut().for_each(|window| window.answers.clear()));
        check_fails("exit status", |seen| seen.status = None);
    }
}
