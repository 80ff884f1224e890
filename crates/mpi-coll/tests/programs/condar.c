// Two clusters that ask whether a sum is still above a threshold, over several solves, and compare each answer with
// the library's own sum afterwards. Then what must be refused, and a cluster that vanishes.
#include <foretop_condar.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "rank %d, line %d: not %s; %s\n", rank, __LINE__, #what, condar_reason());                 \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                                              \
        }                                                                                                              \
    } while (0)

enum { N_SOLVES = 20, N_STEPS = 50 };

static int rank, n_ranks;

// What a rank brings: less and less, and in some steps nothing, so that either cluster decides alone now and then.
static double value(int of, int solve, int step)
{
    unsigned mixed = (unsigned)(of * 7919 + solve * 104729 + step * 1299709) * 2654435761u;
    return mixed % 5 == 0 ? 0.0 : (mixed % 1000) * exp2(-step * 0.4);
}

// Of sums of values that are all above 0, or the same values all below it.
static void solves(const char *clusters, int toward)
{
    int sign = toward > 0 ? CONDAR_NONNEGATIVE : CONDAR_NONPOSITIVE;
    int condition = toward > 0 ? CONDAR_GREATER : CONDAR_LESS;
    int handle = condar_init(MPI_COMM_WORLD, MPI_SUM, sign, condition, toward * 0.25, clusters);
    CHECK(handle >= 0);
    int n_steps[N_SOLVES], n_early = 0;
    for (int solve = 0; solve < N_SOLVES; ++solve) {
        int verdict = 1, is_exact = 0, step = 0;
        double result = 0;
        for (; verdict && step < N_STEPS; ++step) {
            CHECK(condar_call(handle, toward * value(rank, solve, step), &verdict, &result, &is_exact) == 0);
            CHECK(verdict == (toward * result > 0.25) && (verdict || is_exact));
            n_early += !is_exact;
        }
        n_steps[solve] = step;
    }
    CHECK(condar_free(handle) == 0);
    for (int solve = 0; solve < N_SOLVES; ++solve) {
        int step = 0;
        for (double sum = 1; sum > 0.25 && step < N_STEPS; ++step) {
            double own = value(rank, solve, step);
            MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        CHECK(step == n_steps[solve]);
    }
    CHECK(clusters == NULL || n_early > 0);
}

static void refusals(const char *clusters)
{
    int verdict;
    CHECK(condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_ANY, CONDAR_GREATER, 1, clusters) == CONDAR_REFUSED);
    CHECK(strstr(condar_reason(), "use a sum of values >= 0 with greater"));
    CHECK(condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_NONNEGATIVE, CONDAR_LESS, 1, clusters) == CONDAR_REFUSED);
    CHECK(condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_NONPOSITIVE, CONDAR_GREATER, -1, clusters) == CONDAR_REFUSED);
    CHECK(condar_init(MPI_COMM_WORLD, MPI_MAX, CONDAR_ANY, CONDAR_LESS, 1, clusters) == CONDAR_REFUSED);
    CHECK(condar_init(MPI_COMM_WORLD, MPI_MIN, CONDAR_ANY, CONDAR_GREATER, 1, clusters) == CONDAR_REFUSED);
    CHECK(condar_init(MPI_COMM_WORLD, MPI_SUM, -1, CONDAR_LESS, -1, clusters) == CONDAR_REFUSED);
    CHECK(strstr(condar_reason(), "-1 is no sign of the header"));
    CHECK(condar_init(MPI_COMM_WORLD, MPI_PROD, CONDAR_ANY, CONDAR_GREATER, 1, clusters) == CONDAR_REFUSED);
    CHECK(condar_init(MPI_COMM_WORLD, MPI_MAX, CONDAR_ANY, CONDAR_GREATER, rank, clusters) == CONDAR_REFUSED);
    CHECK(condar_init(MPI_COMM_WORLD, MPI_MAX, CONDAR_ANY, CONDAR_GREATER, 1, "0") == CONDAR_REFUSED);
    CHECK(strstr(condar_reason(), "rank 1 is in 0 of them"));
    CHECK(condar_call(99, 0, &verdict, NULL, NULL) == CONDAR_NO_HANDLE);
    // A rank of the last cluster breaks its promise: all of it learn so at once, the others when they ask next.
    int handle = condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_NONNEGATIVE, CONDAR_GREATER, 1, clusters);
    CHECK(condar_call(handle, rank == n_ranks - 1 ? NAN : 0, &verdict, NULL, NULL) == CONDAR_BAD_VALUE);
    CHECK(condar_call(handle, 2, &verdict, NULL, NULL) == CONDAR_BAD_VALUE);
    CHECK(condar_free(handle) == 0);
}

// The last cluster makes no call before the first has given it up.
static void vanished(const char *clusters)
{
    int verdict, is_last = rank >= n_ranks / 2;
    int handle = condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_NONNEGATIVE, CONDAR_GREATER, 1, clusters);
    if (is_last) {
        MPI_Recv(NULL, 0, MPI_INT, rank - n_ranks / 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK(condar_call(handle, 0, &verdict, NULL, NULL) == CONDAR_VANISHED);
    CHECK(strstr(condar_reason(), "cluster 1"));
    if (!is_last) {
        MPI_Send(NULL, 0, MPI_INT, rank + n_ranks / 2, 0, MPI_COMM_WORLD);
    }
    CHECK(condar_free(handle) == 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    char clusters[64];
    sprintf(clusters, "0-%d %d-%d", n_ranks / 2 - 1, n_ranks / 2, n_ranks - 1);
    solves(clusters, 1);
    solves(clusters, -1);
    solves(NULL, 1);
    if (argc > 1) {
        refusals(clusters);
        vanished(clusters);
    }
    if (rank == 0) {
        printf("answers are right\n");
    }
    MPI_Finalize();
    return 0;
}
