// Sums of 8 bytes and of more than a piece between sites. Rank 0 prints the shortest call of each, in microseconds by the clock of the
// machine: a call is as long as that of the rank which was in it for longest.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 20001, N_ROUNDS = 5 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static double shortest_us(const double *own, double *ours, double *theirs, int n)
{
    double shortest = 1e12;
    for (int round = 0; round < N_ROUNDS; ++round) {
        double took, longest, began = now_us();
        MPI_Allreduce(own, ours, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        took = now_us() - began;
        PMPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        shortest = longest < shortest ? longest : shortest;
        PMPI_Allreduce(own, theirs, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (memcmp(ours, theirs, n * sizeof *ours) != 0) {
            fprintf(stderr, "%d doubles: wrong\n", n);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    return shortest;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *own = malloc(N * sizeof *own), *ours = malloc(N * sizeof *ours), *theirs = malloc(N * sizeof *theirs);
    for (int at = 0; at < N; ++at) {
        own[at] = (rank + 1) * (at % 1000);
    }
    double shortest_short = shortest_us(own, ours, theirs, 1), shortest_long = shortest_us(own, ours, theirs, N);
    if (rank == 0) {
        printf("%.1f %.1f\n", shortest_short, shortest_long);
    }
    MPI_Finalize();
    return 0;
}
