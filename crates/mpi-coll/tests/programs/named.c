// A program that knows nothing of conditional allreduces: it relaxes until a sum of changes is no longer above a
// threshold, twice, and says how often it summed.
#include <math.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, n_sums = 0, n_partial = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int solve = 0; solve < 2; ++solve) {
        double changed = 1, sum = 1;
        for (int step = 0; sum > 0.01; ++step, ++n_sums) {
            changed = (rank + 1) * ldexp(1, -step);
            double whole = 10 * ldexp(1, -step);
            MPI_Allreduce(&changed, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            n_partial += sum < whole * 0.99;
        }
        // Other sums are left alone.
        double pair[2] = {rank, 1};
        MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (pair[0] != 6) {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Finalize();
    printf("rank %d: %d sums, %s\n", rank, n_sums, n_partial > 0 ? "some of them partial" : "none partial");
    return 0;
}
