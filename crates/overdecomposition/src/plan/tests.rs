use super::*;

/// Settings of two processors at 1:1, 2:1 and 4:1.
pub(crate) fn settings(n_repeats: u32) -> SweepSettings {
    SweepSettings {
        program: vec!["./heat".to_owned()],
        hosts: Vec::new(),
        n_processors: 2,
        uses_smt: true,
        ranks: vec![2, 4, 8],
        n_repeats,
        seed: 7,
        wait: WaitMode::Block,
        placing: RankPlacing::Blocked,
        weights: HostWeights::Even,
        limit_ms: 60_000,
        answer: None,
        time: None,
    }
}

#[test]
fn each_round_has_every_ratio_once_in_an_order_that_only_the_seed_decides() {
    let sweep = settings(20);
    let trials = sweep.trials();
    let orders: Vec<Vec<u32>> = trials.chunks(3).map(|round| round.iter().map(|trial| trial.ratio).collect()).collect();
    assert!(orders.iter().all(|order| sorted(order) == [1, 2, 4]), "{orders:?}");
    assert!(orders.iter().any(|order| order != &orders[0]));
    assert_eq!(trials, sweep.trials());
    assert_ne!(trials, SweepSettings { seed: 8, ..sweep }.trials());
    assert!(trials.iter().all(|trial| trial.n_ranks == 2 * trial.ratio));
}

#[test]
fn ratios_and_numbers_of_ranks_that_make_no_sense_are_refused_with_the_remedy() {
    let ratios = |ratios: &[u32]| SweepSettings::ranks_of_ratios(ratios, 2).map_err(|error| error.to_string());
    let ranks = |ranks: &[u32]| SweepSettings::ranks_as_given(ranks, 4).map_err(|error| error.to_string());
    assert_eq!(ratios(&[4, 1, 2]), Ok(vec![2, 4, 8]));
    assert_eq!(ranks(&[16, 4]), Ok(vec![4, 16]));
    for (refused, told) in [
        (ratios(&[0, 1]), "a ratio is 0"),
        (ratios(&[2, 4]), "as in 1,2,4"),
        (ratios(&[1, 2, 2]), "2 is there twice"),
        (ratios(&[1, u32::MAX]), "too many"),
        (ranks(&[0]), "a number of ranks is 0"),
        (ranks(&[4, 9]), "9 ranks cannot share 4 processors"),
        (ranks(&[16, 64]), "use --processors 16"),
    ] {
        let error = refused.unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn arguments_get_the_numbers_of_their_run() {
    let trial = SweepTrial { ratio: 4, n_ranks: 8, round: 0 };
    assert_eq!(substituted("--grid={grid} -n {ranks}/{ratio} {other}", &trial), "--grid=4x2 -n 8/4 {other}");
    assert_eq!([1, 2, 7, 12, 16].map(grid), [(1, 1), (2, 1), (7, 1), (4, 3), (4, 4)]);
}
