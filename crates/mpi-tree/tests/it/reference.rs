//! What the reference gives is what MPI defines.

use mpi_tree::{Contributor, Host, Layout, Order, Reference, Tree};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::shape::{layouts, placements};

/// Numbers whose sum depends on the order in which they are added.
fn numbers() -> impl Strategy<Value = Vec<f64>> {
    let number = (-1.0..1.0, -30..30).prop_map(|(digits, power): (f64, i32)| digits * 2_f64.powi(power));
    proptest::collection::vec(number, 64)
}

/// Orders in which ranks may arrive: where in what is left the next one is.
fn orders() -> impl Strategy<Value = Vec<Index>> {
    proptest::collection::vec(any::<Index>(), 64)
}

fn in_order(n_ranks: usize, drawn: &[Index]) -> Vec<u32> {
    let mut left: Vec<u32> = (0..n_ranks as u32).collect();
    drawn[..n_ranks].iter().map(|index| left.swap_remove(index.index(left.len()))).collect()
}

/// The sum by the tree's definition, from the top.
fn defined(tree: &Tree, node: usize, values: &[f64]) -> f64 {
    let parts = tree.nodes[node].contributors.iter().map(|contributor| match *contributor {
        Contributor::Rank(rank) => values[rank as usize],
        Contributor::Node(node) => defined(tree, node, values),
    });
    parts.reduce(|left, right| left + right).unwrap()
}

fn n_ranks(hosts: &[Host]) -> usize {
    hosts.iter().map(|host| host.ranks.len()).sum()
}

proptest! {
    #[test]
    fn sums_in_fixed_order_are_equal_to_the_bit_whoever_arrives_first(
        (hosts, layout) in (placements(), layouts()), values in numbers(), first in orders(), second in orders(),
    ) {
        let n_ranks = n_ranks(&hosts);
        let tree = Tree::make("t", &hosts, &Layout { order: Order::Fixed, ..layout });
        let values = &values[..n_ranks];
        let roots = tree.roots().map(|root| defined(&tree, root, values));
        let needed = roots.reduce(|left, right| left + right).unwrap();
        let reference = Reference::new(&tree, &hosts);
        for drawn in [first, second] {
            let sum = reference.allreduce(values.to_vec(), &in_order(n_ranks, &drawn), |left, right| left + right);
            prop_assert_eq!(sum.to_bits(), needed.to_bits());
        }
    }

    #[test]
    fn every_operation_gives_what_mpi_defines(
        (hosts, layout) in (placements(), layouts()), drawn in orders(), root in any::<Index>(),
    ) {
        let n_ranks = n_ranks(&hosts);
        let tree = Tree::make("t", &hosts, &layout);
        let reference = Reference::new(&tree, &hosts);
        let arrivals = in_order(n_ranks, &drawn);
        let values: Vec<u64> = (0..n_ranks as u64).map(|rank| rank * rank + 1).collect();
        let sum = reference.allreduce(values.clone(), &arrivals, |left, right| left + right);
        prop_assert_eq!(sum, values.iter().sum::<u64>());
        prop_assert_eq!(reference.gather(values.clone(), &arrivals), values.clone());
        prop_assert_eq!(reference.bcast(root.index(n_ranks) as u32, values.clone(), &arrivals), values);
        reference.allreduce(vec![(); n_ranks], &arrivals, |(), ()| ());
    }
}

#[test]
fn in_order_of_arrival_who_comes_first_is_combined_first() {
    let hosts = [Host { name: "a".into(), cluster: None, ranks: vec![0, 1, 2] }];
    let layout = Layout { order: Order::Arrival, ..crate::shape::layout(mpi_tree::Shape::Flat) };
    let tree = Tree::make("t", &hosts, &layout);
    let words = ["a", "b", "c"].map(str::to_owned).to_vec();
    let joined = Reference::new(&tree, &hosts).allreduce(words, &[2, 0, 1], |left, right| left + &right);
    assert_eq!(joined, "cab");
}

#[test]
#[should_panic(expected = "all ranks have arrived")]
fn a_call_that_a_rank_does_not_make_does_not_end() {
    let hosts = [Host { name: "a".into(), cluster: None, ranks: vec![0, 1, 2] }];
    let tree = Tree::make("t", &hosts, &crate::shape::layout(mpi_tree::Shape::Flat));
    Reference::new(&tree, &hosts).allreduce(vec![(); 3], &[0, 1], |(), ()| ());
}
