//! The programs over TCP: what they send crosses the loopback device, and does not where ranks share memory.

use std::fs;

use ace::record::{RANK, RankResult};
use comb::record::{PING_PONG, PingPong};
use miniapp::record::RunSeen;
use mpi_run::{Flavour, Outcome, Placing};
use noise::record::Part;

use crate::launch::{ACE, COMB, MINIAPP, NOISE, command, flavour, turn};

/// Of an allreduce of one number: addresses, lengths and sums of Ethernet, IP and TCP, without the number.
const N_HEADER_BYTES: u64 = 54;
const MIB: u64 = 1 << 20;

/// Bytes that the kernel has received on the loopback.
fn loopback_bytes() -> u64 {
    let text = fs::read_to_string("/proc/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:")).expect("there is a loopback");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Bytes that the loopback carries while it runs, and what it found.
#[track_caller]
fn moved_bytes(program: &str, is_tcp: bool, n_ranks: u32, arguments: &[&str]) -> (u64, Outcome) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.jsonl");
    let out = ["--quiet", "--out", path.to_str().unwrap()];
    let placing = Placing { n_ranks, is_tcp, ..Placing::default() };
    let mut launcher = command(program, &placing, &[arguments, &out].concat());
    // What other programs send in the meantime would be counted, too.
    let _turn = turn();
    let before = loopback_bytes();
    let ended = launcher.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    (loopback_bytes() - before, Outcome::read(&path).unwrap())
}

/// `sent_bytes` tells what ranks sent each other at least by a result.
#[track_caller]
fn check_crossing(program: &str, n_ranks: u32, arguments: &[&str], sent_bytes: impl Fn(&Outcome) -> u64) {
    let (moved, outcome) = moved_bytes(program, true, n_ranks, arguments);
    let sent = sent_bytes(&outcome);
    assert!(sent > 0 && moved >= sent, "sent {sent}, moved {moved}");
}

/// What each of the ranks sends, `n_messages` in a cycle of the `n_cycles` of its run.
fn of_cycles(outcome: &Outcome, n_cycles: u64, n_messages: u64, size_bytes: u64) -> u64 {
    outcome.all::<RankResult>(RANK).unwrap().len() as u64 * n_cycles * n_messages * size_bytes
}

#[test]
fn exchanges_of_ace_cross_the_loopback_and_do_not_where_memory_is_shared() {
    let arguments = ["--size", "1MiB", "--iterations", "40", "--quick"];
    check_crossing(ACE, 2, &arguments, |outcome| of_cycles(outcome, 40, 1, MIB));
    let (moved, outcome) = moved_bytes(ACE, false, 2, &arguments);
    assert!(moved < of_cycles(&outcome, 40, 1, MIB), "moved {moved}");
}

#[test]
fn round_trips_of_comb_cross_the_loopback() {
    let counts =
        ["--quick", "--trips", "10", "--cycles", "5", "--repetitions", "5", "--span", "200us", "--batches", "5"];
    let sizes = ["--size", "1MiB", "--work", "0s", "--poll-interval", "20us"];
    check_crossing(COMB, 2, &[&counts[..], &sizes[..]].concat(), |outcome| {
        let trips: Vec<PingPong> = outcome.all(PING_PONG).unwrap();
        trips.iter().map(|trip| 2 * trip.n_trips * trip.size_bytes).sum()
    });
}

#[test]
fn sums_of_miniapp_cross_the_loopback() {
    // However an allreduce is made, each of two ranks learns of all numbers of the other.
    check_crossing(MINIAPP, 2, &["gsum", "--calls", "40", "--size", "1MiB"], |outcome| {
        let run: RunSeen = outcome.all(miniapp::record::kind::RUN).unwrap().remove(0);
        run.n_calls * run.size_bytes
    });
}

#[test]
fn allreduces_of_noise_cross_the_loopback() {
    check_crossing(NOISE, 2, &["--work", "allreduce", "--time", "300ms"], |outcome| {
        let parts: Vec<Part> = outcome.all(noise::record::kind::PART).unwrap();
        2 * N_HEADER_BYTES * parts.iter().map(|part| part.n_iterations).sum::<u64>()
    });
}

#[test]
fn a_halo_of_three_dimensions_crosses_the_loopback_at_eight_ranks() {
    if flavour(ACE) == Flavour::Mpich {
        eprintln!("skipped: MPICH before 4.2 may hang in MPI_Finalize over TCP with more than two ranks");
        return;
    }
    // Each rank has a neighbour in each dimension, and two ways to it.
    let arguments = ["--pattern", "halo-3d", "--size", "256KiB", "--iterations", "4", "--quick"];
    check_crossing(ACE, 8, &arguments, |outcome| of_cycles(outcome, 4, 3, MIB / 4));
}
