// Long messages over a tree against the library's own, from and to several ranks: doubles whose sums are exact.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100003 };

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    double *own = malloc(N * sizeof *own), *ours = malloc(N * sizeof *ours), *theirs = malloc(N * sizeof *theirs);
    for (int round = 0; round < 6; ++round) {
        int root = round % n_ranks, n = round == 0 ? 8193 : N;
        for (int at = 0; at < n; ++at) {
            own[at] = (rank + 1) * (at % 1000) + round;
        }
        MPI_Allreduce(own, ours, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        PMPI_Allreduce(own, theirs, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        int is_wrong = memcmp(ours, theirs, n * sizeof *ours) != 0;
        memset(ours, 0, n * sizeof *ours);
        MPI_Reduce(own, ours, n, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        PMPI_Reduce(own, theirs, n, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        is_wrong |= rank == root && memcmp(ours, theirs, n * sizeof *ours) != 0;
        memcpy(theirs, own, n * sizeof *own);
        MPI_Bcast(own, n, MPI_DOUBLE, root, MPI_COMM_WORLD);
        PMPI_Bcast(theirs, n, MPI_DOUBLE, root, MPI_COMM_WORLD);
        is_wrong |= memcmp(own, theirs, n * sizeof *own) != 0;
        if (is_wrong) {
            fprintf(stderr, "rank %d, round %d: wrong\n", rank, round);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    if (rank == 0) {
        printf("ranks agree\n");
    }
    MPI_Finalize();
    return 0;
}
