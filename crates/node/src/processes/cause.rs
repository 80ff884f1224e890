//! Causes of changes, from the minutes of programs.

use text::figure;
use units::Timestamp;
use warn::{Attribution, ChangeMeasure, MinuteOfUse, attribute, changed_since};

use crate::api::{CauseMeasure, CausePart, ChangeCause, Culprit, CulpritKind, ProcessOrder};
use crate::engine::about::Behind;
use crate::store::MINUTE;
use crate::store::programs::{ProgramMinute, StoredProgram, StoredUse};

/// Parts of an answer.
const N_PARTS_MAX: usize = 10;

const SHORT_LIVED: &str = "processes that lived less than 2 s";

/// Whoever has a part in the use of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum User<'a> {
    Program { name: &'a str, unit: Option<&'a str>, container: Option<&'a str> },
    Unit(&'a str),
    Container(&'a str),
    ShortLived,
}

/// Returns the cause of the change in what is behind the series `id` over these minutes; `None` if they are too few.
/// `only_pid` gives the number of a program's process, if it has one.
pub(crate) fn cause(
    id: &str,
    behind: Behind,
    minutes: &[(Timestamp, ProgramMinute)],
    only_pid: impl Fn(&str, Option<&str>, Option<&str>) -> Option<u32>,
) -> Option<ChangeCause> {
    let Behind { resource, measure, is_of_host, .. } = behind;
    let mut of_programs: Vec<_> = minutes.iter().map(|(at, minute)| used(*at, minute, resource, is_of_host)).collect();
    let mut found = attribute(&of_programs, measure)?;
    let since = found.culprit.and_then(|program| changed_since(&of_programs, program, measure));
    // A slope is that since the change, if it takes long enough to have one.
    if let Some(since) = since.filter(|_| measure == ChangeMeasure::Slope) {
        of_programs.retain(|minute| minute.at >= since);
        found = attribute(&of_programs, measure).filter(|later| later.culprit == found.culprit).unwrap_or(found);
    }
    let Attribution { whole, shares, is_beyond_noise, culprit, .. } = found;
    let culprit = match culprit {
        Some(program) => Some((program, culprit_of(program, &shares, since))),
        None if is_beyond_noise => culprit_among_groups(&of_programs, measure),
        None => None,
    };
    let culprit = culprit.map(|(user, mut culprit)| {
        if let User::Program { name, unit, container } = user {
            culprit.pid = only_pid(name, unit, container);
        }
        (user, culprit)
    });
    let parts: Vec<CausePart> = shares.iter().take(N_PARTS_MAX).map(|(user, ratio)| part(*user, *ratio)).collect();
    let (first, last) = (of_programs.first()?, of_programs.last()?);
    Some(ChangeCause {
        id: id.to_owned(),
        resource,
        measure: match measure {
            ChangeMeasure::Difference => CauseMeasure::Difference,
            ChangeMeasure::Slope => CauseMeasure::Slope,
            ChangeMeasure::Mean => CauseMeasure::Mean,
        },
        from: first.at,
        to: last.at + MINUTE,
        n_minutes: of_programs.len() as u64,
        change: whole,
        others_ratio: 1.0 - parts.iter().map(|part| part.ratio).sum::<f64>(),
        summary: summary(whole, behind, culprit.as_ref(), parts.first().filter(|_| is_beyond_noise)),
        parts,
        culprit: culprit.map(|(_, culprit)| culprit),
    })
}

/// The container or unit that accounts for a change.
fn culprit_among_groups<'a>(
    of_programs: &[MinuteOfUse<User<'a>>],
    measure: ChangeMeasure,
) -> Option<(User<'a>, Culprit)> {
    let groups: Vec<_> = of_programs.iter().map(grouped).collect();
    let found = attribute(&groups, measure)?;
    let group = found.culprit.filter(|user| matches!(user, User::Unit(_) | User::Container(_)))?;
    Some((group, culprit_of(group, &found.shares, changed_since(&groups, group, measure))))
}

fn culprit_of(user: User<'_>, shares: &[(User<'_>, f64)], since: Option<Timestamp>) -> Culprit {
    let (name, kind) = match user {
        User::Program { name, .. } => (name, CulpritKind::Program),
        User::Unit(unit) => (unit, CulpritKind::Unit),
        User::Container(container) => (container, CulpritKind::Container),
        User::ShortLived => (SHORT_LIVED, CulpritKind::ShortLived),
    };
    let ratio = shares.iter().find_map(|(known, ratio)| (*known == user).then_some(*ratio)).unwrap_or_default();
    Culprit { name: name.to_owned(), kind, ratio, pid: None, since }
}

fn part(user: User<'_>, ratio: f64) -> CausePart {
    let (name, unit, container) = match user {
        User::Program { name, unit, container } => (name, unit, container),
        User::Unit(name) | User::Container(name) => (name, None, None),
        User::ShortLived => (SHORT_LIVED, None, None),
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    CausePart { name: name.to_owned(), unit: owned(unit), container: owned(container), ratio }
}

/// Use of a resource in a minute. Memory in use is that of the host if it is known: resident memory of programs has
/// pages more than once, and lacks the kernel's.
fn used(at: Timestamp, minute: &ProgramMinute, resource: ProcessOrder, is_of_host: bool) -> MinuteOfUse<User<'_>> {
    let seconds = minute.span_us as f64 / 1e6;
    let per_second = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    let figure = |used: &StoredUse| match resource {
        ProcessOrder::Cpu => Some(per_second(used.cpu_us) / 1e6),
        ProcessOrder::Memory => Some(used.memory as f64),
        ProcessOrder::Read => used.read.map(per_second),
        ProcessOrder::Written => used.written.map(per_second),
    };
    let mut programs = Vec::with_capacity(minute.programs.len() + 1);
    for StoredProgram { name, unit, container, used } in &minute.programs {
        let user = User::Program { name, unit: unit.as_deref(), container: container.as_deref() };
        programs.extend(figure(used).map(|used| (user, used)));
    }
    if resource == ProcessOrder::Cpu {
        programs.extend(minute.short_lived_us.map(|micros| (User::ShortLived, per_second(micros) / 1e6)));
    }
    let sum = || programs.iter().map(|(_, used)| used).sum::<f64>() + figure(&minute.others).unwrap_or_default();
    let in_use = minute.memory_in_use.filter(|_| resource == ProcessOrder::Memory && is_of_host);
    MinuteOfUse { at, whole: in_use.map_or_else(sum, |bytes| bytes as f64), programs }
}

/// The same by containers, and by units outside of them.
fn grouped<'a>(minute: &MinuteOfUse<User<'a>>) -> MinuteOfUse<User<'a>> {
    let group = |user: User<'a>| match user {
        User::Program { container: Some(container), .. } => User::Container(container),
        User::Program { unit: Some(unit), .. } => User::Unit(unit),
        user => user,
    };
    let programs = minute.programs.iter().map(|(user, used)| (group(*user), *used)).collect();
    MinuteOfUse { at: minute.at, whole: minute.whole, programs }
}

/// `92 % of the rise in memory use (1.2 GiB per hour) is of postgres (pid 4411), since 2026-11-21T14:02:00Z`. `first`
/// has the greatest part in a change beyond the noise.
fn summary(whole: f64, behind: Behind, culprit: Option<&(User<'_>, Culprit)>, first: Option<&CausePart>) -> String {
    let change = change(whole, behind);
    // Others moved against it.
    let percent = |ratio: f64| match 100.0 * ratio {
        percent if percent > 100.5 => "more than all".to_owned(),
        percent => format!("{percent:.0} %"),
    };
    match (culprit, first) {
        (Some((user, culprit)), _) => {
            let place = match user {
                User::Program { unit, container, .. } => [("unit", *unit), ("container", *container)],
                _ => [("", None), ("", None)],
            };
            let of_pid = culprit.pid.map(|pid| format!("pid {pid}"));
            let place = place.into_iter().filter_map(|(what, name)| Some(format!("{what} {}", name?)));
            let about: Vec<String> = of_pid.into_iter().chain(place).collect();
            let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
            let kind = match culprit.kind {
                CulpritKind::Unit => "unit ",
                CulpritKind::Container => "container ",
                CulpritKind::Program | CulpritKind::ShortLived => "",
            };
            let since = culprit.since.map(|since| format!(", since {since}")).unwrap_or_default();
            format!("{} of {change} is of {kind}{}{about}{since}", percent(culprit.ratio), culprit.name)
        }
        (None, Some(CausePart { name, ratio, .. })) => {
            format!("nobody in particular: {name} has the greatest part of {change}, {}", percent(*ratio))
        }
        (None, None) => format!("nobody: {change} is within its noise"),
    }
}

fn change(whole: f64, behind: Behind) -> String {
    let what = match behind.resource {
        ProcessOrder::Cpu => "CPU use",
        ProcessOrder::Memory => "memory use",
        ProcessOrder::Read => "reading from disks",
        ProcessOrder::Written => "writing to disks",
    };
    let unit = match behind.resource {
        ProcessOrder::Cpu => "cores",
        ProcessOrder::Memory => "bytes",
        ProcessOrder::Read | ProcessOrder::Written => "bytes/s",
    };
    let amount = figure::format(whole.abs(), unit);
    let direction = if whole < 0.0 { "fall" } else { "rise" };
    match behind.measure {
        ChangeMeasure::Mean => format!("all {what} ({amount})"),
        ChangeMeasure::Slope => format!("the {direction} in {what} ({amount} per hour)"),
        ChangeMeasure::Difference => format!("the {direction} in {what} ({amount})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Behind = Behind {
        resource: ProcessOrder::Memory,
        measure: ChangeMeasure::Slope,
        is_what_is_left: true,
        is_of_host: true,
    };
    const CPU: Behind = Behind {
        resource: ProcessOrder::Cpu,
        measure: ChangeMeasure::Difference,
        is_what_is_left: false,
        is_of_host: true,
    };
    const MIB: u64 = 1 << 20;

    fn program(name: &str, unit: Option<&str>, container: Option<&str>, used: StoredUse) -> StoredProgram {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        StoredProgram { name: name.to_owned(), unit: owned(unit), container: owned(container), used }
    }

    fn minutes(of: impl Fn(u64) -> ProgramMinute) -> Vec<(Timestamp, ProgramMinute)> {
        let at = |minute: u64| Timestamp::from_nanos(minute as i64 * 60_000_000_000);
        (0..60).map(|minute| (at(minute), of(minute))).collect()
    }

    fn leaking(leak: u64, kernel: u64) -> Vec<(Timestamp, ProgramMinute)> {
        minutes(|minute| {
            let memory = |bytes| StoredUse { memory: bytes, ..StoredUse::NONE };
            let grown = leak * MIB * minute.saturating_sub(20);
            ProgramMinute {
                span_us: 60_000_000,
                programs: vec![
                    program("nginx", None, Some("docker:web"), memory(90 * MIB)),
                    program("postgres", Some("postgresql.service"), None, memory(100 * MIB + grown)),
                ],
                others: memory(500 * MIB),
                memory_in_use: Some(800 * MIB + grown + kernel * MIB * minute),
                ..ProgramMinute::default()
            }
        })
    }

    #[track_caller]
    fn check_whole(cause: &ChangeCause) {
        let sum = cause.parts.iter().map(|part| part.ratio).sum::<f64>() + cause.others_ratio;
        assert!((sum - 1.0).abs() < 1e-9, "{cause:?}");
    }

    #[test]
    fn a_leak_has_its_program() {
        let found = cause("memory.available", MEMORY, &leaking(10, 0), |_, _, _| Some(4411)).unwrap();
        check_whole(&found);
        assert_eq!(
            found.summary,
            "100 % of the rise in memory use (600 MiB per hour) is of postgres (pid 4411, unit postgresql.service), since 1970-01-01T00:20:00Z"
        );
        assert_eq!(found.n_minutes, 40);
    }

    #[test]
    fn a_program_that_others_make_room_for_has_more_than_all() {
        let mut minutes = leaking(10, 0);
        for (idx, (_, minute)) in minutes.iter_mut().enumerate() {
            minute.memory_in_use = minute.memory_in_use.map(|bytes| bytes - 5 * MIB * idx as u64);
        }
        let found = cause("memory.available", MEMORY, &minutes, |_, _, _| None).unwrap();
        check_whole(&found);
        assert!(
            found.summary.starts_with("more than all of the rise in memory use (300 MiB per hour) is of postgres"),
            "{}",
            found.summary
        );
    }

    #[test]
    fn memory_that_no_program_has_is_nobodys() {
        let found = cause("memory.available", MEMORY, &leaking(1, 30), |_, _, _| None).unwrap();
        check_whole(&found);
        assert_eq!(found.culprit, None);
        assert!(found.summary.starts_with("nobody in particular: postgres has the greatest part"), "{}", found.summary);
        assert!(found.others_ratio > 0.9);
        let of_container = Behind { is_of_host: false, ..MEMORY };
        let found = cause("cgroup.memory.available", of_container, &leaking(1, 30), |_, _, _| None).unwrap();
        assert_eq!(found.culprit.map(|culprit| culprit.name), Some("postgres".to_owned()));
    }

    #[test]
    fn a_container_is_the_culprit_if_none_of_its_programs_is() {
        let busy = |cores: f64| StoredUse { cpu_us: (60e6 * cores) as u64, ..StoredUse::NONE };
        let minutes = minutes(|minute| {
            let more = if minute < 40 { 0.0 } else { 0.3 };
            ProgramMinute {
                span_us: 60_000_000,
                programs: vec![
                    program("a", None, Some("docker:web"), busy(0.1 + more)),
                    program("b", None, Some("docker:web"), busy(0.1 + more)),
                    program("c", Some("c.service"), None, busy(0.2 + more)),
                ],
                others: StoredUse::NONE,
                short_lived_us: Some(1_000),
                ..ProgramMinute::default()
            }
        });
        let found = cause("cpu.busy", CPU, &minutes, |_, _, _| None).unwrap();
        check_whole(&found);
        assert_eq!(
            found.summary,
            "67 % of the rise in CPU use (0.90 cores) is of container docker:web, since 1970-01-01T00:40:00Z"
        );
    }

    #[test]
    fn short_lived_processes_are_a_culprit_too() {
        let minutes = minutes(|minute| ProgramMinute {
            span_us: 60_000_000,
            short_lived_us: Some(if minute < 30 { 600_000 } else { 60_000_000 }),
            others: StoredUse { cpu_us: 1_000_000, ..StoredUse::NONE },
            ..ProgramMinute::default()
        });
        let found = cause("load.1m", CPU, &minutes, |_, _, _| None).unwrap();
        assert_eq!(found.culprit.as_ref().map(|culprit| culprit.kind), Some(CulpritKind::ShortLived));
        assert_eq!(
            found.summary,
            "100 % of the rise in CPU use (0.99 cores) is of processes that lived less than 2 s, since 1970-01-01T00:30:00Z"
        );
    }
}
