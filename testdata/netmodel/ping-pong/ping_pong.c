/* Half round trips between two ranks, one line for each: size_bytes,span_ns. What make.sh records. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE_MAX_BYTES (4 << 20)
#define N_TRIPS 31
#define N_WARM_UP 5

static double half_round_trip_ns(int rank, int size, char *buffer)
{
    double start = MPI_Wtime();
    if (rank == 0) {
        MPI_Send(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / 2 * 1e9;
}

static void measure(int rank, int size, char *buffer)
{
    for (int trip = 0; trip < N_WARM_UP; trip++)
        half_round_trip_ns(rank, size, buffer);
    for (int trip = 0; trip < N_TRIPS; trip++) {
        double span_ns = half_round_trip_ns(rank, size, buffer);
        if (rank == 0)
            printf("%d,%.0f\n", size, span_ns);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = calloc(1, SIZE_MAX_BYTES);
    if (buffer == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        puts("size_bytes,span_ns");
    measure(rank, 0, buffer);
    for (int size = 1; size < SIZE_MAX_BYTES; size *= 2) {
        measure(rank, size, buffer);
        if (size > 1)
            measure(rank, size + size / 2, buffer);
    }
    measure(rank, SIZE_MAX_BYTES, buffer);
    free(buffer);
    return MPI_Finalize();
}
