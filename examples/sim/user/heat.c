/* A plate of SIDE x SIDE points in strips, one for each rank: edges to both neighbours and a sum of all in each step. The more ranks, the less each
 * computes, and the more the sums take: `sweep` shows from how many ranks on more do not help.
 *
 *     cc -O2 -shared -fPIC -I examples/sim/user -o heat.so examples/sim/user/heat.c
 *     foretop sim sweep --machine examples/sim/dragonfly.toml --ranks 16,64,256,1024,4096 --latency 1,10 --out heat.jsonl -- ./heat.so
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double POINT_SECONDS = 2e-9;

int main(int argc, char **argv) {
    int me, n, side = argc > 1 ? atoi(argv[1]) : 4096, n_steps = argc > 2 ? atoi(argv[2]) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int n_rows = side / n + (me < side % n);
    double *edge = calloc((size_t)side, sizeof *edge), *above = calloc((size_t)side, sizeof *above);
    int is_right = edge != NULL && above != NULL;
    for (int step = 0; is_right && step < n_steps; step++) {
        int before = (me + n - 1) % n, after = (me + 1) % n;
        edge[0] = me + step;
        MPI_Sendrecv(edge, side, MPI_DOUBLE, after, 0, above, side, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(edge, side, MPI_DOUBLE, before, 1, above, side, MPI_DOUBLE, after, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        foretop_sim->compute(POINT_SECONDS * side * n_rows);
        double own = 1, sum = 0;
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        is_right = sum == n && above[0] == after + step;
    }
    if (!is_right) fprintf(stderr, "rank %d: a sum or an edge is wrong\n", me);
    free(edge);
    free(above);
    MPI_Finalize();
    return !is_right;
}
