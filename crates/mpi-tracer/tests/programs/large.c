/* Counts of 64 bits, which MPI 4 has. */
#include <mpi.h>

int main(int argc, char **argv) {
    double nothing = 0;

    MPI_Init(&argc, &argv);
    MPI_Send_c(&nothing, (MPI_Count)3000000000, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
