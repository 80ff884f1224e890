//! Trees made by rule.

use mpi_tree::{Between, Contributor, FanIn, Forest, Grain, Host, Layout, Order, Place, Roles, Shape, Tree, Wake};
use proptest::prelude::*;

pub(crate) fn k_way(contributors: usize) -> Shape {
    Shape::KWay(FanIn::new(contributors).unwrap())
}

pub(crate) fn layout(shape: Shape) -> Layout {
    Layout { shape, grain: Grain::Host, inside: None, between: Between::Reduce, order: Order::Fixed, wake: Wake::Both }
}

/// Hosts of 1 to 64 ranks, in blocks, in turn or anyhow, in up to three clusters.
pub(crate) fn placements() -> impl Strategy<Value = Vec<Host>> {
    let place = (1..=64_usize, 1..=16_usize, 0..3, 1..=3_usize);
    let with_chance = place.prop_flat_map(|place| (Just(place), proptest::collection::vec(0..place.1, place.0)));
    with_chance.prop_map(|((n_ranks, n_hosts, kind, n_clusters), drawn)| {
        let host_of = |rank: usize| match kind {
            0 => rank * n_hosts / n_ranks,
            1 => rank % n_hosts,
            _ => drawn[rank],
        };
        let hosts = (0..n_hosts).map(|at| Host {
            name: format!("h{at}"),
            cluster: (at % n_clusters > 0).then(|| format!("c{}", at % n_clusters)),
            ranks: (0..n_ranks).filter(|&rank| host_of(rank) == at).map(|rank| rank as u32).collect(),
        });
        hosts.filter(|host| !host.ranks.is_empty()).collect()
    })
}

pub(crate) fn layouts() -> impl Strategy<Value = Layout> {
    let shape = prop_oneof![Just(Shape::Flat), Just(Shape::Binomial), (2..=9_usize).prop_map(k_way)];
    let grain = prop_oneof![Just(Grain::Host), Just(Grain::Rank)];
    let inside = prop_oneof![Just(None), (2..=5_usize).prop_map(FanIn::new)];
    let between = prop_oneof![Just(Between::Reduce), Just(Between::AllToAll)];
    let order = prop_oneof![Just(Order::Fixed), Just(Order::Arrival)];
    (shape, grain, inside, between, order).prop_map(|(shape, grain, inside, between, order)| Layout {
        shape,
        grain,
        inside,
        between,
        order,
        wake: Wake::Spin,
    })
}

proptest! {
    #[test]
    fn each_rank_reaches_a_root_once_and_text_gives_the_same_tree(hosts in placements(), layout in layouts()) {
        let tree = Tree::make("t", &hosts, &layout);
        let forest = Forest { epoch: 3, hosts, trees: vec![tree], rules: Vec::new() };
        prop_assert_eq!(forest.check(), Ok(()));
        let text = forest.to_text();
        prop_assert_eq!(&Forest::parse(&text).unwrap(), &forest);

        let tree = &forest.trees[0];
        let roles = Roles::new(tree, &forest.hosts);
        let mut reached: Vec<u32> = tree.roots().flat_map(|root| roles.ranks_below()[root].clone()).collect();
        reached.sort_unstable();
        prop_assert_eq!(reached, (0..forest.n_ranks() as u32).collect::<Vec<_>>());
        for (station, node) in roles.stations().iter().zip(&tree.nodes) {
            prop_assert!(forest.hosts[node.host].ranks.contains(&station.server));
            prop_assert!(tree.between == Between::AllToAll || station.seat.is_some() || tree.roots().count() == 1);
        }
    }

    #[test]
    fn nodes_have_no_more_contributors_than_the_fan_in(hosts in placements(), k in 2..=9_usize) {
        let mut layout = layout(k_way(k));
        layout.grain = Grain::Rank;
        let hosts: Vec<Host> = hosts.into_iter().map(|host| Host { cluster: None, ..host }).collect();
        let tree = Tree::make("t", &hosts, &layout);
        prop_assert!(tree.nodes.iter().all(|node| node.contributors.len() <= k));
    }
}

#[test]
fn forty_nine_hosts_eight_way_have_nine_nodes_and_57_arrivals_on_eight_hosts() {
    let hosts = Host::blocks(49, 1);
    let tree = Tree::make("tin", &hosts, &layout(k_way(8)));
    assert_eq!(tree.nodes.len(), 9);
    assert_eq!(tree.nodes.iter().filter(|node| node.parent == Some(0)).count(), 8);
    let collectors = tree.collectors(&hosts);
    let arrivals = collectors.iter().filter(|collector| matches!(collector.place, Place::Arrive(_)));
    let mut on_hosts: Vec<usize> = arrivals.map(|collector| tree.nodes[collector.node].host).collect();
    assert_eq!(on_hosts.len(), 57);
    on_hosts.sort_unstable();
    on_hosts.dedup();
    assert_eq!(on_hosts.len(), 8);
}

#[test]
fn a_binomial_tree_over_hosts_doubles_its_parts() {
    let hosts = Host::blocks(8, 1);
    let tree = Tree::make("t", &hosts, &layout(Shape::Binomial));
    let below: Vec<Vec<u32>> = Roles::new(&tree, &hosts).ranks_below();
    assert_eq!(below, [vec![0, 1, 2, 3, 4, 5, 6, 7], vec![2, 3], vec![4, 5, 6, 7], vec![6, 7]]);
    let root = &tree.nodes[0].contributors;
    assert_eq!(root[..2], [Contributor::Rank(0), Contributor::Rank(1)]);
    assert_eq!(root.len(), 4);
}

#[test]
fn levels_inside_a_host_stay_there() {
    let mut hosts = Host::blocks(2, 8);
    // A node's name is no number.
    hosts[1].name = "1".into();
    let tree = Tree::make("t", &hosts, &Layout { inside: FanIn::new(4), ..layout(Shape::Flat) });
    let names: Vec<&str> = tree.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["root", "h0", "host-1", "h0.part", "h0.part-2", "host-1.part", "host-1.part-2"]);
    let n_remote = tree.collectors(&hosts).iter().filter(|it| matches!(it.place, Place::Leave(_))).count();
    assert_eq!(n_remote, 1);
}

#[test]
fn clusters_are_joined_by_a_node_or_exchange_their_results() {
    let mut hosts = Host::blocks(4, 1);
    hosts.iter_mut().zip(["left", "left", "right", "right"]).for_each(|(host, name)| host.cluster = Some(name.into()));
    let joined = Tree::make("t", &hosts, &layout(Shape::Flat));
    assert_eq!(by_names(&joined), ["root", "left", "right"]);
    let exchanged = Tree::make("t", &hosts, &Layout { between: Between::AllToAll, ..layout(Shape::Flat) });
    assert_eq!(by_names(&exchanged), ["left", "right"]);
    assert_eq!(exchanged.roots().count(), 2);
}

fn by_names(tree: &Tree) -> Vec<&str> {
    tree.nodes.iter().map(|node| node.name.as_str()).collect()
}

#[test]
fn a_single_rank_has_a_root_too() {
    let tree = Tree::make("t", &Host::blocks(1, 1), &layout(Shape::Binomial));
    assert_eq!((tree.nodes.len(), tree.nodes[0].contributors.as_slice()), (1, &[Contributor::Rank(0)][..]));
}

#[test]
fn shapes_are_named_as_people_write_them() {
    for text in ["flat", "binomial", "8-way"] {
        assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
    }
    for text in ["1-way", "8", "-way", "Flat", "99999999999999999999-way"] {
        let error = text.parse::<Shape>().unwrap_err().to_string();
        assert!(error.contains(&format!("`{text}`")), "{error}");
    }
}
