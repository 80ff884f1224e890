//! Forecasts of signals that add up.

use super::*;
use crate::hub::forecasts::Oracle;

const PARTS: [&str; 6] = ["user", "nice", "system", "irq", "softirq", "steal"];
const N_LEADS: usize = 20;

/// A node on two cores, each of which spends its time in other ways every second, as the last digits of a sequence
/// (Park and Miller's) have it.
fn busy_world() -> World {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("proc")).unwrap();
    let mut counts = [[0_u64; 3]; 2];
    let mut state = 7_u64;
    let mut write = |root: &Path| {
        for [user, system, idle] in &mut counts {
            state = state * 48_271 % 0x7fff_ffff;
            let (more, most) = (state / 64 % 40, state / 4096 % 60);
            (*user, *system, *idle) = (*user + more, *system + most / 2, *idle + 100 - more - most / 2);
        }
        let line = |[user, system, idle]: [u64; 3]| format!("{user} 0 {system} {idle} 0 0 0 0 0 0\n");
        let all = [0, 1, 2].map(|idx| counts[0][idx] + counts[1][idx]);
        let cores = format!("cpu0 {}cpu1 {}", line(counts[0]), line(counts[1]));
        fs::write(root.join("proc/stat"), format!("cpu  {}{cores}procs_running 1\nprocs_blocked 0\n", line(all)))
            .unwrap();
    };
    set_load(root.path(), 0);
    write(root.path());
    let config = Config { root: root.path().to_owned(), model: "AR(4)".parse().unwrap(), ..Config::default() };
    let clock = Arc::new(clock::Manual::at(at(1_800_000_000)));
    let mut world = World::begin(root, config, clock, false, 0);
    for _ in 0..100 {
        write(world.root.path());
        world.tick();
    }
    world
}

/// Returns the largest difference, at any lead, between time and its parts, `busy` and its parts, and the host and its
/// cores; `mean` has the means of a signal.
fn largest_difference(mean: impl Fn(&str) -> Vec<f64>) -> f64 {
    let mut largest = 0.0_f64;
    let mut check = |terms: &[(String, f64)], total: f64| {
        let means: Vec<(Vec<f64>, f64)> = terms.iter().map(|(id, weight)| (mean(id), *weight)).collect();
        for lead_idx in 0..N_LEADS {
            let sum: f64 = means.iter().map(|(means, weight)| means[lead_idx] * weight).sum();
            largest = largest.max((sum - total).abs());
        }
    };
    for stem in ["cpu", "cpu.0", "cpu.1"] {
        let term = |word: &str, weight: f64| (format!("{stem}.{word}"), weight);
        check(&["busy", "idle", "iowait"].map(|word| term(word, 1.0)), 1.0);
        check(&[&PARTS.map(|word| term(word, 1.0))[..], &[term("busy", -1.0)]].concat(), 0.0);
    }
    for word in ["busy", "user", "system", "idle"] {
        let term = |stem: &str, weight: f64| (format!("{stem}.{word}"), weight);
        check(&[term("cpu", -2.0), term("cpu.0", 1.0), term("cpu.1", 1.0)], 0.0);
    }
    largest
}

#[test]
fn forecasts_of_parts_make_that_of_their_whole_however_they_are_asked_for() {
    let world = busy_world();
    let alone = |id: &str| Oracle::of(world.hub.engine().get(id).unwrap()).unwrap().forecast(N_LEADS).means().to_vec();
    assert!(largest_difference(alone) > 0.01, "each by itself they contradict each other");
    let horizon = SECOND * N_LEADS as u32;
    let asked = |id: &str| world.hub.forecast(id, horizon, Confidence::P95).unwrap();
    assert!(largest_difference(|id| asked(id).mean) < 1e-6);
    let leads: Vec<usize> = (1..=N_LEADS).collect();
    let ids = ["cpu.busy", "cpu.1.user", LOAD];
    let of_load = Oracle::of(world.hub.engine().get(LOAD).unwrap()).unwrap().forecast(N_LEADS);
    assert_eq!(asked(LOAD).mean, of_load.means());
    let aheads = world.hub.aheads(ids.into_iter().map(|id| (id, N_LEADS))).finish();
    assert!(!aheads.contains_key("load.5m"), "what adds up with nothing is not forecast unasked");
    for id in ids {
        let (at, _) = aheads[id].at(&leads, Confidence::P95, None);
        assert_eq!((at.mean, at.lower, at.upper), (asked(id).mean, asked(id).lower, asked(id).upper), "{id}");
    }
    let gauges = world.hub.gauges_of(ids.into_iter(), &[horizon]);
    assert!(ids.iter().all(|id| gauges[*id].bounds[0].1.mean == asked(id).mean[N_LEADS - 1]));
}
