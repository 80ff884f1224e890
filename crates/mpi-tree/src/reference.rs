//! Results of each rank in a call over a tree, computed in one thread: the reference for implementations.
//!
//! As over a real tree, ranks arrive one after the other, and who is the last at a node goes on to its parent. Nothing
//! is known of time.

use units::Rank;

use crate::{Host, Order, Roles, Tree};

/// A tree with everybody's part in it.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    tree: &'a Tree,
    roles: Roles,
}

/// One call under way.
struct Call<T> {
    /// Values that have come to each node, with the position of their contributor, in the order in which they came.
    come: Vec<Vec<(usize, T)>>,
    /// Values of the roots, in the order in which the roots had them.
    roots: Vec<(usize, T)>,
}

impl<'a> Reference<'a> {
    /// Builds the reference of a sound tree.
    #[must_use]
    pub fn new(tree: &'a Tree, hosts: &[Host]) -> Self {
        Self { tree, roles: Roles::new(tree, hosts) }
    }

    /// Returns the result of `MPI_Allreduce` on every rank, and of `MPI_Reduce` on its root; with `()` for values, of
    /// `MPI_Barrier`. `values` has one of each rank, `arrivals` has the ranks in the order in which they call.
    ///
    /// # Panics
    /// If `arrivals` does not name each rank once.
    pub fn allreduce<T>(&self, values: Vec<T>, arrivals: &[Rank], mut combine: impl FnMut(T, T) -> T) -> T {
        let mut values: Vec<Option<T>> = values.into_iter().map(Some).collect();
        let mut call = Call { come: self.tree.nodes.iter().map(|_| Vec::new()).collect(), roots: Vec::new() };
        for &rank in arrivals {
            let value = values[rank as usize].take().expect("a rank arrives once");
            let seat = self.roles.seat(rank);
            self.bring(&mut call, seat.node, seat.position, value, &mut combine);
        }
        assert_eq!(call.roots.len(), self.tree.roots().count(), "all ranks have arrived");
        self.combined(call.roots, &mut combine)
    }

    /// Returns the result of `MPI_Bcast` on every rank, of which `MPI_Scatter` gives each rank its part: only the root
    /// of the operation brings something.
    pub fn bcast<T>(&self, root: Rank, value: T, arrivals: &[Rank]) -> T {
        let mut values: Vec<Option<T>> = (0..self.roles.n_ranks()).map(|_| None).collect();
        values[root as usize] = Some(value);
        self.allreduce(values, arrivals, Option::or).expect("the root brought its value")
    }

    /// Returns the result of `MPI_Gather` on its root: the value that each rank brought, in the order of the ranks.
    #[must_use]
    pub fn gather<T>(&self, values: Vec<T>, arrivals: &[Rank]) -> Vec<T> {
        let parts = values.into_iter().zip(0..).map(|(value, rank): (T, Rank)| vec![(rank, value)]).collect();
        let mut parts: Vec<(Rank, T)> = self.allreduce(parts, arrivals, |mut left, right| {
            left.extend(right);
            left
        });
        parts.sort_by_key(|(rank, _)| *rank);
        parts.into_iter().map(|(_, value)| value).collect()
    }

    fn bring<T>(
        &self,
        call: &mut Call<T>,
        node: usize,
        position: usize,
        value: T,
        combine: &mut impl FnMut(T, T) -> T,
    ) {
        call.come[node].push((position, value));
        let station = &self.roles.stations()[node];
        if call.come[node].len() < station.inputs.len() {
            return;
        }
        let value = self.combined(std::mem::take(&mut call.come[node]), combine);
        match station.seat {
            Some(seat) => self.bring(call, seat.node, seat.position, value, combine),
            None => call.roots.push((node, value)),
        }
    }

    fn combined<T>(&self, mut parts: Vec<(usize, T)>, combine: &mut impl FnMut(T, T) -> T) -> T {
        if self.tree.order == Order::Fixed {
            parts.sort_by_key(|(position, _)| *position);
        }
        parts.into_iter().map(|(_, value)| value).reduce(combine).expect("each node has a contributor")
    }
}
