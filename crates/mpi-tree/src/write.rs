//! A forest as canonical text: `docs/formats/mpi-tree.md`.

use units::Rank;

use crate::{Contributor, Forest, Host, Tree};

/// The format that is written, and the only one that is read.
pub(crate) const FORMAT: u32 = 1;

impl Forest {
    /// The canonical text, which parses to the same forest.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("format = {FORMAT}\nepoch = {}\n", self.epoch);
        for host in &self.hosts {
            write_host(&mut text, host);
        }
        for tree in &self.trees {
            write_tree(&mut text, tree, &self.hosts);
        }
        for rule in &self.rules {
            let operation = rule.operation.map_or("*", crate::Collective::name);
            text.push_str(&format!("\n[[rule]]\noperation = \"{operation}\"\n"));
            if let Some(bytes_max) = rule.bytes_max {
                text.push_str(&format!("bytes_max = \"{bytes_max}\"\n"));
            }
            text.push_str(&format!("tree = \"{}\"\n", self.trees[rule.tree].name));
        }
        text
    }
}

fn write_host(text: &mut String, host: &Host) {
    text.push_str(&format!("\n[[host]]\nname = \"{}\"\n", host.name));
    if let Some(cluster) = &host.cluster {
        text.push_str(&format!("cluster = \"{cluster}\"\n"));
    }
    text.push_str(&format!("ranks = \"{}\"\n", ranges(&host.ranks)));
}

fn write_tree(text: &mut String, tree: &Tree, hosts: &[Host]) {
    let Tree { name, nodes, between, order } = tree;
    let (between, order) = (between.name(), order.name());
    text.push_str(&format!("\n[[tree]]\nname = \"{name}\"\nbetween = \"{between}\"\norder = \"{order}\"\n"));
    for node in nodes {
        let host = &hosts[node.host].name;
        let contributors = contributors(tree, &node.contributors);
        text.push_str(&format!("\n[[tree.node]]\nname = \"{}\"\nhost = \"{host}\"\n", node.name));
        text.push_str(&format!("wake = \"{}\"\ncontributors = [{contributors}]\n", node.wake.name()));
    }
}

fn contributors(tree: &Tree, contributors: &[Contributor]) -> String {
    let is_run = |left: &Contributor, right: &Contributor| match (left, right) {
        (Contributor::Rank(left), Contributor::Rank(right)) => left.checked_add(1) == Some(*right),
        _ => false,
    };
    let item = |run: &[Contributor]| match (run[0], run[run.len() - 1]) {
        (Contributor::Node(node), _) => format!("\"{}\"", tree.nodes[node].name),
        (Contributor::Rank(first), Contributor::Rank(last)) if first < last => format!("\"{first}-{last}\""),
        (Contributor::Rank(rank), _) => rank.to_string(),
    };
    contributors.chunk_by(is_run).map(item).collect::<Vec<_>>().join(", ")
}

/// Ranks as files list them, in their order.
pub(crate) fn ranges(ranks: &[Rank]) -> String {
    let runs = ranks.chunk_by(|left, right| left.checked_add(1) == Some(*right));
    let range = |run: &[Rank]| match (run[0], run[run.len() - 1]) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    runs.map(range).collect::<Vec<_>>().join(",")
}
