/* One rank computes for some milliseconds at a time, while all others wait for it: in a receive, for a request, in a probe, in a
   barrier and in a reduction. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int argc, char **argv) {
    int rank, size, value = 1, sum;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int way = 0; way < 5; ++way) {
        if (rank == 0) {
            double end = now() + 1e-3 * atoi(argv[1]);
            while (now() < end) {
            }
            for (int to = 1; to < size && way < 3; ++to) MPI_Send(&value, 1, MPI_INT, to, way, MPI_COMM_WORLD);
        } else if (way == 0) {
            MPI_Recv(&value, 1, MPI_INT, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (way == 1) {
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (way == 2) {
            MPI_Probe(0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&value, 1, MPI_INT, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Pcontrol(way);
        if (way == 3) MPI_Barrier(MPI_COMM_WORLD);
        if (way == 4) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return sum == size ? 0 : 1;
}
