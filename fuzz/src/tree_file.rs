//! Any text is a tree file whose trees are sound, drawn, and read back from their text, or is refused with a reason in
//! one line.

use mpi_tree::{Forest, Reference, Roles};

/// Returns whether it is a tree file.
///
/// # Panics
/// When what was read is not sound, or does not read back from its canonical text.
pub fn tree_file(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    let forest = match Forest::parse(text) {
        Ok(forest) => forest,
        Err(reason) => {
            let reason = reason.to_string();
            assert!(!reason.is_empty() && !reason.contains('\n'), "`{text}` is refused with {reason:?}");
            return false;
        }
    };
    forest.check().expect("what was read is sound");
    let canonical = forest.to_text();
    let again = Forest::parse(&canonical).expect("what was written reads back");
    assert_eq!((&again, again.to_text()), (&forest, canonical));
    let ranks: Vec<u32> = (0..forest.n_ranks() as u32).collect();
    for tree in &forest.trees {
        let sum =
            Reference::new(tree, &forest.hosts).allreduce(vec![1; ranks.len()], &ranks, |left, right| left + right);
        assert_eq!(sum, ranks.len(), "each rank reaches a root once: {text}");
        let roles = Roles::new(tree, &forest.hosts);
        let is_served = |(at, station): (usize, &mpi_tree::Station)| {
            forest.hosts[tree.nodes[at].host].ranks.contains(&station.server)
        };
        assert!(roles.stations().iter().enumerate().all(is_served), "a server is on its node's host: {text}");
        assert!(tree.to_lines(&forest.hosts).lines().count() > tree.nodes.len());
    }
    true
}
