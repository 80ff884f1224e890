/* Collective calls whose results depend on the rank; returns where a result is wrong, if one is. */
#include <mpi.h>

enum { RANKS_MAX = 64 };
#define CHECK(is_right) \
    if (!(is_right)) return __LINE__

int main(void) {
    int me, n, all[RANKS_MAX], own, sum, counts[RANKS_MAX], offsets[RANKS_MAX], many[RANKS_MAX * 3], got[RANKS_MAX * 3];
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int root = n - 1, n_all = 0;
    own = 10 * me;
    MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; me == root && i < n; i++) CHECK(all[i] == 10 * i);
    for (int i = 0; i < n; i++) all[i] = me == root ? i + 7 : -1;
    MPI_Scatter(all, 1, MPI_INT, me == root ? MPI_IN_PLACE : &own, 1, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(me == root ? all[root] == root + 7 : own == me + 7);
    own = me + 1;
    MPI_Scan(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == (me + 1) * (me + 2) / 2);
    MPI_Exscan(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(me == 0 || sum == me * (me + 1) / 2);
    for (int i = 0; i < n; i++) all[i] = me * i;
    MPI_Reduce_scatter_block(all, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(sum == (n - 1) * me);
    /* Rank i has i % 3 numbers, each of them i. */
    for (int i = 0; i < n; i++) offsets[i] = n_all, n_all += counts[i] = i % 3;
    for (int i = 0; i < 3; i++) many[i] = me;
    MPI_Gatherv(many, me % 3, MPI_INT, got, counts, offsets, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; me == root && i < n; i++) CHECK(i % 3 == 0 || got[offsets[i] + i % 3 - 1] == i);
    MPI_Allgatherv(many, me % 3, MPI_INT, got, counts, offsets, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) CHECK(i % 3 == 0 || got[offsets[i]] == i);
    many[0] = -1;
    MPI_Scatterv(got, counts, offsets, MPI_INT, many, 3, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(many[0] == (me % 3 ? me : -1));
    /* Everybody sends i % 3 numbers to rank i. */
    int own_counts[RANKS_MAX], own_offsets[RANKS_MAX];
    for (int i = 0; i < n; i++) own_counts[i] = me % 3, own_offsets[i] = i * (me % 3);
    for (int i = 0; i < n_all; i++) many[i] = me;
    MPI_Alltoallv(many, counts, offsets, MPI_INT, got, own_counts, own_offsets, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * (me % 3); i++) CHECK(got[i] == i / (me % 3));
    return 0;
}
