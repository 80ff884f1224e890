//! Emulated applications from traces: what was emulated comes back, and what was not is told.

use ace::{Applications, Direction, FitError, Fitted, Pattern, Sizes, Step, fit};
use mpi_trace::{Mode, Trace};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const N_CYCLES: usize = 60;

/// An application whose calls are written as a trace, as an emulated one would make them.
#[derive(Clone)]
struct Emulated {
    pattern: Pattern,
    mode: Mode,
    n_ranks: u32,
    size: &'static str,
    /// Communication of a cycle is 1 ms, by so many percent of it more or less.
    jitter_percent: f64,
    load_percent: f64,
    has_barriers: bool,
}

impl Emulated {
    fn of(pattern: Pattern, n_ranks: u32) -> Self {
        let (mode, size) = (Mode::Blocking, "64KiB");
        Self { pattern, mode, n_ranks, size, jitter_percent: 20.0, load_percent: 30.0, has_barriers: false }
    }

    fn csv(&self) -> String {
        let mut text = "rank,start_ns,end_ns,call,peer,size_bytes\n".to_owned();
        let sizes = self.size.parse::<Sizes>().unwrap().draw(1).unwrap();
        for rank in 0..self.n_ranks {
            let mut chance = ChaCha8Rng::seed_from_u64(u64::from(rank));
            // Clocks are seconds apart.
            let mut now = 1e9 * f64::from(rank);
            for cycle in 0..N_CYCLES {
                now += 1e6 * (100.0 - self.load_percent) / self.load_percent;
                let span = 1e6 * (1.0 + self.jitter_percent / 100.0 * chance.random_range(-1.0..1.0));
                if self.has_barriers {
                    text += &row(rank, &mut now, 5e4, "MPI_Barrier", None, 0);
                }
                self.exchange(rank, sizes[cycle % sizes.len()], &mut now, span, &mut text);
            }
        }
        text
    }

    fn exchange(&self, rank: u32, size: u64, now: &mut f64, span: f64, text: &mut String) {
        if self.pattern.is_collective() {
            *text += &row(rank, now, span, &format!("MPI_{}", self.pattern), None, size);
            return;
        }
        let steps = self.pattern.rounds(self.n_ranks, 5).steps(rank);
        let each = span / steps.len() as f64;
        let is_at_once = self.mode == Mode::NonBlocking;
        for Step { peer, direction, .. } in &steps {
            let call = match (direction, self.mode) {
                (Direction::Send, Mode::Blocking) => "MPI_Send",
                (Direction::Send, Mode::NonBlocking) => "MPI_Isend",
                (Direction::Send, Mode::Synchronous) => "MPI_Ssend",
                (Direction::Receive, Mode::NonBlocking) => "MPI_Irecv",
                (Direction::Receive, _) => "MPI_Recv",
            };
            *text += &row(rank, now, if is_at_once { 300.0 } else { each }, call, Some(*peer), size);
        }
        if is_at_once {
            *text += &row(rank, now, span, "MPI_Waitall", None, 0);
        }
    }
}

/// A call that begins 50 ns after `now`, which is then where it ends.
fn row(rank: u32, now: &mut f64, span: f64, call: &str, peer: Option<u32>, size: u64) -> String {
    let start = *now + 50.0;
    *now = start + span;
    let peer = peer.map_or(String::new(), |peer| peer.to_string());
    format!("{rank},{start:.0},{now:.0},{call},{peer},{size}\n")
}

#[track_caller]
fn fitted(csv: &str) -> Fitted {
    fit(&Trace::read(csv.as_bytes()).unwrap()).unwrap()
}

#[track_caller]
fn check_comes_back(emulated: &Emulated) {
    let found = fitted(&emulated.csv());
    let Fitted { application, .. } = &found;
    let what = format!("{} {} on {}: {found:#?}", emulated.mode, emulated.pattern, emulated.n_ranks);
    assert_eq!((application.pattern, application.mode), (emulated.pattern, emulated.mode), "{what}");
    assert!(found.is_of_pattern() && found.pattern.share_ratio > 0.999, "{what}");
    assert_eq!(application.ranks, Some(emulated.n_ranks), "{what}");
    assert_eq!(application.iterations.unwrap().get(), N_CYCLES as u64, "{what}");
    assert_eq!(application.size.to_string(), emulated.size, "{what}");
    assert!((application.load_percent.percent() / emulated.load_percent - 1.0).abs() < 0.05, "{what}");
    assert_eq!(application.synchronize_every, u32::from(emulated.has_barriers), "{what}");
}

#[test]
fn every_pattern_comes_back_as_itself() {
    for pattern in Pattern::ALL {
        for n_ranks in [8, 12, 16] {
            check_comes_back(&Emulated::of(pattern, n_ranks));
        }
    }
    check_comes_back(&Emulated::of(Pattern::Pairs, 2));
    check_comes_back(&Emulated::of(Pattern::Ring, 5));
}

#[test]
fn modes_barriers_and_loads_come_back() {
    for mode in [Mode::NonBlocking, Mode::Synchronous] {
        for pattern in Pattern::ALL.into_iter().filter(|pattern| !pattern.is_collective()) {
            check_comes_back(&Emulated { mode, ..Emulated::of(pattern, 8) });
        }
    }
    for load_percent in [1.5, 10.0, 60.0, 90.0] {
        for pattern in [Pattern::Halo2d, Pattern::Alltoall] {
            check_comes_back(&Emulated { load_percent, has_barriers: true, ..Emulated::of(pattern, 8) });
        }
    }
}

#[test]
fn sizes_come_back_as_their_distribution() {
    let found = fitted(&Emulated { size: "mix(1KiB: 3, 1MiB: 1)", ..Emulated::of(Pattern::Ring, 4) }.csv());
    assert!(matches!(&found.application.size, Sizes::Mix(parts) if parts.len() == 2), "{found:#?}");
    let found = fitted(&Emulated { size: "uniform(1KiB..64KiB)", ..Emulated::of(Pattern::Alltoall, 4) }.csv());
    assert!(matches!(found.application.size, Sizes::Uniform(..)), "{found:#?}");
}

#[test]
fn the_example_of_the_format_is_read_as_it_says() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/communication-trace.md"))
            .unwrap();
    let block = |name: &str| page.split(&format!("```{name}\n")).nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(fitted(block("csv")).toml(), block("toml"));
}

#[test]
fn a_permutation_that_changes_is_one_still() {
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let mut text = "rank,start_ns,end_ns,call,peer,size_bytes\n".to_owned();
    for cycle in 0..200 {
        // All on by the same number of ranks, another one each time.
        let on = chance.random_range(1..7);
        for rank in 0..7 {
            let mut now = f64::from(cycle) * 1e6;
            text += &row(rank, &mut now, 1e5, "isend", Some((rank + on) % 7), 8);
            text += &row(rank, &mut now, 1e5, "irecv", None, 8);
        }
    }
    let found = fitted(&text);
    assert_eq!(found.application.pattern, Pattern::Permutation, "{found:#?}");
    assert!(found.pattern.difference.starts_with("another permutation in each cycle"), "{found:#?}");
}

#[test]
fn a_pattern_that_is_none_is_told_with_the_nearest() {
    let mut text = "rank,start_ns,end_ns,call,peer,size_bytes\n".to_owned();
    for rank in 0..17 {
        let mut now = 0.0;
        for _ in 0..20 {
            now += 1e6;
            for on in [3, 5, 7, 16] {
                text += &row(rank, &mut now, 1e5, "send", Some((rank + on) % 17), 8);
            }
        }
    }
    let found = fitted(&text);
    assert!(!found.is_of_pattern());
    assert!(found.remarks()[0].starts_with("pattern: no pattern fits, nearest is "), "{}", found.remarks()[0]);
}

#[test]
fn collectives_without_a_pattern_are_told_by_name() {
    let csv = Emulated::of(Pattern::Allreduce, 4).csv().replace("MPI_allreduce", "MPI_Bcast");
    let found = fitted(&csv);
    assert_eq!(found.application.pattern, Pattern::Scatter);
    assert_eq!(found.remarks()[0], "pattern: no pattern fits, nearest is scatter with 50.0 % of the communication");
    assert!(found.remarks()[1].contains("recorded was bcast"), "{}", found.remarks()[1]);
}

#[test]
fn a_load_that_is_not_emulated_is_told() {
    let found = fitted(&Emulated { load_percent: 0.2, ..Emulated::of(Pattern::Ring, 4) }.csv());
    assert_eq!(found.application.load_percent.percent(), 1.0);
    assert!(found.toml().contains("0.20 % of the time in calls"), "{}", found.toml());
    assert!(found.toml().contains("outside of what is emulated"), "{}", found.toml());
}

#[test]
fn what_is_written_is_what_the_emulation_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("application.toml");
    for pattern in Pattern::ALL {
        let found = fitted(&Emulated { size: "lognormal(4KiB, 0.5)", ..Emulated::of(pattern, 8) }.csv());
        std::fs::write(&path, found.toml()).unwrap();
        assert_eq!(Applications::read(&path).unwrap().applications, [found.application]);
    }
}

#[test]
fn traces_without_messages_ranks_or_cycles_are_refused() {
    let refused = |rows: &str| {
        let csv = format!("rank,start_ns,end_ns,call,peer,size_bytes\n{rows}");
        fit(&Trace::read(csv.as_bytes()).unwrap()).unwrap_err()
    };
    assert_eq!(refused("0,1,2,allreduce,,8\n0,5,6,allreduce,,8\n"), FitError::Ranks { n_ranks: 1 });
    assert_eq!(refused("0,1,2,barrier,,\n1,5,6,barrier,,\n"), FitError::Silent);
    assert_eq!(refused("0,1,2,send,1,8\n1,5,6,recv,0,8\n"), FitError::Cycles);
}
