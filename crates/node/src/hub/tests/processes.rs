//! Processes now, and the minutes of them that are kept.

use node_api::{ProcessFigures, ProcessGrouping, ProcessOrder, ProcessTable};
use units::Moment;

use super::*;
use crate::processes::ProcessQuestion;

/// Writes a process that has used so many ticks, and the ticks of all tasks.
pub(super) fn write_process(root: &Path, pid: u32, name: &str, used_ticks: u64) {
    let directory = root.join(format!("proc/{pid}"));
    fs::create_dir_all(&directory).unwrap();
    let zeros = "0 ".repeat(13);
    let stat = format!("{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {used_ticks} 0 0 0 20 0 1 0 5 0 {pid} {zeros}17 0 0 0");
    fs::write(directory.join("stat"), stat).unwrap();
    fs::write(directory.join("io"), "read_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n").unwrap();
}

fn ask(world: &World, limit: usize, at: Option<Moment>) -> Result<ProcessTable, QueryError> {
    let (by, sort) = (ProcessGrouping::Program, ProcessOrder::Cpu);
    world.hub.processes(&ProcessQuestion { by, sort, limit, at })
}

fn cpu_of(table: &ProcessTable, name: &str) -> Option<f64> {
    table.rows.iter().find(|row| row.name == name).and_then(|row| row.figures.cpu_cores)
}

/// A world with three processes, the first of which uses so many ticks in each of its minutes.
fn with_minutes(ticks: &[u64]) -> World {
    let world = World::start(None);
    let mut used = 0;
    for (idx, pid) in (10..13).enumerate() {
        write_process(world.root.path(), pid, ["postgres", "idle", "idle"][idx], 0);
    }
    world.hub.scan_processes();
    for ticks in ticks {
        used += ticks;
        write_process(world.root.path(), 10, "postgres", used);
        world.clock.pass(Duration::from_secs(60));
        world.hub.scan_processes();
    }
    world.hub.store.flush().unwrap();
    world
}

#[test]
fn a_moment_of_the_past_has_the_programs_of_its_minute() {
    let world = with_minutes(&[600, 3000, 0]);
    let start = 1_800_000_000;
    let minute = |seconds| ask(&world, 20, Some(Moment::At(at(start + seconds)))).unwrap();
    let second = minute(90);
    assert_eq!((second.time, second.previous, second.next), (at(start + 60), Some(at(start)), Some(at(start + 120))));
    assert_eq!((second.span_seconds, cpu_of(&second, "postgres")), (Some(60.0), Some(0.5)));
    assert_eq!(cpu_of(&minute(0), "postgres"), Some(0.1));
    let before = Moment::BeforeNow(Duration::from_secs(60));
    assert_eq!(ask(&world, 20, Some(before)).unwrap().time, at(start + 120));
    let now = ask(&world, 20, None).unwrap();
    assert_eq!((now.time, now.previous, now.next), (at(start + 180), Some(at(start + 120)), None));
    assert_eq!((cpu_of(&now, "postgres"), now.n_processes, now.n_measured), (Some(0.0), 3, Some(3)));
}

#[test]
fn a_history_has_a_figure_for_each_minute_the_greatest_program_first() {
    let world = with_minutes(&[600, 3000, 0]);
    let start = 1_800_000_000;
    let ask = |from, to, sort, limit| {
        world.hub.program_history(TimeRange { from: at(start + from), to: at(start + to) }, sort, limit)
    };
    let cpu = ask(0, 180, ProcessOrder::Cpu, 20).unwrap();
    assert_eq!((cpu.first, cpu.minutes), (Some(at(start)), vec![at(start), at(start + 60), at(start + 120)]));
    let values = |idx: usize| (cpu.programs[idx].name.as_str(), cpu.programs[idx].values.clone());
    assert_eq!(values(0), ("postgres", vec![Some(0.1), Some(0.5), Some(0.0)]));
    assert_eq!(values(1), ("idle", vec![Some(0.0); 3]));
    let later = ask(30, 120, ProcessOrder::Cpu, 1).unwrap();
    assert_eq!((later.minutes, &later.programs[0].values), (vec![at(start + 60)], &vec![Some(0.5)]));
    let nothing = ask(180, 240, ProcessOrder::Memory, 1).unwrap();
    assert_eq!((nothing.first, nothing.programs), (Some(at(start)), vec![]));
    let too_long = ask(0, 7201, ProcessOrder::Cpu, 1).unwrap_err();
    assert!(too_long.to_string().contains("is 121 minutes, but a history has at most 120"), "{too_long}");
}

#[test]
fn rows_that_are_left_out_are_in_the_sum_of_others() {
    let world = with_minutes(&[600]);
    for at in [None, Some(Moment::BeforeNow(Duration::ZERO))] {
        let (all, first) = (ask(&world, 20, at).unwrap(), ask(&world, 1, at).unwrap());
        let sum = |table: &ProcessTable| {
            table.rows.iter().fold(table.others, |sum: ProcessFigures, row| sum.plus(row.figures))
        };
        assert_eq!(sum(&all), sum(&first));
        assert_eq!((first.rows.len(), first.rows[0].name.as_str(), first.n_others), (1, "postgres", 1));
    }
}

#[test]
fn a_moment_before_the_first_minute_is_refused_with_that_minute() {
    let refusal = |world: &World| ask(world, 1, Some(Moment::At(at(0)))).unwrap_err().to_string();
    assert!(refusal(&with_minutes(&[])).ends_with("none is kept so far: ask again in a minute"));
    assert!(refusal(&with_minutes(&[1])).ends_with("the first is 2027-01-15T08:00:00Z"));
    let world = with_minutes(&[1]);
    let question = ProcessQuestion {
        by: ProcessGrouping::Cgroup,
        sort: ProcessOrder::Cpu,
        limit: 1,
        at: Some(Moment::BeforeNow(Duration::ZERO)),
    };
    assert!(matches!(world.hub.processes(&question), Err(QueryError::BadParameter { field: "by", .. })));
}

#[test]
fn a_cause_is_of_what_is_behind_a_signal() {
    let mut world = with_minutes(&[600, 600, 600, 600, 3000]);
    world.tick();
    world.create("mine", "1s").unwrap();
    let start = 1_800_000_000;
    let ask = |id, from, to| world.hub.cause(id, TimeRange { from: at(start + from), to: at(start + to) });
    let found = ask(LOAD, 0, 300).unwrap();
    let culprit = found.culprit.unwrap();
    assert_eq!((&*culprit.name, culprit.pid, culprit.since), ("postgres", Some(10), Some(at(start + 240))));
    assert_eq!(
        found.summary,
        "100 % of the rise in CPU use (0.40 cores) is of postgres (pid 10), since 2027-01-15T08:04:00Z"
    );
    let refused = |id, from, to| ask(id, from, to).unwrap_err().to_string();
    assert!(refused(LOAD, 0, 180).starts_with("3 minutes of programs are kept"), "{}", refused(LOAD, 0, 180));
    assert!(refused("mine", 0, 300).starts_with("`mine` is not attributed to programs"));
    assert!(refused("none", 0, 300).contains("`none`"));
    assert_eq!(refused(LOAD, 0, 86_401), "a cause is looked for over 1d at most");
}
