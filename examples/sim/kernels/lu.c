/* LU's exchange: planes swept as wavefronts over a grid of ranks, from one corner and back from the other.
 *
 * Each rank waits for its neighbours' edges of a plane, computes its part, and hands its own edges on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

enum { WIDTH = 8, PLANES = 12 };

static int rank, size, dims[2], row, column, steps;
/* The grid of ranks that sizes are of, and the height of their parts of a plane. */
static int whole_dims[2], whole_height;
/* This rank's parts of all planes. */
static int height, width;
static uint64_t *part;

/* A part's sweep over one plane, from its edges. The other direction is the same with places mirrored. */
static void sweep(uint64_t *plane, int h, int w, const uint64_t *north, const uint64_t *west, int is_back) {
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int at_y = is_back ? h - 1 - y : y, at_x = is_back ? w - 1 - x : x;
            uint64_t above = y ? plane[(is_back ? at_y + 1 : at_y - 1) * w + at_x] : north[at_x];
            uint64_t before = x ? plane[at_y * w + (is_back ? at_x + 1 : at_x - 1)] : west[at_y];
            plane[at_y * w + at_x] = plane[at_y * w + at_x] * 5 + above * 3 + before + 1;
        }
}

static void edges(const uint64_t *plane, uint64_t *south, uint64_t *east, int is_back) {
    for (int x = 0; x < width; x++) south[x] = plane[(is_back ? 0 : height - 1) * width + x];
    for (int y = 0; y < height; y++) east[y] = plane[y * width + (is_back ? 0 : width - 1)];
}

/* The rank of the whole that has a value, and the position there: neither depends on the ranks that share it. */
static uint64_t owner(int y, int x) { return (uint64_t)(y / whole_height * whole_dims[1] + x / WIDTH); }
static uint64_t position(int plane, int y, int x) {
    return (uint64_t)((plane * whole_height + y % whole_height) * WIDTH + x % WIDTH);
}

static void fill(uint64_t *parts, int h, int w, int top, int left) {
    for (int plane = 0; plane < PLANES; plane++)
        for (int y = top; y < top + h; y++)
            for (int x = left; x < left + w; x++) *parts++ = work_value(owner(y, x), position(plane, y, x), 1);
}

static uint64_t sum_of(const uint64_t *parts, int h, int w, int top, int left) {
    uint64_t sum = 0;
    for (int plane = 0; plane < PLANES; plane++)
        for (int y = top; y < top + h; y++)
            for (int x = left; x < left + w; x++) sum += *parts++ * (position(plane, y, x) % 7 + 1);
    return sum;
}

static void pass(int is_back) {
    int step = is_back ? -1 : 1;
    int from_row = row - step, to_row = row + step, from_column = column - step, to_column = column + step;
    int is_first_row = from_row < 0 || from_row >= dims[0], is_last_row = to_row < 0 || to_row >= dims[0];
    int is_first_column = from_column < 0 || from_column >= dims[1], is_last_column = to_column < 0 || to_column >= dims[1];
    for (int i = 0; i < PLANES; i++) {
        int plane = is_back ? PLANES - 1 - i : i;
        uint64_t *own = part + (size_t)plane * (size_t)(height * width);
        uint64_t north[width], west[height], south[width], east[height];
        memset(north, 0, sizeof north);
        memset(west, 0, sizeof west);
        if (!is_first_row) MPI_Recv(north, width, MPI_UINT64_T, from_row * dims[1] + column, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!is_first_column) MPI_Recv(west, height, MPI_UINT64_T, row * dims[1] + from_column, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sweep(own, height, width, north, west, is_back);
        work(rank);
        edges(own, south, east, is_back);
        if (!is_last_row) MPI_Send(south, width, MPI_UINT64_T, to_row * dims[1] + column, 1, MPI_COMM_WORLD);
        if (!is_last_column) MPI_Send(east, height, MPI_UINT64_T, row * dims[1] + to_column, 2, MPI_COMM_WORLD);
    }
}

/* The same by one process. */
static uint64_t alone(void) {
    int h = height * dims[0], w = width * dims[1];
    size_t n = (size_t)h * (size_t)w;
    uint64_t *all = malloc(PLANES * n * sizeof *all), *zero = calloc(n, sizeof *zero);
    fill(all, h, w, 0, 0);
    for (int turn = 0; turn < 2 * steps; turn++)
        for (int plane = 0; plane < PLANES; plane++) sweep(all + (size_t)plane * n, h, w, zero, zero, turn % 2);
    uint64_t sum = sum_of(all, h, w, 0, 0);
    free(all);
    free(zero);
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
    int whole = work_whole(size);
    MPI_Dims_create(whole, 2, whole_dims);
    whole_height = WIDTH * work_times();
    height = work_cut("lu", rank, WIDTH, whole_dims[0], dims[0], size, 1);
    width = height ? work_cut("lu", rank, WIDTH, whole_dims[1], dims[1], size, 0) : 0;
    if (width == 0) {
        MPI_Finalize();
        return 2;
    }
    work_scale(whole, size);
    part = malloc(PLANES * (size_t)(height * width) * sizeof *part);
    fill(part, height, width, row * height, column * width);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        pass(0);
        pass(1);
    }
    double span = MPI_Wtime() - begin, longest;
    uint64_t own = sum_of(part, height, width, row * height, column * width), sum = 0;
    MPI_Reduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&span, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int is_right = rank != 0 || sum == alone();
    if (rank == 0) printf("lu: %s, sum %016llx, %.6f s\n", is_right ? "verified" : "WRONG", (unsigned long long)sum, longest);
    MPI_Finalize();
    return is_right ? 0 : 1;
}
