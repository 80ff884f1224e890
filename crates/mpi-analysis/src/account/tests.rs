use super::*;

/// Penalty of a miss in the made-up counters: a memory access of the paper's processor.
const MISS_NS: f64 = 36.6;
/// Run time at 1:1, long enough for all of Table 2.
const RUN_SECONDS: f64 = 10.0;

fn cost(rank: Rank, host: &str) -> RankCost {
    RankCost {
        rank,
        host: host.to_owned(),
        run_seconds: RUN_SECONDS,
        user_seconds: 6.0,
        system_seconds: 1.0,
        compute_seconds: Some(5.0),
        ready_seconds: None,
        waiting: WaitSeconds::Together(3.0),
        counters: None,
    }
}

fn host(name: &str, n_processors: u32) -> HostCost {
    HostCost {
        host: name.to_owned(),
        n_processors,
        idle_seconds: None,
        waits_use_processor: false,
        steal_seconds: None,
    }
}

/// Misses that take so many milliseconds.
fn misses(ms: f64) -> Vec<Misses> {
    vec![Misses { n_misses: (ms * 1e6 / MISS_NS).round() as u64, penalty_ns: MISS_NS }]
}

/// Account of one processor with these milliseconds of idle, system, memory and TLB.
fn counted(run_ms: f64, [idle, system, memory, tlb]: [f64; 4]) -> TimeAccount {
    let rank = RankCost {
        run_seconds: run_ms * 1e-3,
        system_seconds: system * 1e-3,
        counters: Some(MissCounters { caches: misses(memory), tlbs: misses(tlb) }),
        ..cost(0, "a")
    };
    let processor = HostCost { idle_seconds: Some(idle * 1e-3), ..host("a", 1) };
    TimeAccount::of(&[rank], &[processor]).unwrap()
}

#[test]
fn published_table_2_is_accounted_for_from_counters_that_are_made_up_after_it() {
    // By ratio: decrease of idle, growth of system, memory and TLB; the sum of overheads; the residual is made up.
    let table = [
        ([1435.0, 70.0, 226.0, 10.0], 306.0, 97.0),
        ([1565.0, 130.0, 603.0, 20.0], 753.0, 163.0),
        ([1417.0, 250.0, 1492.0, 41.0], 1783.0, 483.0),
        ([1644.0, 500.0, 3147.0, 81.0], 3728.0, 958.0),
        ([976.0, 1040.0, 6576.0, 165.0], 7781.0, 1991.0),
    ];
    let base_ms = 1e3 * RUN_SECONDS;
    let base = counted(base_ms, [2000.0, 300.0, 400.0, 50.0]);
    for ([idle, system, memory, tlb], overheads, residual) in table {
        let run_ms = base_ms - idle + overheads - residual;
        let run = counted(run_ms, [2000.0 - idle, 300.0 + system, 400.0 + memory, 50.0 + tlb]);
        let found = gain(std::slice::from_ref(&base), &[run]).unwrap();
        let ms = |seconds: f64| (seconds * 1e3).round();
        assert_eq!(ms(found.overhead_seconds()), overheads);
        assert_eq!(ms(found.estimated_seconds), idle - overheads);
        assert_eq!(ms(found.measured_seconds), idle - overheads + residual);
        assert_eq!(ms(found.residual_seconds), residual);
        assert_eq!(found.grown_most().unwrap().term, Term::Memory);
        assert!(found.has_counters);
    }
}

#[test]
fn without_counters_user_time_outside_of_mpi_stands_for_memory_and_tlb() {
    let account = |compute, run_seconds| {
        let rank = RankCost { compute_seconds: Some(compute), run_seconds, ..cost(0, "a") };
        TimeAccount::of(&[rank], &[HostCost { idle_seconds: Some(1.0), ..host("a", 1) }]).unwrap()
    };
    let found = gain(&[account(5.0, 10.0)], &[account(5.5, 10.75)]).unwrap();
    assert!(!found.has_counters);
    assert_eq!((found.growth(Term::Compute), found.growth(Term::Memory)), (Some(0.5), None));
    assert_eq!((found.estimated_seconds, found.residual_seconds), (-0.5, -0.25));
}

#[test]
fn counted_misses_and_the_user_time_that_stands_for_them_are_never_both_in_the_estimate() {
    let base = counted(10_000.0, [0.0; 4]);
    let mut other = counted(10_000.0, [0.0, 0.0, 100.0, 0.0]);
    other.mean.insert(Term::Compute, 5.1);
    let found = gain(&[base], &[other]).unwrap();
    assert!((found.estimated_seconds + 0.1).abs() < 1e-6, "{}", found.estimated_seconds);
}

#[test]
fn idle_time_is_what_user_system_and_steal_leave_of_the_processors() {
    let ranks = [cost(0, "a"), cost(1, "a")];
    let stolen = HostCost { steal_seconds: Some(2.0), ..host("a", 2) };
    let account = TimeAccount::of(&ranks, &[stolen]).unwrap();
    // Two processors for 10 s, less two ranks of 7 s and 2 s stolen, by two processors.
    assert_eq!((account.mean[&Term::Idle], account.mean[&Term::Steal]), (2.0, 1.0));
}

#[test]
fn time_that_is_neither_used_nor_idle_is_unused_where_waiting_ranks_sleep() {
    let account = |waits_use_processor| {
        let ranks = [0, 1].map(|number| cost(number, "a"));
        let counted = HostCost { idle_seconds: Some(4.0), waits_use_processor, ..host("a", 2) };
        TimeAccount::of(&ranks, &[counted]).unwrap()
    };
    let sleeping = account(false);
    // Two processors for 10 s, less two ranks of 7 s and 4 s idle, by two processors.
    assert_eq!((sleeping.mean[&Term::Idle], sleeping.mean[&Term::Unused]), (2.0, 1.0));
    assert_eq!(account(true).mean.get(&Term::Unused), None);
}

#[test]
fn the_cluster_mean_weighs_hosts_by_their_processors() {
    let ranks: Vec<RankCost> =
        [(0, "a"), (1, "a"), (2, "a"), (3, "b")].into_iter().map(|(rank, host)| cost(rank, host)).collect();
    let account = TimeAccount::of(&ranks, &[host("a", 3), host("b", 1)]).unwrap();
    let busy = RankCost { system_seconds: 3.0, ..cost(3, "b") };
    let uneven =
        TimeAccount::of(&[ranks[0].clone(), ranks[1].clone(), ranks[2].clone(), busy], &[host("a", 3), host("b", 1)]);
    assert_eq!(account.mean[&Term::System], 1.0);
    let uneven = uneven.unwrap();
    assert_eq!((uneven.mean[&Term::System], uneven.hosts["b"][&Term::System]), (1.5, 3.0));
    assert_eq!(uneven.ranks[&3][&Term::System], 3.0);
}

#[test]
fn waits_are_apart_only_where_every_rank_has_them_apart() {
    let apart = RankCost { waiting: WaitSeconds::Apart { network: 1.0, synchronization: 2.0 }, ..cost(0, "a") };
    let both = TimeAccount::of(&[apart.clone(), RankCost { rank: 1, ..apart.clone() }], &[host("a", 1)]).unwrap();
    assert_eq!((both.mean[&Term::NetworkWait], both.mean[&Term::Wait]), (2.0, 6.0));
    let mixed = TimeAccount::of(&[apart, cost(1, "a")], &[host("a", 1)]).unwrap();
    assert_eq!((mixed.mean.get(&Term::NetworkWait), mixed.mean[&Term::Wait]), (None, 6.0));
}

#[test]
fn each_change_has_the_spread_of_its_runs() {
    let runs = |seconds: [f64; 2]| seconds.map(|system| counted(10_000.0, [0.0, system * 1e3, 0.0, 0.0]));
    let found = gain(&runs([1.0, 3.0]), &runs([4.0, 4.0])).unwrap();
    let system = found.changes.iter().find(|change| change.term == Term::System).unwrap();
    assert_eq!(system.growth_seconds, 2.0);
    assert!((system.spread_seconds.unwrap() - 2.0_f64.sqrt()).abs() < 1e-12);
    assert_eq!(gain(&runs([1.0, 3.0]), &runs([4.0, 4.0])[..1]).unwrap().changes[0].spread_seconds, None);
}

#[test]
fn accounts_of_nothing_and_of_different_processors_are_refused() {
    assert_eq!(TimeAccount::of(&[], &[host("a", 1)]), Err(AccountError::Nothing { what: "ranks" }));
    let lost = TimeAccount::of(&[cost(0, "b")], &[host("a", 1), host("b", 0)]).unwrap_err();
    assert!(lost.to_string().contains("`b`"), "{lost}");
    let [one, two] = [1, 2].map(|n| TimeAccount::of(&[cost(0, "a")], &[host("a", n)]).unwrap());
    assert_eq!(gain(std::slice::from_ref(&one), &[two]), Err(AccountError::Processors { base: 1, other: 2 }));
    assert_eq!(gain(&[one], &[]), Err(AccountError::Nothing { what: "runs at this ratio" }));
}
