/* `epochs FILE OPERATION` puts the file into the job's folder as the tree file while it makes calls of that operation. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void apply(const char *file) {
    char path[2][4096], line[4096];
    snprintf(path[0], sizeof path[0], "%s/tree.toml", getenv("FORETOP_MPI_JOB"));
    snprintf(path[1], sizeof path[1], "%s/tree.toml.next", getenv("FORETOP_MPI_JOB"));
    FILE *from = fopen(file, "r"), *to = fopen(path[1], "w");
    while (fgets(line, sizeof line, from)) {
        fputs(line, to);
    }
    fclose(to);
    rename(path[1], path[0]);
}

int main(int argc, char **argv) {
    int rank, n_ranks, result[2] = {1, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    double applied = 0;
    for (int call = 0; result[0]; call++) {
        if (rank == 0 && call == 100) {
            apply(argv[1]);
            applied = MPI_Wtime();
        }
        /* Rank 0 says when it is enough, however slow calls are; where it cannot, after so many calls. */
        int own[2] = {rank == 0 && (call < 200 || MPI_Wtime() < applied + 0.3), call};
        if (!strcmp(argv[2], "allreduce")) {
            MPI_Allreduce(own, result, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        } else if (!strcmp(argv[2], "bcast")) {
            memcpy(result, own, sizeof own);
            MPI_Bcast(result, 2, MPI_INT, 0, MPI_COMM_WORLD);
        } else {
            MPI_Reduce(own, result, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
            result[0] = call < 3000;
        }
        if (result[1] != (strcmp(argv[2], "bcast") ? n_ranks * call : call) && (rank == 0 || strcmp(argv[2], "reduce"))) {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Finalize();
    return 0;
}
