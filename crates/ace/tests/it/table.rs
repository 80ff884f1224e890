//! Results as text for people.

use ace::Ace;
use ace::record::{NEIGHBOUR, Seen};
use expect_test::{Expect, expect};
use mpi_run::{Measurement, Neighbour, Outcome};

use crate::made::{Made, application, header, sweep};

#[track_caller]
fn check_text(outcome: &Outcome, expected: Expect) {
    expected.assert_eq(&Ace.table(outcome).unwrap());
}

#[test]
fn a_run_has_predictions_and_what_became_of_them() {
    check_text(
        &Made::default().outcome(&header(), &application()),
        expect![[r#"
            ACE under Open MPI v4.1.4, 2 ranks, seed 1

            application a1: ring, blocking, 64KiB a message, load 50 %, 2 ranks, 1000 cycles
              T_comm 49.0 us by the exchange itself (exchange 49.0 us, linear model 40.0 us for 2 messages in turn)
              T_comp 49.0 us, T_cycle 98.0 us, barrier 2.00 us; predicted run 101 ms
              ping-pong from 0B: alpha 500 ns [500 ns, 500 ns], beta 0.3000 [0.3000, 0.3000] ns/B
              rank     run    once    error  as we go    error   T_comp   T_comm  dev/mean  x bench     sync  off core
              0     103 ms  101 ms  +1.68 %    102 ms  +0.68 %  +0.10 %  49.8 us     0.104     1.00  2.00 us    0.10 %
              1     103 ms  101 ms  +1.62 %    102 ms  +0.62 %  +0.10 %  50.0 us     0.101     1.00  1.99 us    0.10 %
              (error: actual less predicted, of predicted; T_comp: median less calculated; T_comm and sync: medians; x bench: deviation by that in phase one)
              no anomalous cycles or pairs
        "#]],
    );
}

#[test]
fn a_neighbour_is_named_and_no_rank_is_blamed() {
    let alone = Made { away_ratio: 0.482, ..Made::default() }.outcome(&header(), &application());
    let neighbour = Neighbour { host: "node".to_owned(), pid: 4711, name: "hp\u{1b}cc".to_owned(), core_ratio: 0.973 };
    let seen = serde_json::to_value(Seen { cell: None, neighbour }).unwrap();
    let mut beside = alone.clone();
    beside.records.push((NEIGHBOUR.to_owned(), seen));
    let off_core = |outcome: &Outcome| {
        let table = Ace.table(outcome).unwrap();
        let (_, told) = table.split_once("phase one)\n").unwrap();
        // The indentation that all lines share is not in `expect!`.
        told.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap())).collect::<String>()
    };
    expect![[r#"
          off core: rank 0 for 0.00 % of phase one and 48.2 % of the run
          off core: rank 1 for 0.00 % of phase one and 48.2 % of the run
            on node `hp�cc` (process 4711) had 97.3 % of a core
            above 10.0 %, times are the scheduler's: waits, exchanges and pairs of ranks are not judged
    "#]]
    .assert_eq(&off_core(&beside));
    expect![[r#"
          off core: rank 0 for 0.00 % of phase one and 48.2 % of the run
          off core: rank 1 for 0.00 % of phase one and 48.2 % of the run
            on node no neighbour is seen: ranks share cores, or whoever had them has ended or is another guest of the machine
            above 10.0 %, times are the scheduler's: waits, exchanges and pairs of ranks are not judged
    "#]].assert_eq(&off_core(&alone));
}

#[test]
fn a_sweep_has_a_row_for_each_application_of_a_cell() {
    let mut outcome = sweep(1, 1.0, 1);
    outcome.records.drain(2..outcome.records.len() - 2);
    check_text(
        &outcome,
        expect![[r#"
        ACE under Open MPI v4.1.4, 2 ranks, seed 1

        pattern       mode  size  load  apps  rep  name  predicted     run     error  go error  dev/mean  x bench
        ring      blocking  1KiB  10 %     1    0    a1     1.00 s  998 ms   -0.17 %   -0.06 %     0.100     1.00
        ring      blocking  1KiB  20 %     1    0    a1     1.00 s  978 ms   -2.20 %   -0.73 %     0.100     1.00
        alltoall         -  1MiB  80 %     2    0    a1     1.00 s  1.04 s   +4.23 %   +1.41 %     0.100     1.00
        alltoall         -  1MiB  80 %     2    0    a2     1.00 s  1.11 s  +10.87 %   +3.62 %     0.100     1.00
    "#]],
    );
}

#[test]
fn a_run_that_broke_off_says_so() {
    let mut outcome = Made::default().outcome(&header(), &application());
    outcome.records.truncate(1);
    outcome.is_truncated = true;
    check_text(
        &outcome,
        expect![[r#"
        ACE under Open MPI v4.1.4, 2 ranks, seed 1
        warning: the result breaks off in its last line: the run was ended before its time
    "#]],
    );
}
