//! What can be counted rather than measured: it must be as published, to the last collector and byte.

use event_space::{Need, Sizes};
use mpi_tree::{Between, Contributor, FanIn, Grain, Host, Layout, Node, Order, Place, Shape, Tree, Wake};

/// Something counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    /// What.
    pub what: &'static str,
    /// In the papers.
    pub published: u64,
    /// By the rules of this tree's files.
    pub here: u64,
}

/// All counts that the papers give of trees that they describe well enough to be made again.
pub(crate) fn counts() -> Vec<Count> {
    let (tree, hosts) = eight_threads();
    let collectors = tree.collectors(&hosts);
    let n_far = collectors.iter().filter(|collector| matches!(collector.place, Place::Leave(_))).count();
    let (tins, tin_hosts) = eight_way(49, 1);
    let need = Need::of_arrivals(&tins, &tin_hosts);
    let count = |what, published, here: usize| Count { what, published, here: here as u64 };
    vec![
        count("collectors in P1's tree of eight threads", 13, collectors.len() - n_far),
        count("the same with the far side of its hop, as in P2", 14, collectors.len()),
        count("49 hosts, 8-way: collectors that the load-balance monitor reads", 57, need.n_collectors()),
        count("hosts that it reads them on", 8, need.n_hosts()),
        count("bytes gathered for a call, single scope", 224, need.central_bytes(Sizes::PAPERS) as usize),
        count("bytes gathered at a time, distributed", 352, need.distributed_bytes(Sizes::PAPERS, 8) as usize),
        count("all collectors of that tree", 241, tins.collectors(&tin_hosts).len()),
    ]
}

/// What is said of the one count that is not the same.
pub(crate) const UNEXPLAINED: &str = "P2 says 241 collectors without saying where they are, and no rule that fits its figure 1 gives \
    that number. At most nine collectors are on a host (252 bytes a call), so that the eight hosts with partial sums have 72 at most; more than four \
    would have to be on each of the other 41, where figure 1 has two beside a thread: before its sum and before its stub. Both of the trees that gsum \
    alternates have 212 here.";

/// P1's figure 1: eight threads on two hosts, five partial sums, one hop between the hosts.
fn eight_threads() -> (Tree, Vec<Host>) {
    let host =
        |name: &str, ranks: std::ops::Range<u32>| Host { name: name.to_owned(), cluster: None, ranks: ranks.collect() };
    let node = |name: &str, host, parent, contributors: &[Contributor]| Node {
        name: name.to_owned(),
        host,
        parent,
        contributors: contributors.to_vec(),
        wake: Wake::Both,
    };
    let rank = Contributor::Rank;
    let nodes = vec![
        node("root", 1, None, &[Contributor::Node(1), Contributor::Node(2), Contributor::Node(3)]),
        node("a", 0, Some(0), &[rank(0), rank(1), Contributor::Node(4)]),
        node("b-left", 1, Some(0), &[rank(4), rank(5)]),
        node("b-right", 1, Some(0), &[rank(6), rank(7)]),
        node("a-right", 0, Some(1), &[rank(2), rank(3)]),
    ];
    let tree = Tree { name: "figure 1".to_owned(), nodes, between: Between::Reduce, order: Order::Fixed };
    (tree, vec![host("a", 0..4), host("b", 4..8)])
}

fn eight_way(n_hosts: u32, n_ranks: u32) -> (Tree, Vec<Host>) {
    let host = |at: u32| Host {
        name: format!("tin-{at}"),
        cluster: None,
        ranks: (at * n_ranks..(at + 1) * n_ranks).collect(),
    };
    let hosts: Vec<Host> = (0..n_hosts).map(host).collect();
    let layout = Layout {
        shape: Shape::KWay(FanIn::new(8).expect("2 or more")),
        grain: Grain::Host,
        inside: None,
        between: Between::Reduce,
        order: Order::Fixed,
        wake: Wake::Both,
    };
    (Tree::make("8-way", &hosts, &layout), hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_counts_but_one_are_as_published() {
        let others: Vec<Count> = counts().into_iter().filter(|count| count.published != count.here).collect();
        assert_eq!(others.len(), 1);
        assert_eq!((others[0].published, others[0].here), (241, 106));
        assert!(UNEXPLAINED.contains("have 212 here"), "twice 106");
    }
}
