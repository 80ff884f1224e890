/* Calls that some ranks make with counts of 32 bits and others with counts of 64 bits, which MPI 4 has. */
#include <mpi.h>
#include <stdio.h>

enum { N_RANKS = 2, N_CALLS = 50, N = 3 };

static void need(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s is wrong\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

int main(int argc, char **argv) {
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Count large = N;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    for (int call = 0; call < N_CALLS; call++) {
        int is_large = (call + rank) % 2, root = call / 2 % N_RANKS;
        int own[N] = {rank, call, 1}, sums[N] = {0}, given[N] = {-1}, all[N_RANKS][N] = {{0}}, part[N] = {0};
        is_large ? MPI_Allreduce_c(own, sums, large, MPI_INT, MPI_SUM, world)
                 : MPI_Allreduce(own, sums, N, MPI_INT, MPI_SUM, world);
        need(sums[0] == 1 && sums[1] == 2 * call && sums[2] == N_RANKS, "an allreduce");
        is_large ? MPI_Reduce_c(own, sums, large, MPI_INT, MPI_MAX, root, world)
                 : MPI_Reduce(own, sums, N, MPI_INT, MPI_MAX, root, world);
        need(rank != root || (sums[0] == 1 && sums[1] == call && sums[2] == 1), "a reduce");
        given[0] = rank == root ? call : -1;
        is_large ? MPI_Bcast_c(given, large, MPI_INT, root, world) : MPI_Bcast(given, N, MPI_INT, root, world);
        need(given[0] == call, "a bcast");
        is_large ? MPI_Gather_c(own, large, MPI_INT, all, large, MPI_INT, root, world)
                 : MPI_Gather(own, N, MPI_INT, all, N, MPI_INT, root, world);
        need(rank != root || (all[0][0] == 0 && all[1][0] == 1 && all[1][1] == call), "a gather");
        is_large ? MPI_Scatter_c(all, large, MPI_INT, part, large, MPI_INT, root, world)
                 : MPI_Scatter(all, N, MPI_INT, part, N, MPI_INT, root, world);
        need(part[0] == rank && part[1] == call, "a scatter");
    }
    if (rank == 0) {
        puts("all is right");
    }
    MPI_Finalize();
    return 0;
}
