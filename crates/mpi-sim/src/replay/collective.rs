//! Recorded collective calls by the algorithms of [`crate::collective`], of data that only have a size.

use mpi_trace::Operation;

use crate::collective::{Algorithm, Block, Combine, Group};
use crate::switch::Switch;
use crate::world::Stopped;

/// Does what this member did; `bytes` are its own, of each part where it has one for each member.
pub(super) fn call<S: Switch>(
    group: &mut Group<'_, '_, S>,
    operation: Operation,
    root: usize,
    bytes: u64,
) -> Result<Algorithm, Stopped> {
    let name = operation.name().trim_start_matches("MPI_").to_ascii_lowercase();
    let name = name.strip_suffix("_init").unwrap_or(&name);
    // Neighbours are not recorded: all members take part.
    let name = name.strip_prefix("ineighbor_").or(name.strip_prefix("neighbor_")).unwrap_or(name);
    let name = name.strip_prefix('i').unwrap_or(name);
    let (n, size) = (group.n_members(), bytes as usize);
    // Sizes are all that counts.
    let combine = Combine { value_bytes: 1, with: &|_, _| {} };
    let (mut own, mut all) = (Block::Size(size), Block::Size(size * n));
    let of = |done: Result<(Block, Algorithm), Stopped>| done.map(|(_, algorithm)| algorithm);
    let of_parts = |done: Result<(Vec<Block>, Algorithm), Stopped>| done.map(|(_, algorithm)| algorithm);
    match name {
        "bcast" => group.broadcast(root, &mut own),
        "reduce" => group.reduce(root, &mut own, &combine),
        "allreduce" => group.allreduce(&mut own, &combine),
        "gather" => of(group.gather(root, &own)),
        "gatherv" => of_parts(group.gather_parts(root, &own)),
        "scatter" => of(group.scatter(root, &all, size)),
        "scatterv" => of(group.scatter_parts(root, &vec![own; n])),
        "allgather" => group.allgather(&mut all),
        "allgatherv" => of_parts(group.allgather_parts(&own)),
        "alltoall" => of(group.alltoall(&all)),
        "alltoallv" | "alltoallw" => of_parts(group.alltoall_parts(vec![own; n])),
        "reduce_scatter" | "reduce_scatter_block" => of(group.reduce_scatter(&mut own, &combine)),
        "scan" => group.scan(&mut own, &combine, true),
        "exscan" => group.scan(&mut own, &combine, false),
        // Barriers, and what makes communicators: nobody is through before all have come.
        _ => group.barrier(),
    }
}
