/* BT's and SP's exchange: cells of a cube on the diagonals of a square of ranks, swept along each dimension and back.
 *
 * In each stage of a sweep every rank has one cell to compute, whose face goes to the rank with the next cell. BT computes much
 * between long messages, SP less between shorter ones. Build with -DSP for SP. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

#ifdef SP
enum { FACE_OF_RANK = 150 };
#define NAME "sp"
#else
enum { FACE_OF_RANK = 750 };
#define NAME "bt"
#endif

static int rank, size, q;
/* Values of a face, which are all that is kept of a cell. */
static int face_size;
/* By third coordinate: rank (i, j) has the cells (i + k, j + k, k). */
static uint64_t *cells;

static int mod(int a) { return (a % q + q) % q; }
static int owner(int x, int y, int z) { return mod(x - z) * q + mod(y - z); }

static void fill(uint64_t *cell, int x, int y, int z) {
    for (int i = 0; i < face_size; i++) cell[i] = work_value((uint64_t)((x * q + y) * q + z), (uint64_t)i, 2);
}

static void solve(uint64_t *cell, const uint64_t *face, int is_back) {
    for (int i = 0; i < face_size; i++) cell[i] = cell[i] * (is_back ? 5 : 3) + face[i] + 1;
}

static uint64_t sum_of(const uint64_t *cell) {
    uint64_t sum = 0;
    for (int i = 0; i < face_size; i++) sum += cell[i] * (uint64_t)(i % 7 + 1);
    return sum;
}

/* The third coordinate of this rank's cell that is `stage`-th along a dimension. */
static int cell_at(int dimension, int stage) {
    int i = rank / q, j = rank % q;
    return dimension == 0 ? mod(stage - i) : dimension == 1 ? mod(stage - j) : stage;
}

static void sweep(int dimension, int is_back) {
    uint64_t face[face_size], out[face_size];
    MPI_Request sent = MPI_REQUEST_NULL;
    for (int s = 0; s < q; s++) {
        int stage = is_back ? q - 1 - s : s, step = is_back ? -1 : 1, k = cell_at(dimension, stage);
        int place[3] = {mod(rank / q + k), mod(rank % q + k), k}, before[3], after[3];
        for (int d = 0; d < 3; d++) {
            before[d] = place[d] - (d == dimension ? step : 0);
            after[d] = place[d] + (d == dimension ? step : 0);
        }
        uint64_t *cell = cells + (size_t)k * (size_t)face_size;
        for (int i = 0; i < face_size; i++) face[i] = 0;
        if (s > 0) {
            MPI_Request received;
            MPI_Irecv(face, face_size, MPI_UINT64_T, owner(before[0], before[1], before[2]), dimension, MPI_COMM_WORLD, &received);
            MPI_Wait(&received, MPI_STATUS_IGNORE);
        }
        solve(cell, face, is_back);
        work(rank);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        for (int i = 0; i < face_size; i++) out[i] = cell[i];
        if (s < q - 1)
            MPI_Isend(out, face_size, MPI_UINT64_T, owner(after[0], after[1], after[2]), dimension, MPI_COMM_WORLD, &sent);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

/* All ranks tell their six neighbours' cells the sums of theirs, as copies of faces. */
static uint64_t copy_faces(void) {
    static const int steps[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    MPI_Request requests[12];
    MPI_Status statuses[12];
    uint64_t own = 0, others[6], sum = 0;
    for (int k = 0; k < q; k++) own += sum_of(cells + (size_t)k * (size_t)face_size);
    for (int n = 0; n < 6; n++) {
        int x = rank / q + steps[n][0], y = rank % q + steps[n][1], z = steps[n][2];
        MPI_Irecv(&others[n], 1, MPI_UINT64_T, owner(x, y, z), 10 + (n ^ 1), MPI_COMM_WORLD, &requests[2 * n]);
        MPI_Isend(&own, 1, MPI_UINT64_T, owner(x, y, z), 10 + n, MPI_COMM_WORLD, &requests[2 * n + 1]);
    }
    MPI_Waitall(12, requests, statuses);
    for (int n = 0; n < 6; n++) sum += others[n];
    return sum;
}

/* The sums of all cells, by one process. */
static uint64_t alone(int steps) {
    size_t n = (size_t)face_size;
    uint64_t *all = malloc((size_t)(q * q * q) * n * sizeof *all), *zero = calloc(n, sizeof *zero), sum = 0;
    for (int c = 0; c < q * q * q; c++) fill(all + (size_t)c * n, c / q / q, c / q % q, c % q);
    for (int step = 0; step < steps; step++)
        for (int turn = 0; turn < 6; turn++) {
            int dimension = turn / 2, is_back = turn % 2, stride = dimension == 0 ? q * q : dimension == 1 ? q : 1;
            for (int i = 0; i < q * q * q; i++) {
                int c = is_back ? q * q * q - 1 - i : i, at = c / stride % q;
                int is_first = at == (is_back ? q - 1 : 0);
                solve(all + (size_t)c * n, is_first ? zero : all + (size_t)(c - (is_back ? -stride : stride)) * n, is_back);
            }
        }
    for (int c = 0; c < q * q * q; c++) sum += sum_of(all + (size_t)c * n);
    free(all);
    free(zero);
    return sum;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (q * q < size) q++;
    if (q * q != size) {
        if (rank == 0) fprintf(stderr, NAME ": %d ranks are no square: use 1, 4, 9, 16 …\n", size);
        MPI_Finalize();
        return 2;
    }
    int steps = work_begin(argc, argv), whole = work_whole(size), whole_q = 0;
    while (whole_q * whole_q < whole) whole_q++;
    if (whole_q * whole_q != whole) {
        if (rank == 0) fprintf(stderr, NAME ": whole=%d is no square: use 1, 4, 9, 16 …\n", whole);
        MPI_Finalize();
        return 2;
    }
    /* More ranks have more cells, with smaller faces; the volume of all cells, which stretches go by, stays. */
    face_size = work_cut(NAME, rank, FACE_OF_RANK, whole, size, size, 1);
    if (face_size == 0) {
        MPI_Finalize();
        return 2;
    }
    work_scale(whole * whole_q, size * q);
    cells = malloc((size_t)q * (size_t)face_size * sizeof *cells);
    for (int k = 0; k < q; k++) fill(cells + (size_t)k * (size_t)face_size, mod(rank / q + k), mod(rank % q + k), k);
    uint64_t faces = 0;
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        faces = copy_faces();
        for (int dimension = 0; dimension < 3; dimension++) {
            sweep(dimension, 0);
            sweep(dimension, 1);
        }
    }
    faces = copy_faces();
    double span = MPI_Wtime() - begin, longest;
    uint64_t own[2] = {0, faces}, sum[2] = {0, 0};
    for (int k = 0; k < q; k++) own[0] += sum_of(cells + (size_t)k * (size_t)face_size);
    MPI_Reduce(own, sum, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&span, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int is_right = rank != 0 || (sum[0] == alone(steps) && sum[1] == 6 * sum[0]);
    if (rank == 0)
        printf(NAME ": %s, sum %016llx, %.6f s\n", is_right ? "verified" : "WRONG", (unsigned long long)sum[0], longest);
    MPI_Finalize();
    return is_right ? 0 : 1;
}
