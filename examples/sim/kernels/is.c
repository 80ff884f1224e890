/* IS's exchange: keys into buckets of ranks by an allreduce, an alltoall of counts and an alltoallv of keys. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

enum { KEYS = 2048 };
#define KEY_MAX (1u << 20)

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank, size, is_right = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = work_begin(argc, argv), n = work_cut("is", rank, KEYS, work_whole(size), size, size, 1);
    if (n == 0) {
        MPI_Finalize();
        return 2;
    }
    work_scale(work_whole(size), size);
    uint64_t total = 0, row = (uint64_t)KEYS * (uint64_t)work_times();
    uint32_t *keys = malloc((size_t)n * sizeof *keys);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        uint32_t *sorted;
        int *counts = calloc((size_t)size * 5, sizeof *counts);
        int *all = counts + size, *offsets = all + size, *arriving = offsets + size, *places = arriving + size;
        uint64_t own[2] = {0, 0}, sums[2];
        for (int i = 0; i < n; i++) {
            uint64_t at = (uint64_t)rank * (uint64_t)n + (uint64_t)i;
            keys[i] = (uint32_t)(work_value(at / row, at % row, (uint64_t)step) % KEY_MAX);
            counts[(uint64_t)keys[i] * (uint64_t)size / KEY_MAX]++;
            own[0] += keys[i];
        }
        work(rank);
        MPI_Allreduce(counts, all, size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Alltoall(counts, 1, MPI_INT, arriving, 1, MPI_INT, MPI_COMM_WORLD);
        /* Sorted keys are in the order of the buckets. */
        qsort(keys, (size_t)n, sizeof *keys, by_value);
        for (int r = 1; r < size; r++) {
            offsets[r] = offsets[r - 1] + counts[r - 1];
            places[r] = places[r - 1] + arriving[r - 1];
        }
        int n_mine = places[size - 1] + arriving[size - 1];
        sorted = malloc(((size_t)n_mine + 1) * sizeof *sorted);
        work(rank);
        MPI_Alltoallv(keys, counts, offsets, MPI_UINT32_T, sorted, arriving, places, MPI_UINT32_T, MPI_COMM_WORLD);
        qsort(sorted, (size_t)n_mine, sizeof *sorted, by_value);
        is_right &= n_mine == all[rank];
        for (int i = 0; i < n_mine; i++) {
            own[1] += sorted[i];
            is_right &= (int)((uint64_t)sorted[i] * (uint64_t)size / KEY_MAX) == rank;
        }
        work(rank);
        MPI_Allreduce(own, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        is_right &= sums[0] == sums[1];
        total = total * 31 + sums[0];
        free(sorted);
        free(counts);
    }
    double span = MPI_Wtime() - begin, longest;
    int all_right;
    MPI_Reduce(&is_right, &all_right, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
    MPI_Reduce(&span, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("is: %s, sum %016llx, %.6f s\n", all_right ? "verified" : "WRONG", (unsigned long long)total, longest);
    MPI_Finalize();
    return is_right ? 0 : 1;
}
