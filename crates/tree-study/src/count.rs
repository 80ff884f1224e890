//! Figures that can be counted rather than measured: they must be as published, to the last collector and byte.

use event_space::{Need, Sizes};
use mpi_tree::{Between, FanIn, Forest, Grain, Host, Layout, Order, Place, Shape, Tree, Wake};

/// P1's figure 1.
const EIGHT_THREADS: &str = include_str!("../../../testdata/mpi-trees/eight-threads.toml");

/// Something counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    /// What.
    pub what: &'static str,
    /// The count in the papers.
    pub published: u64,
    /// The count by the rules of this tree's files.
    pub here: u64,
}

/// All counts that the papers give of trees that they describe well enough to be made again.
pub(crate) fn counts() -> Vec<Count> {
    let forest = Forest::parse(EIGHT_THREADS).expect("it is a tree file");
    let collectors = forest.trees[0].collectors(&forest.hosts);
    let n_far = collectors.iter().filter(|collector| matches!(collector.place, Place::Leave(_))).count();
    let tin_hosts = Host::blocks(49, 1);
    let tins = eight_way(&tin_hosts);
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

/// Text about the one count that is not the same.
pub(crate) const COLLECTORS_OF_P2: &str = "P2 says 241 collectors without saying where they are. 241 is 49 + 4 x 48: one for each thread, and in each of the two trees that \
    gsum alternates one on either side of each of 48 hops. The busiest host then has nine a call, as P2 says (252 bytes): a thread's, seven of hops that end there, \
    one of the hop that begins. P2's figure 1 has one more before each store, so that this is a guess. Here a thread that is alone on its host has one collector before \
    its hop, not two, and both trees have 212.";

/// P2's tree of 49 hosts with a rank each.
fn eight_way(hosts: &[Host]) -> Tree {
    let layout = Layout {
        shape: Shape::KWay(FanIn::new(8).expect("2 or more")),
        grain: Grain::Host,
        inside: None,
        between: Between::Reduce,
        order: Order::Fixed,
        wake: Wake::Both,
    };
    Tree::make("8-way", hosts, &layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_counts_but_one_are_as_published() {
        let others: Vec<Count> = counts().into_iter().filter(|count| count.published != count.here).collect();
        assert_eq!(others.len(), 1);
        assert_eq!((others[0].published, others[0].here), (241, 106));
        assert!(COLLECTORS_OF_P2.contains("both trees have 212"), "twice 106");
        let hosts = Host::blocks(49, 1);
        let collectors = eight_way(&hosts).collectors(&hosts);
        let n_hops = collectors.iter().filter(|collector| matches!(collector.place, Place::Leave(_))).count();
        assert_eq!(hosts.len() + 4 * n_hops, 241);
    }
}
