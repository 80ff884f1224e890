//! The same results under all exact protocols; what inexact ones get wrong; what each protocol takes.

use std::num::NonZero;

use des::{Arrival, Counts, Process, ProcessIdx, Protocol, Settings, Turn, Wants, run};
use proptest::prelude::*;
use units::{SimDuration, SimTime};

use crate::world::{phold, ring};

const ROUNDS: [&str; 6] = ["nmp", "cep", "nmp+cep", "nmp+det", "cep+det", "nmp+cep+det"];

fn settings(protocol: &str, n_workers: usize, until: SimTime) -> Settings {
    Settings { protocol: protocol.parse().unwrap(), n_workers: NonZero::new(n_workers).unwrap(), until }
}

fn check_phold(n: ProcessIdx, lookahead_ns: u64, seed: u64, protocols: &[&str]) {
    let until = SimTime::from_nanos(4_000);
    let logs = |protocol, n_workers| -> Vec<_> {
        let mut processes = phold(n, lookahead_ns, seed);
        processes.iter_mut().for_each(|process| process.is_choosy = seed % 2 == 1);
        let ended = run(processes, &settings(protocol, n_workers, until));
        ended.processes.into_iter().map(|process| process.log).collect()
    };
    let expected = logs("sequential", 1);
    assert!(expected.iter().any(|log| !log.is_empty()));
    for protocol in protocols {
        for n_workers in [1, 2, 3] {
            assert_eq!(logs(protocol, n_workers), expected, "{protocol} with {n_workers} threads");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn all_exact_protocols_take_the_same_messages(n in 1_u32..20, lookahead_ns in 20_u64..400, seed: u64) {
        check_phold(n, lookahead_ns, seed, &ROUNDS);
        // A quantum is exact up to the lookahead.
        check_phold(n, lookahead_ns, seed, &[&format!("quantum={lookahead_ns}ns")]);
    }
}

#[test]
fn without_lookahead_one_message_goes_at_a_time_and_results_stay() {
    check_phold(6, 0, 5, &ROUNDS);
}

fn counts_of_ring(protocol: &str, names: bool) -> Counts {
    let expected = run(ring(9, 40, names), &Settings::default());
    let ended = run(ring(9, 40, names), &settings(protocol, 2, SimTime::NEVER));
    assert_eq!(ended.clocks, expected.clocks, "{protocol}");
    assert!(ended.waiting.is_empty());
    ended.counts
}

#[test]
fn whoever_names_its_source_waits_for_nobody_else() {
    // On two threads a message of the other thread costs a round; nobody waits for bounds.
    let named = counts_of_ring("nmp+cep+det", true);
    assert_eq!(named.n_idle_rounds, 0);
    // Without that, each step waits until no earlier message can come.
    let unnamed = counts_of_ring("nmp+cep+det", false);
    assert!(unnamed.n_rounds > named.n_rounds, "{unnamed:?} {named:?}");
    let alone = run(ring(9, 40, true), &settings("nmp+cep+det", 1, SimTime::NEVER)).counts;
    assert_eq!(alone.n_rounds, 1, "with all processes on one thread nothing has to be told");
}

#[test]
fn bounds_save_most_of_the_waiting_of_a_quantum() {
    let quantum = counts_of_ring("quantum=100ns", false).n_rounds;
    let combined = counts_of_ring("nmp+cep", false).n_rounds;
    assert!(combined * 5 < quantum, "{combined} of {quantum}");
}

/// Process 0 hears of 1 and 2 and writes down the order.
struct Listener(ProcessIdx, Vec<ProcessIdx>);

impl Process for Listener {
    type Message = u64;

    fn start(&mut self, turn: &mut Turn<'_, u64>) {
        // 2 sends early; what 1 sends comes between, and is sent only when something from 2 has reached it.
        if self.0 == 2 {
            turn.send(1, SimDuration::from_nanos(100), 0);
            turn.send(0, SimDuration::from_nanos(250), 0);
        }
    }

    fn take(&mut self, arrival: Arrival<u64>, turn: &mut Turn<'_, u64>) {
        self.1.push(arrival.source);
        if self.0 == 1 {
            turn.send(0, SimDuration::from_nanos(100), 0);
        }
    }

    fn lookahead(&self) -> SimDuration {
        SimDuration::from_nanos(100)
    }
}

#[test]
fn a_quantum_longer_than_the_lookahead_takes_messages_in_the_wrong_order() {
    let order = |protocol| {
        let processes = (0..3).map(|idx| Listener(idx, Vec::new())).collect();
        run(processes, &settings(protocol, 1, SimTime::NEVER)).processes[0].1.clone()
    };
    assert_eq!(order("quantum=100ns"), [1, 2]);
    assert_eq!(order("quantum=1us"), [2, 1]);
    assert_eq!(order("nmp+cep"), [1, 2]);
}

/// Waits for its neighbour, who waits for it.
struct Waiting(ProcessIdx);

impl Process for Waiting {
    type Message = ();

    fn start(&mut self, _: &mut Turn<'_, ()>) {}

    fn take(&mut self, _: Arrival<()>, _: &mut Turn<'_, ()>) {}

    fn wants(&self) -> Wants {
        Wants::Next(self.0)
    }

    fn lookahead(&self) -> SimDuration {
        SimDuration::from_nanos(1)
    }
}

#[test]
fn those_who_wait_for_each_other_are_named_and_nothing_hangs() {
    for protocol in ["sequential", "quantum=1ns", "nmp", "cep", "nmp+cep+det"] {
        let ended = run(vec![Waiting(1), Waiting(0)], &settings(protocol, 2, SimTime::NEVER));
        assert_eq!(ended.waiting, [0, 1], "{protocol}");
    }
}

struct Liar;

impl Process for Liar {
    type Message = ();

    fn start(&mut self, turn: &mut Turn<'_, ()>) {
        turn.send(1, SimDuration::from_nanos(1), ());
    }

    fn take(&mut self, _: Arrival<()>, _: &mut Turn<'_, ()>) {}

    fn lookahead(&self) -> SimDuration {
        SimDuration::from_nanos(2)
    }
}

#[test]
#[should_panic(
    expected = "process 0 sent a message that arrives at 0.000000001 s in a turn that promised nothing before 0.000000002 s"
)]
fn a_message_before_what_was_promised_is_an_error_of_the_process() {
    let protocol = Protocol::Sequential;
    run(vec![Liar, Liar], &Settings { protocol, ..Settings::default() });
}
