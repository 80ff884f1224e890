/* EP's exchange: none until the end, then a few sums over all ranks. */
#include <mpi.h>
#include <stdio.h>

#include "work.h"

enum { PAIRS = 4096, RINGS = 10 };

/* How many of `n` pairs of numbers from `first` on fall into each ring around the origin. */
static void count(uint64_t first, uint64_t n, int step, uint64_t counts[RINGS]) {
    uint64_t row = (uint64_t)PAIRS * (uint64_t)work_times();
    for (uint64_t i = first; i < first + n; i++) {
        double x = (double)(work_value(i / row, i % row, (uint64_t)step) >> 40) / (1 << 24);
        double y = (double)(work_value(i / row, i % row, (uint64_t)step + 1000) >> 40) / (1 << 24);
        counts[(int)((x > y ? x : y) * RINGS)]++;
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = work_begin(argc, argv), is_right = 1;
    uint64_t n = (uint64_t)work_cut("ep", rank, PAIRS, work_whole(size), size, size, 1);
    if (n == 0) {
        MPI_Finalize();
        return 2;
    }
    work_scale(work_whole(size), size);
    uint64_t own[RINGS] = {0}, all[RINGS], right[RINGS] = {0}, sum = 0;
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        count((uint64_t)rank * n, n, step, own);
        work(rank);
    }
    MPI_Allreduce(own, all, RINGS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    double span = MPI_Wtime() - begin, longest;
    MPI_Reduce(&span, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int step = 0; step < steps; step++) count(0, n * (uint64_t)size, step, right);
        for (int i = 0; i < RINGS; i++) {
            is_right &= all[i] == right[i];
            sum = sum * 31 + all[i];
        }
        printf("ep: %s, sum %016llx, %.6f s\n", is_right ? "verified" : "WRONG", (unsigned long long)sum, longest);
    }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
