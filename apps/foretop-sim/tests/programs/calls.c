/* Calls of many kinds, checked by each rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(truth) \
    if (!(truth)) { \
        fprintf(stderr, "line %d: %s is not so\n", __LINE__, #truth); \
        MPI_Abort(MPI_COMM_WORLD, 1); \
    }

static int rank, n, left, right;

static void point_to_point(void) {
    int out = rank, in = -1, flag = 0, count;
    char buffer[1000];
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Sendrecv(&out, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &status);
    CHECK(in == left && status.MPI_SOURCE == left);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(&out, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
    CHECK(in == left && count == 1);
    void *detached;
    MPI_Buffer_detach(&detached, &count);
    MPI_Irecv(&in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(&out, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
    while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Send_init(&out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        in = -1;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in == left);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Irecv(&in, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

static void data_and_groups(void) {
    enum { SIDE = 300 };
    double *matrix = calloc(SIDE * SIDE, sizeof *matrix), column[SIDE];
    MPI_Datatype columns;
    MPI_Comm half, ring;
    int in = rank, sum, size, periodic = 1;
    MPI_Request request;
    MPI_Type_vector(SIDE, 1, SIDE, MPI_DOUBLE, &columns);
    MPI_Type_commit(&columns);
    for (int i = 0; i < SIDE * SIDE; i++) matrix[i] = i;
    MPI_Sendrecv(matrix + 1, 1, columns, right, 0, column, SIDE, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(column[7] == 7 * SIDE + 1);
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == n * (n - 1) / 2);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_size(half, &size);
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_MAX, half);
    CHECK(size == n / 2 && sum == n - 2 + rank % 2);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &ring);
    int *cell;
    MPI_Win window;
    MPI_Win_allocate(sizeof *cell, sizeof *cell, MPI_INFO_NULL, ring, &cell, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&in, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(*cell == left);
    MPI_Win_free(&window);
    free(matrix);
}

/* Ranks of one node, also of a communicator that does not have all of them: the machine has four cores a node. */
static void neighbours(void) {
    MPI_Comm node, odd;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    CHECK(size == (n < 4 ? n : 4));
    MPI_Comm_free(&node);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &odd);
    MPI_Comm_split_type(odd, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    CHECK(size == 2);
    MPI_Comm_free(&node);
    MPI_Comm_free(&odd);
}

/* Communicators of other ranks that may have the same context, at once and one after the other. */
static void contexts(void) {
    for (int step = 1; step <= 2; step++) {
        MPI_Comm part;
        int own, size;
        MPI_Comm_split(MPI_COMM_WORLD, rank / step % 2, rank, &part);
        MPI_Comm_rank(part, &own);
        MPI_Comm_size(part, &size);
        for (int i = 1; own == 0 && i < size; i++) {
            int in;
            MPI_Status status;
            MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, step, part, &status);
            CHECK(in / step % 2 == rank / step % 2 && status.MPI_SOURCE > 0);
        }
        if (own > 0) MPI_Send(&rank, 1, MPI_INT, 0, step, part);
        MPI_Comm_free(&part);
    }
}

int main(int argc, char **argv) {
    int is_initialized, level;
    MPI_Initialized(&is_initialized);
    CHECK(!is_initialized);
    MPI_Init(&argc, &argv);
    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_SINGLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    left = (rank + n - 1) % n;
    right = (rank + 1) % n;
    point_to_point();
    data_and_groups();
    contexts();
    neighbours();
    double before = MPI_Wtime();
    sleep(1000);
    CHECK(MPI_Wtime() - before >= 1000);
    MPI_Finalize();
    printf("all is well\n");
    return 0;
}
