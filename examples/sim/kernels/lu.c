/* LU's exchange: planes swept as wavefronts over a grid of ranks, from one corner and back from the other.
 *
 * Each rank waits for its neighbours' edges of a plane, computes its part, and hands its own edges on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

enum { WIDTH = 8, PLANES = 12 };

static int rank, size, dims[2], row, column, steps;
static uint64_t part[PLANES][WIDTH][WIDTH];

/* A part's sweep over one plane, from its edges. The other direction is the same with places mirrored. */
static void sweep(uint64_t plane[WIDTH][WIDTH], const uint64_t *north, const uint64_t *west, int is_back) {
    for (int y = 0; y < WIDTH; y++)
        for (int x = 0; x < WIDTH; x++) {
            int at_y = is_back ? WIDTH - 1 - y : y, at_x = is_back ? WIDTH - 1 - x : x;
            uint64_t above = y ? plane[is_back ? at_y + 1 : at_y - 1][at_x] : north[at_x];
            uint64_t before = x ? plane[at_y][is_back ? at_x + 1 : at_x - 1] : west[at_y];
            plane[at_y][at_x] = plane[at_y][at_x] * 5 + above * 3 + before + 1;
        }
}

static void edges(uint64_t plane[WIDTH][WIDTH], uint64_t *south, uint64_t *east, int is_back) {
    int last = is_back ? 0 : WIDTH - 1;
    for (int i = 0; i < WIDTH; i++) {
        south[i] = plane[last][i];
        east[i] = plane[i][last];
    }
}

static uint64_t sum_of(uint64_t parts[PLANES][WIDTH][WIDTH]) {
    uint64_t sum = 0;
    for (int i = 0; i < PLANES * WIDTH * WIDTH; i++) sum += (&parts[0][0][0])[i] * (uint64_t)(i % 7 + 1);
    return sum;
}

static void fill(uint64_t parts[PLANES][WIDTH][WIDTH], int of_rank) {
    for (int i = 0; i < PLANES * WIDTH * WIDTH; i++) (&parts[0][0][0])[i] = work_value((uint64_t)of_rank, (uint64_t)i, 1);
}

static void pass(int is_back) {
    int step = is_back ? -1 : 1;
    int from_row = row - step, to_row = row + step, from_column = column - step, to_column = column + step;
    int is_first_row = from_row < 0 || from_row >= dims[0], is_last_row = to_row < 0 || to_row >= dims[0];
    int is_first_column = from_column < 0 || from_column >= dims[1], is_last_column = to_column < 0 || to_column >= dims[1];
    for (int i = 0; i < PLANES; i++) {
        int plane = is_back ? PLANES - 1 - i : i;
        uint64_t north[WIDTH] = {0}, west[WIDTH] = {0}, south[WIDTH], east[WIDTH];
        if (!is_first_row) MPI_Recv(north, WIDTH, MPI_UINT64_T, from_row * dims[1] + column, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!is_first_column) MPI_Recv(west, WIDTH, MPI_UINT64_T, row * dims[1] + from_column, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sweep(part[plane], north, west, is_back);
        work(rank);
        edges(part[plane], south, east, is_back);
        if (!is_last_row) MPI_Send(south, WIDTH, MPI_UINT64_T, to_row * dims[1] + column, 1, MPI_COMM_WORLD);
        if (!is_last_column) MPI_Send(east, WIDTH, MPI_UINT64_T, row * dims[1] + to_column, 2, MPI_COMM_WORLD);
    }
}

/* The same by one process. */
static uint64_t alone(void) {
    uint64_t(*all)[PLANES][WIDTH][WIDTH] = calloc((size_t)size, sizeof *all);
    uint64_t zero[WIDTH] = {0}, south[WIDTH], east[WIDTH], unused[WIDTH], sum = 0;
    for (int r = 0; r < size; r++) fill(all[r], r);
    for (int turn = 0; turn < 2 * steps; turn++)
        for (int plane = 0; plane < PLANES; plane++)
            for (int i = 0; i < size; i++) {
                int is_back = turn % 2, r = is_back ? size - 1 - i : i, step = is_back ? -1 : 1;
                int above = r / dims[1] - step, before = r % dims[1] - step;
                int has_above = above >= 0 && above < dims[0], has_before = before >= 0 && before < dims[1];
                if (has_above) edges(all[above * dims[1] + r % dims[1]][plane], south, unused, is_back);
                if (has_before) edges(all[r / dims[1] * dims[1] + before][plane], unused, east, is_back);
                sweep(all[r][plane], has_above ? south : zero, has_before ? east : zero, is_back);
            }
    for (int r = 0; r < size; r++) sum += sum_of(all[r]);
    free(all);
    return sum;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    row = rank / dims[1];
    column = rank % dims[1];
    steps = work_begin(argc, argv);
    fill(part, rank);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        pass(0);
        pass(1);
    }
    double span = MPI_Wtime() - begin, longest;
    uint64_t own = sum_of(part), sum = 0;
    MPI_Reduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&span, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int is_right = rank != 0 || sum == alone();
    if (rank == 0) printf("lu: %s, sum %016llx, %.6f s\n", is_right ? "verified" : "WRONG", (unsigned long long)sum, longest);
    MPI_Finalize();
    return is_right ? 0 : 1;
}
