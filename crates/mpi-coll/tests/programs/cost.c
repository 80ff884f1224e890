/* `cost CALLS` sums 8 bytes over a tree in blocks of so many calls, in turn with collectors on and off: their level is a word of each ring
   (docs/formats/mpi-ring.md). Rank 0 prints the medians over pairs of blocks: nanoseconds of a call without collectors, what they add, and the
   records of rank 0 in a call. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { N_PAIRS = 201, N_WARM = 4, HEAD = 32, LEVEL = 40 };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, n, sizeof *values, by_size);
    return values[n / 2];
}

int main(int argc, char **argv) {
    int rank, n_calls = atoi(argv[1]);
    double one = 1, sum, off[N_PAIRS], more[N_PAIRS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    char path[4096];
    snprintf(path, sizeof path, "%s/stages-%d-0.ring", getenv("FORETOP_MPI_JOB"), rank);
    int file = open(path, O_RDWR);
    volatile uint64_t *ring = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || ring == MAP_FAILED) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double each[2];
    uint64_t n_records = 0;
    for (int pair = -N_WARM; pair < N_PAIRS; pair++) {
        for (int part = 0; part < 2; part++) {
            /* Neither is always first. */
            int is_on = (part + pair) & 1;
            ring[LEVEL] = is_on ? 2 : 0;
            PMPI_Barrier(MPI_COMM_WORLD);
            n_records = is_on ? ring[HEAD] : n_records;
            double start = MPI_Wtime();
            for (int call = 0; call < n_calls; call++) {
                MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            }
            each[is_on] = (MPI_Wtime() - start) / n_calls * 1e9;
            n_records = is_on ? ring[HEAD] - n_records : n_records;
        }
        if (pair >= 0) {
            off[pair] = each[0];
            more[pair] = each[1] - each[0];
        }
    }
    if (rank == 0) {
        double added = median(more, N_PAIRS);
        printf("%.1f %.1f %.2f\n", median(off, N_PAIRS), added, (double)n_records / n_calls);
    }
    MPI_Finalize();
    return 0;
}
