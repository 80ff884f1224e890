//! Stages add up to what they are stages of, to the tick, on random trees and in random order.

use mpi_analysis::{Analyzer, HostClock, NodeCall, Part};
use mpi_trace::Event;
use mpi_tree::Contributor;
use proptest::prelude::*;

use crate::made::{Costs, Made, host, node, tree};

/// Draws from a list of numbers, again from its beginning after its end.
struct Drawn(Vec<u64>, usize);

impl Drawn {
    fn next(&mut self) -> u64 {
        self.1 += 1;
        self.0[self.1 % self.0.len()]
    }
}

impl Costs for Drawn {
    fn arrival(&mut self, _: u32) -> u64 {
        1_000_000 + self.next() * 50
    }

    fn down(&mut self, _: usize) -> u64 {
        self.next()
    }

    fn up(&mut self, _: usize, _: usize) -> u64 {
        self.next()
    }

    fn hop(&mut self, _: usize, _: usize) -> u64 {
        self.next()
    }

    fn store(&mut self) -> u64 {
        self.next()
    }
}

/// Any tree: `parents[i]` picks the parent of node i + 1 among those before it, `hosts[i]` the host of node i, and rank
/// r is on host r / 2 and contributes to node `homes[r]`.
fn made(parents: &[usize], hosts: &[usize], homes: &[usize]) -> Made {
    let n_hosts = homes.len().div_ceil(2);
    let mut nodes = vec![node("n0", hosts[0] % n_hosts, None, Vec::new())];
    for (idx, parent) in (1..).zip(parents) {
        let parent = parent % idx;
        nodes.push(node(&format!("n{idx}"), hosts[idx] % n_hosts, Some(parent), Vec::new()));
        nodes[parent].contributors.push(Contributor::Node(idx));
    }
    let n_nodes = nodes.len();
    for (rank, home) in (0..).zip(homes) {
        nodes[home % n_nodes].contributors.push(Contributor::Rank(rank));
    }
    // Each node has a contributor.
    let mut rank = homes.len() as u32;
    let empty: Vec<usize> = (0..n_nodes).filter(|&idx| nodes[idx].contributors.is_empty()).collect();
    for idx in empty {
        nodes[idx].contributors.push(Contributor::Rank(rank));
        rank += 1;
    }
    let n_hosts = rank.div_ceil(2);
    let hosts = (0..n_hosts).map(|idx| host(&format!("h{idx}"), None, 2 * idx..(2 * idx + 2).min(rank))).collect();
    Made { tree: tree("any", nodes), hosts, ahead: (0..u64::from(n_hosts)).map(|idx| idx * 77_777).collect() }
}

proptest! {
    #[test]
    fn what_a_contributor_spent_is_the_sum_of_its_parts(
        stamps in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 40), 1..12),
        after in 0_u64..1 << 40, below in 0_u64..1 << 40,
    ) {
        let t2 = stamps.iter().map(|stamp| stamp.0).max().unwrap() + after;
        let t3 = t2 + below;
        let contributors: Vec<(u64, u64)> = stamps.iter().map(|&(t1, late)| (t1, t3 + late)).collect();
        let call = NodeCall::new((t2, t3), contributors.clone()).unwrap();
        for (i, (t1, t4)) in contributors.into_iter().enumerate() {
            let parts = call.arrival_wait(i) + call.down_last() + call.below() + call.up_first() + call.departure_wait(i);
            prop_assert_eq!(parts, t4 - t1);
            prop_assert_eq!(call.down(i), call.arrival_wait(i) + call.down_last());
            prop_assert_eq!(call.up(i), call.up_first() + call.departure_wait(i));
            prop_assert_eq!(call.total(i) + call.below(), t4 - t1);
        }
        prop_assert_eq!(call.arrival_wait(*call.arrivals().last().unwrap()), 0);
        prop_assert_eq!(call.departure_wait(call.departures()[0]), 0);
    }

    #[test]
    fn a_call_is_the_sum_of_the_stages_on_its_path_whatever_the_clocks(
        parents in prop::collection::vec(0_usize..100, 0..6), hosts in prop::collection::vec(0_usize..100, 7),
        homes in prop::collection::vec(0_usize..100, 1..9), drawn in prop::collection::vec(0_u64..5_000, 40..80),
        n_calls in 1_u32..6, shuffled in any::<u64>(), first in any::<u32>(),
    ) {
        let made = made(&parents, &hosts, &homes);
        let mut costs = Drawn(drawn, 0);
        let mut events: Vec<Event> = (0..n_calls).flat_map(|call| made.call(first.wrapping_add(call), &mut costs)).collect();
        let n = events.len() as u64;
        // Any order: each place is exchanged with another.
        for at in 0..n {
            events.swap(at as usize, (shuffled.wrapping_mul(at * 2 + 1) % n) as usize);
        }
        let mut analyzer = Analyzer::new(made.tree, made.hosts, vec![HostClock::alone(); 16]);
        analyzer.take(events);
        let analysis = analyzer.analysis();
        prop_assert_eq!((analysis.n_calls, analysis.n_incomplete, analysis.n_disordered), (n_calls.into(), 0, 0));
        prop_assert_eq!(analysis.paths.len(), analysis.paths.iter().filter(|path| path.total.count == u64::from(n_calls)).count());
        for path in &analysis.paths {
            let stages = analysis.stages(path);
            let sum = |is_counted: &dyn Fn(Part) -> bool| -> f64 {
                stages.iter().filter(|stage| is_counted(stage.part)).map(|stage| stage.figures.mean_ns).sum()
            };
            // Means of up to five whole numbers, added up: rounding only.
            prop_assert!((sum(&|_| true) - path.total.mean_ns).abs() < 1e-4, "{} {}", sum(&|_| true), path.total.mean_ns);
            prop_assert!((sum(&|part| part != Part::ArrivalWait) - path.cost.mean_ns).abs() < 1e-4);
            let costs = analysis.costs(path);
            let of_all = costs.hosts_ns.values().sum::<f64>() + costs.lan_ns + costs.wan_ns;
            prop_assert!((of_all - path.cost.mean_ns).abs() < 1e-4);
        }
        for node in &analysis.nodes {
            for contributor in &node.contributors {
                prop_assert_eq!(contributor.arrived.iter().sum::<u64>(), u64::from(n_calls));
                prop_assert_eq!(contributor.departed.iter().sum::<u64>(), u64::from(n_calls));
            }
            for position in 0..node.contributors.len() {
                prop_assert_eq!(node.contributors.iter().map(|own| own.arrived[position]).sum::<u64>(), u64::from(n_calls));
            }
        }
    }
}
