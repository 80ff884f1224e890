/* From the launch to the end with one sum. `start maps` prints what rank 0 has mapped of the job's folder: bytes of segments, then of rings. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void print_maps(void) {
    unsigned long from, to, segments = 0, rings = 0;
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        sscanf(line, "%lx-%lx", &from, &to);
        segments += strstr(line, ".seg") ? to - from : 0;
        rings += strstr(line, ".ring") ? to - from : 0;
    }
    fclose(maps);
    printf("%lu %lu\n", segments, rings);
}

int main(int argc, char **argv) {
    double one = 1, sum;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && argc > 1) {
        print_maps();
    }
    MPI_Finalize();
    return 0;
}
