//! Stage times as series: a hop that gets slow stands out, and nothing else does.

use mpi_analysis::{Analyzer, Expectations, Part};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::made::{Costs, Even, Made};

/// One hop gets slow at some time.
struct Changing {
    even: Even,
    chance: ChaCha8Rng,
    slow: Option<usize>,
}

impl Costs for Changing {
    fn arrival(&mut self, rank: u32) -> u64 {
        self.even.arrival(rank)
    }

    fn down(&mut self, node: usize) -> u64 {
        self.even.down(node)
    }

    fn up(&mut self, node: usize, departure: usize) -> u64 {
        self.even.up(node, departure)
    }

    fn hop(&mut self, _: usize, contributor: usize) -> u64 {
        let factor = if self.slow == Some(contributor) { 3.0 } else { 1.0 };
        (factor * self.chance.random_range(45_000.0..55_000.0)) as u64
    }

    fn store(&mut self) -> u64 {
        self.even.store()
    }
}

#[test]
fn a_hop_slower_than_expected_stands_out() {
    let made = Made::hosts_of(4, 1);
    let mut analyzer = Analyzer::new(made.tree.clone(), made.hosts.clone(), Vec::new());
    let even = Even { arrival: vec![1_000_000; 4], down: 2_000, up: 5_000, hop: 0, store: 300 };
    let mut costs = Changing { even, chance: ChaCha8Rng::seed_from_u64(11), slow: None };
    let mut expectations = Expectations::default();
    let mut sequence = 0;
    let mut interval = |costs: &mut Changing, expectations: &mut Expectations| {
        for _ in 0..20 {
            analyzer.take(made.call(sequence, costs));
            sequence += 1;
        }
        expectations.step(&analyzer.end_interval())
    };
    let mut n_false = 0;
    for _ in 0..120 {
        n_false += interval(&mut costs, &mut expectations).iter().filter(|slow| slow.part == Part::Hop).count();
    }
    assert!(n_false <= 3, "{n_false} false alarms in 360 hops");
    costs.slow = Some(2);
    let slow = interval(&mut costs, &mut expectations);
    assert_eq!((slow[0].part, slow[0].node, slow[0].contributor), (Part::Hop, 0, Some(2)));
    assert!((slow[0].expected_ns - 100_000.0).abs() < 5_000.0 && slow[0].mean_ns > 250_000.0, "{slow:?}");
}
