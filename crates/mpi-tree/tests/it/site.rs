//! Trees cut into sites.

use mpi_tree::{Between, FanIn, Forest, Grain, Host, Layout, Order, Shape, Tree, Wake};
use proptest::prelude::*;
use units::Rank;

fn hosts(n_hosts: u32, n_each: u32, n_clusters: u32, is_cyclic: bool) -> Vec<Host> {
    let host_of = |rank: u32| if is_cyclic { rank % n_hosts } else { rank / n_each };
    let host = |at| Host {
        name: format!("h{at}"),
        cluster: Some(format!("c{}", at % n_clusters)),
        ranks: (0..n_hosts * n_each).filter(|rank| host_of(*rank) == at).collect(),
    };
    (0..n_hosts).map(host).collect()
}

fn layout(shape: Shape, between: Between) -> Layout {
    Layout { shape, grain: Grain::Host, inside: FanIn::new(2), between, order: Order::Fixed, wake: Wake::Both }
}

proptest! {
    #[test]
    fn each_rank_is_in_one_site_and_each_site_is_a_sound_tree_in_one_cluster(
        n_each in 1_u32..4, n_clusters in 2_u32..5, n_more in 0_u32..5, is_cyclic: bool, is_flat: bool, is_exchange: bool,
    ) {
        let hosts = hosts(n_clusters + n_more, n_each, n_clusters, is_cyclic);
        let between = if is_exchange { Between::AllToAll } else { Between::Reduce };
        let shape = if is_flat { Shape::Flat } else { Shape::Binomial };
        let tree = Tree::make("t", &hosts, &layout(shape, between));
        let sites = tree.sites(&hosts).expect("each cluster is one");
        prop_assert_eq!(sites.sites.len(), n_clusters as usize);
        let mut all: Vec<Rank> = sites.sites.iter().flat_map(|site| site.ranks.clone()).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..(n_clusters + n_more) * n_each).collect::<Vec<_>>());
        for (at, site) in sites.sites.into_iter().enumerate() {
            prop_assert!(site.hosts.iter().all(|host| host.cluster == site.hosts[0].cluster), "site {}", at);
            prop_assert!((site.server as usize) < site.ranks.len());
            let forest = Forest { hosts: site.hosts, trees: vec![site.tree], ..Forest::default() };
            prop_assert_eq!(forest.check(), Ok(()));
        }
    }
}

#[test]
fn a_tree_within_one_cluster_has_no_sites() {
    let hosts = hosts(4, 2, 1, false);
    assert_eq!(Tree::make("t", &hosts, &layout(Shape::Binomial, Between::Reduce)).sites(&hosts), None);
}

#[test]
fn the_server_of_a_site_has_a_rank_in_the_whole_tree() {
    let hosts = hosts(2, 4, 2, true);
    let sites = Tree::make("t", &hosts, &layout(Shape::Flat, Between::AllToAll)).sites(&hosts).unwrap();
    assert_eq!((sites.server(0), sites.server(1)), (0, 1));
    assert_eq!((sites.place(6), sites.place(7)), ((0, 3), (1, 3)));
}
