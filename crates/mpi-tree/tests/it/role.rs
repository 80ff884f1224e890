//! Who does what in a call.

use mpi_tree::{Contributor, Forest, Input, Roles, Seat};

use crate::file::example;

fn roles(text: &str) -> Roles {
    let forest = Forest::parse(text).unwrap();
    Roles::new(&forest.trees[0], &forest.hosts)
}

#[test]
fn a_server_is_the_lowest_rank_of_the_host_below_the_node() {
    let roles = roles(example());
    let [root, a] = roles.stations() else { panic!("{roles:?}") };
    assert_eq!((root.server, a.server), (4, 0));
    assert_eq!((root.seat, a.seat), (None, Some(Seat { node: 0, position: 0 })));
    assert_eq!((root.below, a.below), (6, 0));
    let remote = Input { contributor: Contributor::Node(1), sender: 0, is_remote: true, arrive: 1, leave: Some(0) };
    assert_eq!(root.inputs[0], remote);
    assert!(a.inputs.iter().all(|input| !input.is_remote && input.leave.is_none()));
    assert_eq!(roles.served_by(4).collect::<Vec<_>>(), [0]);
    assert_eq!(roles.served_by(0).count(), 0);
    assert_eq!(roles.seat(3), Seat { node: 1, position: 3 });
    assert_eq!(roles.path(3).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(roles.ranks_below(), [vec![0, 1, 2, 3, 4, 5, 6, 7], vec![0, 1, 2, 3]]);
}

#[test]
fn a_node_with_no_rank_of_its_host_below_it_is_served_by_the_hosts_lowest() {
    let moved = example().replace("name = \"a\"\nhost = \"a\"", "name = \"a\"\nhost = \"b\"");
    let roles = roles(&moved);
    assert_eq!(roles.stations()[1].server, 4);
    assert_eq!(roles.served_by(4).collect::<Vec<_>>(), [1]);
    assert_eq!(roles.stations()[1].inputs.iter().filter(|input| input.is_remote).count(), 4);
    assert!(!roles.stations()[0].inputs[0].is_remote);
}
