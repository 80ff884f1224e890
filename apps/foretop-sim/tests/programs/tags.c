/* Everybody sends to rank 0, which names the tag, of which only one rank sends each, and not the source. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (rank > 0) MPI_Send(&rank, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    for (int source = 1; rank == 0 && source < n; source++) {
        int got;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, source, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got != source) return 1;
    }
    MPI_Finalize();
    return 0;
}
