/* `agree ROUNDS COMMUNICATORS` compares collective operations with what the MPI library itself gives by its PMPI_ names, bit for bit on integers.
   Prints one line at rank 0. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 1000 };
static int rank, n_ranks, n_checks, n_comms;

static void need(int holds, const char *what, int round) {
    n_checks++;
    if (!holds) {
        fprintf(stderr, "rank %d, round %d: %s differs\n", rank, round, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void fill(int64_t *values, int n, int seed) {
    for (int i = 0; i < n; i++) {
        values[i] = (int64_t)(rank + 1) * 7919 * (seed + 3) + i * (rank % 3 ? -1 : 1);
    }
}

static void reductions(MPI_Comm comm, int n, int round) {
    static int64_t in[N_MAX], ours[N_MAX], theirs[N_MAX];
    MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR, MPI_LAND};
    MPI_Op op = ops[round % 5];
    int root = round % n_ranks;
    fill(in, n, round);
    PMPI_Allreduce(in, theirs, n, MPI_INT64_T, op, comm);
    MPI_Allreduce(in, ours, n, MPI_INT64_T, op, comm);
    need(!memcmp(ours, theirs, n * sizeof *ours), "allreduce", round);
    memcpy(ours, in, n * sizeof *in);
    MPI_Allreduce(MPI_IN_PLACE, ours, n, MPI_INT64_T, op, comm);
    need(!memcmp(ours, theirs, n * sizeof *ours), "allreduce in place", round);
    memset(ours, 0, sizeof ours);
    MPI_Reduce(in, ours, n, MPI_INT64_T, op, root, comm);
    need(rank != root || !memcmp(ours, theirs, n * sizeof *ours), "reduce", round);
    memcpy(ours, in, n * sizeof *in);
    if (rank == root) {
        MPI_Reduce(MPI_IN_PLACE, ours, n, MPI_INT64_T, op, root, comm);
        need(!memcmp(ours, theirs, n * sizeof *ours), "reduce in place", round);
    } else {
        MPI_Reduce(in, ours, n, MPI_INT64_T, op, root, comm);
    }
}

static void moves(MPI_Comm comm, int n, int round) {
    static int64_t own[N_MAX], all[16 * N_MAX], ours[16 * N_MAX], theirs[16 * N_MAX];
    int root = (round * 5 + 1) % n_ranks;
    fill(own, n, round);
    fill(all, n * n_ranks, round);
    memcpy(ours, own, sizeof own);
    memcpy(theirs, own, sizeof own);
    PMPI_Bcast(theirs, n, MPI_INT64_T, root, comm);
    MPI_Bcast(ours, n, MPI_INT64_T, root, comm);
    need(!memcmp(ours, theirs, n * sizeof *ours), "bcast", round);
    PMPI_Gather(own, n, MPI_INT64_T, theirs, n, MPI_INT64_T, root, comm);
    MPI_Gather(own, n, MPI_INT64_T, ours, n, MPI_INT64_T, root, comm);
    need(rank != root || !memcmp(ours, theirs, n_ranks * n * sizeof *ours), "gather", round);
    if (rank == root) {
        memset(ours, 0, sizeof ours);
        memcpy(ours + rank * n, own, n * sizeof *own);
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ours, n, MPI_INT64_T, root, comm);
        need(!memcmp(ours, theirs, n_ranks * n * sizeof *ours), "gather in place", round);
    } else {
        MPI_Gather(own, n, MPI_INT64_T, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    }
    PMPI_Scatter(all, n, MPI_INT64_T, theirs, n, MPI_INT64_T, root, comm);
    MPI_Scatter(all, n, MPI_INT64_T, ours, n, MPI_INT64_T, root, comm);
    need(!memcmp(ours, theirs, n * sizeof *ours), "scatter", round);
    MPI_Barrier(comm);
}

/* A type with gaps at some ranks only: MPI asks for equal data, not for equal types. */
static void gaps(MPI_Comm comm) {
    int32_t packed[10], spread[20], i;
    MPI_Datatype every_other;
    MPI_Type_vector(10, 1, 2, MPI_INT32_T, &every_other);
    MPI_Type_commit(&every_other);
    for (i = 0; i < 20; i++) {
        spread[i] = i % 2 ? -1 : i / 2 + 100 * rank;
    }
    for (i = 0; i < 10; i++) {
        packed[i] = i + 100 * rank;
    }
    if (rank % 2) {
        MPI_Bcast(packed, 10, MPI_INT32_T, 0, comm);
        need(packed[0] == 0 && packed[9] == 9, "bcast of another type", 0);
    } else {
        MPI_Bcast(spread, 1, every_other, 0, comm);
        need(spread[18] == 9 && spread[19] == -1, "bcast into gaps", 0);
    }
    MPI_Type_free(&every_other);
}

/* Each operation on each kind of type, against what the library's own operators make of all ranks' values. These are small and whole, so that no
   order of combining changes a bit. */
static void types(MPI_Comm comm, int root) {
    enum { N = 7 };
    struct { MPI_Datatype type; int size, is_integer; } kinds[] = {
        {MPI_INT8_T, 1, 1}, {MPI_UINT8_T, 1, 1}, {MPI_INT16_T, 2, 1}, {MPI_UINT16_T, 2, 1}, {MPI_INT32_T, 4, 1}, {MPI_UINT32_T, 4, 1},
        {MPI_INT64_T, 8, 1}, {MPI_UINT64_T, 8, 1}, {MPI_FLOAT, 4, 0}, {MPI_DOUBLE, 8, 0},
    };
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    static char all[64 * N * 8];
    for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        int size = kinds[kind].size, n_bytes = N * size;
        char own[N * 8] = {0}, theirs[N * 8], ours[N * 8];
        for (int i = 0; i < N; i++) {
            int value = (rank * 3 + i * 5) % 4 - (size > 1 && kind % 2 == 0);
            if (kinds[kind].is_integer) {
                int64_t wide = value;
                memcpy(own + i * size, &wide, size);
            } else if (size == 4) {
                ((float *)own)[i] = value;
            } else {
                ((double *)own)[i] = value;
            }
        }
        PMPI_Allgather(own, n_bytes, MPI_BYTE, all, n_bytes, MPI_BYTE, comm);
        for (int op = 0; op < (kinds[kind].is_integer ? 10 : 4); op++) {
            /* The last argument is the second operand. */
            memcpy(theirs, all + (n_ranks - 1) * n_bytes, n_bytes);
            for (int other = n_ranks - 2; other >= 0; other--) {
                MPI_Reduce_local(all + other * n_bytes, theirs, N, kinds[kind].type, ops[op]);
            }
            MPI_Allreduce(own, ours, N, kinds[kind].type, ops[op], comm);
            need(!memcmp(ours, theirs, n_bytes), "allreduce of a type", kind * 100 + op);
            memset(ours, 0, sizeof ours);
            MPI_Reduce(own, ours, N, kinds[kind].type, ops[op], root, comm);
            need(rank != root || !memcmp(ours, theirs, n_bytes), "reduce of a type", kind * 100 + op);
        }
    }
    double x = 1.0 / (rank + 3), theirs, ours;
    PMPI_Allreduce(&x, &theirs, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(&x, &ours, 1, MPI_DOUBLE, MPI_SUM, comm);
    /* Orders differ by a rounding for each addend at most. */
    need(ours - theirs < n_ranks * 2.3e-16 * theirs && theirs - ours < n_ranks * 2.3e-16 * theirs, "a sum in another order", 0);
}

static void odd(void) {
    struct { double value; int at; } in = {(rank * 7) % 5, rank}, ours, theirs;
    int zero = 0, sum, i;
    MPI_Comm comm;
    memset(&ours, 0, sizeof ours);
    PMPI_Allreduce(&in, &theirs, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Allreduce(&in, &ours, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    need(ours.value == theirs.value && ours.at == theirs.at, "minloc", 0);
    MPI_Allreduce(&zero, &sum, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    double x = 1.0 / (rank + 1) * 1e10, first, again;
    MPI_Allreduce(&x, &first, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < (n_ranks > 4 ? 100 : 1000); i++) {
        MPI_Allreduce(&x, &again, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        need(!memcmp(&first, &again, sizeof x), "a sum that is made again", i);
    }
    double nan = rank ? 1.0 : 0.0 / 0.0;
    MPI_Allreduce(&nan, &again, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    need(again != again, "a sum with what is no number", 0);
    for (i = 0; i < n_comms; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        need(sum == n_ranks * (n_ranks - 1) / 2, "a sum on a duplicate", i);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    int new_rank, value = rank;
    MPI_Comm_rank(comm, &new_rank);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    need(value == n_ranks - 1, "bcast among ranks in another order", 0);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    int n_rounds = atoi(argv[1]), sizes[] = {1, 3, 17, 128, N_MAX};
    n_comms = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm twin;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int round = 0; round < n_rounds; round++) {
        reductions(round % 3 ? MPI_COMM_WORLD : twin, sizes[round % 5], round);
        moves(round % 2 ? MPI_COMM_WORLD : twin, sizes[round % 4], round);
    }
    types(MPI_COMM_WORLD, n_rounds % n_ranks);
    gaps(MPI_COMM_WORLD);
    odd();
    MPI_Comm_free(&twin);
    if (rank == 0) {
        printf("%d ranks agree in %d checks\n", n_ranks, n_checks);
    }
    MPI_Finalize();
    return 0;
}
