/* `sum_until FILE` sums until rank 0 sees that file, and checks each sum. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, n_ranks, sums[2] = {1, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    for (int call = 0; sums[0]; call++) {
        int own[2] = {rank == 0 && access(argv[1], F_OK) != 0, rank ^ call};
        MPI_Allreduce(own, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int other = 0; other < n_ranks; other++) {
            sums[1] -= other ^ call;
        }
        if (sums[1] != 0) {
            fprintf(stderr, "rank %d: the sum of call %d is wrong\n", rank, call);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    if (rank == 0) {
        puts("all is right");
    }
    MPI_Finalize();
    return 0;
}
