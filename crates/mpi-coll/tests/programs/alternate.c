// Sums alternately on MPI_COMM_WORLD and a duplicate of it, then some that are too large for stages.
#include <mpi.h>

enum { N = 20000 };

int main(int argc, char **argv)
{
    static int own[N], sum[N];
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int call = 0; call < 60; ++call) {
        MPI_Allreduce(own, sum, 1, MPI_INT, MPI_SUM, call % 2 ? copy : MPI_COMM_WORLD);
    }
    for (int call = 0; call < 3; ++call) {
        MPI_Allreduce(own, sum, N, MPI_INT, MPI_SUM, copy);
    }
    MPI_Finalize();
    return 0;
}
