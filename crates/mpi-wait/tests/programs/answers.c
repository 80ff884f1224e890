/* All that programs get from blocking calls: data, statuses and errors, with known answers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (1 << 18)

static int rank, size;
static MPI_Comm comm;
static int large_out[LARGE], large_in[LARGE];

static void check(int right, const char *what, int line) {
    if (!right) {
        fprintf(stderr, "rank %d, line %d: %s\n", rank, line, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CHECK(condition) check(condition, #condition, __LINE__)
#define DONE(call) CHECK((call) == MPI_SUCCESS)

static int left(void) { return (rank + size - 1) % size; }
static int right(void) { return (rank + 1) % size; }
static int total(void) { return size * (size - 1) / 2; }

static int error_class(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void ring(void) {
    for (int n = 1; n <= LARGE; n = n == 1 ? LARGE : 2 * LARGE) {
        for (int round = 0; round < (n == 1 ? 50 : 3); ++round) {
            MPI_Status status;
            int count;
            large_out[0] = large_out[n - 1] = round * size + rank;
            if (rank == 0) {
                DONE(round % 2 ? MPI_Send(large_out, n, MPI_INT, right(), 3, comm) : MPI_Ssend(large_out, n, MPI_INT, right(), 3, comm));
                DONE(MPI_Recv(large_in, n, MPI_INT, left(), 3, comm, &status));
            } else {
                DONE(MPI_Recv(large_in, n, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
                DONE(MPI_Send(large_out, n, MPI_INT, right(), 3, comm));
            }
            MPI_Get_count(&status, MPI_INT, &count);
            CHECK(status.MPI_SOURCE == left() && status.MPI_TAG == 3 && count == n);
            CHECK(large_in[0] == round * size + left() && large_in[n - 1] == large_in[0]);
        }
    }
    /* What comes next is not to be taken for these messages. */
    DONE(MPI_Barrier(comm));
}

static void waits(void) {
    MPI_Request requests[64];
    MPI_Status statuses[64];
    int out[32], in[32], index, n, indices[64];
    for (int way = 0; way < 5; ++way) {
        for (int at = 0; at < size; ++at) {
            int other = (rank + at) % size, from = (rank + size - at) % size;
            out[at] = 100 * rank + other;
            in[at] = -1;
            DONE(MPI_Irecv(&in[at], 1, MPI_INT, from, way, comm, &requests[at]));
        }
        for (int at = 0; at < size; ++at) DONE(MPI_Isend(&out[at], 1, MPI_INT, (rank + at) % size, way, comm, &requests[size + at]));
        switch (way) {
        case 0:
            DONE(MPI_Waitall(2 * size, requests, statuses));
            for (int at = 0; at < size; ++at) CHECK(statuses[at].MPI_SOURCE == (rank + size - at) % size && statuses[at].MPI_TAG == way);
            break;
        case 1: DONE(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE)); break;
        case 2:
            for (int k = 0; k < 2 * size; ++k) {
                DONE(MPI_Waitany(2 * size, requests, &index, &statuses[0]));
                CHECK(index >= 0 && index < 2 * size && requests[index] == MPI_REQUEST_NULL);
                if (index < size) CHECK(statuses[0].MPI_SOURCE == (rank + size - index) % size);
            }
            DONE(MPI_Waitany(2 * size, requests, &index, MPI_STATUS_IGNORE));
            CHECK(index == MPI_UNDEFINED);
            break;
        case 3:
            for (int k = 0; k < 2 * size; k += n) {
                DONE(MPI_Waitsome(2 * size, requests, &n, indices, statuses));
                CHECK(n >= 1 && n <= 2 * size - k);
            }
            DONE(MPI_Waitsome(2 * size, requests, &n, indices, statuses));
            CHECK(n == MPI_UNDEFINED);
            break;
        case 4:
            for (int k = 0; k < 2 * size; ++k) DONE(MPI_Wait(&requests[k], k % 2 ? MPI_STATUS_IGNORE : &statuses[k]));
            DONE(MPI_Wait(&requests[0], &statuses[0]));
            CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE && statuses[0].MPI_TAG == MPI_ANY_TAG);
            break;
        }
        for (int at = 0; at < size; ++at) CHECK(in[at] == 100 * ((rank + size - at) % size) + rank && requests[at] == MPI_REQUEST_NULL);
    }
}

static void large_exchange(void) {
    MPI_Request requests[2];
    for (int k = 0; k < LARGE; ++k) large_out[k] = rank + k;
    DONE(MPI_Irecv(large_in, LARGE, MPI_INT, left(), 4, comm, &requests[0]));
    DONE(MPI_Isend(large_out, LARGE, MPI_INT, right(), 4, comm, &requests[1]));
    DONE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < LARGE; k += 97) CHECK(large_in[k] == left() + k);
    DONE(MPI_Sendrecv(large_out, LARGE, MPI_INT, left(), 5, large_in, LARGE, MPI_INT, right(), 5, comm, MPI_STATUS_IGNORE));
    for (int k = 0; k < LARGE; k += 97) CHECK(large_in[k] == right() + k);
}

static void probes(void) {
    MPI_Status status, received;
    MPI_Message message;
    int out[3] = {rank, rank, rank}, in[3], count;
    MPI_Request request;
    DONE(MPI_Isend(out, 3, MPI_INT, right(), 6, comm, &request));
    DONE(MPI_Probe(MPI_ANY_SOURCE, 6, comm, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3 && status.MPI_SOURCE == left());
    DONE(MPI_Recv(in, 3, MPI_INT, left(), 6, comm, MPI_STATUS_IGNORE));
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    DONE(MPI_Isend(out, 2, MPI_INT, right(), 7, comm, &request));
    DONE(MPI_Mprobe(left(), MPI_ANY_TAG, comm, &message, &status));
    CHECK(status.MPI_TAG == 7);
    DONE(MPI_Mrecv(in, 2, MPI_INT, &message, &received));
    CHECK(in[1] == left() && message == MPI_MESSAGE_NULL && received.MPI_SOURCE == left());
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    DONE(MPI_Recv(in, 3, MPI_INT, MPI_PROC_NULL, 6, comm, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    DONE(MPI_Probe(MPI_PROC_NULL, 6, comm, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void exchanges(void) {
    MPI_Status status;
    int out = rank, in = -1;
    DONE(MPI_Sendrecv(&out, 1, MPI_INT, right(), 1, &in, 1, MPI_INT, left(), 1, comm, &status));
    CHECK(in == left() && status.MPI_SOURCE == left() && status.MPI_TAG == 1);
    DONE(MPI_Sendrecv_replace(&out, 1, MPI_INT, left(), 2, right(), 2, comm, &status));
    CHECK(out == right() && status.MPI_SOURCE == right());
    in = -1;
    DONE(MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 1, &in, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status));
    CHECK(in == -1 && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void persistent(void) {
    MPI_Request requests[2];
    int out, in;
    DONE(MPI_Recv_init(&in, 1, MPI_INT, left(), 8, comm, &requests[0]));
    DONE(MPI_Send_init(&out, 1, MPI_INT, right(), 8, comm, &requests[1]));
    for (int round = 0; round < 5; ++round) {
        MPI_Status statuses[2];
        out = 10 * rank + round;
        if (round % 2) {
            DONE(MPI_Startall(2, requests));
            DONE(MPI_Waitall(2, requests, statuses));
            CHECK(statuses[0].MPI_SOURCE == left());
        } else {
            DONE(MPI_Start(&requests[0]));
            DONE(MPI_Start(&requests[1]));
            DONE(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
            DONE(MPI_Wait(&requests[0], &statuses[0]));
        }
        CHECK(in == 10 * left() + round && requests[0] != MPI_REQUEST_NULL);
    }
    /* Not active: there is nothing to wait for. */
    DONE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    DONE(MPI_Request_free(&requests[0]));
    DONE(MPI_Request_free(&requests[1]));
}

static void errors(void) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int out[4] = {1, 2, 3, 4}, in[4], tag;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    /* MPICH takes the one of the world for calls with several requests. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    DONE(MPI_Isend(out, 4, MPI_INT, right(), 9, comm, &requests[0]));
    CHECK(error_class(MPI_Recv(in, 2, MPI_INT, left(), 9, comm, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    DONE(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    DONE(MPI_Irecv(in, 2, MPI_INT, left(), 10, comm, &requests[0]));
    DONE(MPI_Isend(out, 4, MPI_INT, right(), 10, comm, &requests[1]));
    statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = MPI_SUCCESS;
    CHECK(error_class(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
    CHECK(error_class(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    CHECK(error_class(MPI_Send(out, 1, MPI_INT, size, 0, comm)) == MPI_ERR_RANK);
    CHECK(error_class(MPI_Recv(in, 1, MPI_INT, size, 0, comm, MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
    CHECK(error_class(MPI_Bcast(in, -1, MPI_INT, 0, comm)) == MPI_ERR_COUNT);
    DONE(MPI_Isend(out, 4, MPI_INT, right(), 11, comm, &requests[0]));
    tag = error_class(MPI_Sendrecv(out, 1, MPI_INT, right(), 12, in, 2, MPI_INT, left(), 11, comm, MPI_STATUS_IGNORE));
    CHECK(tag == MPI_ERR_TRUNCATE);
    DONE(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    DONE(MPI_Recv(in, 1, MPI_INT, left(), 12, comm, MPI_STATUS_IGNORE));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void collectives(void) {
    int out[64], in[64], counts[32], places[32], zeros[32], value;
    MPI_Datatype types[32];
    for (int k = 0; k < size; ++k) counts[k] = 1, places[k] = k, zeros[k] = 0, types[k] = MPI_INT;
    DONE(MPI_Barrier(comm));
    for (int root = 0; root < size; root += size - 1) {
        value = rank == root ? 77 : -1;
        DONE(MPI_Bcast(&value, 1, MPI_INT, root, comm));
        CHECK(value == 77);
        value = -1;
        DONE(MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_SUM, root, comm));
        CHECK(value == (rank == root ? total() : -1));
        value = rank;
        DONE(rank == root ? MPI_Reduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, root, comm) : MPI_Reduce(&value, NULL, 1, MPI_INT, MPI_MAX, root, comm));
        CHECK(rank != root || value == size - 1);
        DONE(MPI_Gather(&rank, 1, MPI_INT, in, 1, MPI_INT, root, comm));
        for (int k = 0; k < size && rank == root; ++k) CHECK(in[k] == k);
        DONE(MPI_Gatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, root, comm));
        for (int k = 0; k < size && rank == root; ++k) CHECK(in[k] == k), in[k] += 5;
        DONE(MPI_Scatter(in, 1, MPI_INT, &value, 1, MPI_INT, root, comm));
        CHECK(value == rank + 5);
        DONE(MPI_Scatterv(in, counts, places, MPI_INT, &value, 1, MPI_INT, root, comm));
        CHECK(value == rank + 5);
        if (size == 1) break;
    }
    DONE(MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, comm));
    CHECK(value == total());
    value = rank;
    DONE(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, comm));
    CHECK(value == 0);
    DONE(MPI_Allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int k = 0; k < size; ++k) CHECK(in[k] == k), in[k] = k == rank ? k : -1;
    DONE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm));
    for (int k = 0; k < size; ++k) CHECK(in[k] == k), in[k] = -1;
    DONE(MPI_Allgatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, comm));
    for (int k = 0; k < size; ++k) CHECK(in[k] == k), out[k] = 100 * rank + k;
    DONE(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int k = 0; k < size; ++k) CHECK(in[k] == 100 * k + rank), in[k] = -1;
    DONE(MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm));
    for (int k = 0; k < size; ++k) CHECK(in[k] == 100 * k + rank), in[k] = -1, places[k] = k * (int)sizeof(int);
    DONE(MPI_Alltoallw(out, counts, places, types, in, counts, places, types, comm));
    for (int k = 0; k < size; ++k) CHECK(in[k] == 100 * k + rank), out[k] = k;
    DONE(MPI_Reduce_scatter(out, &value, counts, MPI_INT, MPI_SUM, comm));
    CHECK(value == size * rank);
    DONE(MPI_Reduce_scatter_block(out, &value, 1, MPI_INT, MPI_SUM, comm));
    CHECK(value == size * rank);
    DONE(MPI_Scan(&rank, &value, 1, MPI_INT, MPI_SUM, comm));
    CHECK(value == rank * (rank + 1) / 2);
    value = 0;
    DONE(MPI_Exscan(&rank, &value, 1, MPI_INT, MPI_SUM, comm));
    CHECK(rank == 0 || value == rank * (rank - 1) / 2);
    for (int k = 0; k < LARGE; ++k) large_out[k] = rank;
    DONE(MPI_Allreduce(large_out, large_in, LARGE, MPI_INT, MPI_SUM, comm));
    CHECK(large_in[0] == total() && large_in[LARGE - 1] == total());
    DONE(MPI_Bcast(large_in, LARGE, MPI_INT, size - 1, comm));
    (void)zeros;
}

static void neighbors(void) {
    int periodic = 1, in[2], out[2] = {10 * rank, 10 * rank + 1}, counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Aint bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm circle;
    DONE(MPI_Cart_create(comm, 1, &size, &periodic, 0, &circle));
    DONE(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, circle));
    CHECK(in[0] == left() && in[1] == right());
    DONE(MPI_Neighbor_allgatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, circle));
    CHECK(in[0] == left() && in[1] == right());
    if (size > 2) {
        DONE(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, circle));
        CHECK(in[0] == 10 * left() + 1 && in[1] == 10 * right());
        DONE(MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, circle));
        CHECK(in[0] == 10 * left() + 1 && in[1] == 10 * right());
        DONE(MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, circle));
        CHECK(in[0] == 10 * left() + 1 && in[1] == 10 * right());
    }
    DONE(MPI_Comm_free(&circle));
}

static void begun(void) {
    MPI_Request requests[3];
    int sum = -1, value = rank == 0 ? 5 : -1;
    DONE(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]));
    DONE(MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &requests[1]));
    DONE(MPI_Ibarrier(comm, &requests[2]));
    DONE(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == total() && value == 5);
}

static void between(void) {
    MPI_Comm half, both, merged;
    int side = rank % 2, sum, value = 3, n;
    DONE(MPI_Comm_split(comm, side, rank, &half));
    DONE(MPI_Intercomm_create(half, 0, comm, 1 - side, 12, &both));
    MPI_Comm_remote_size(both, &n);
    DONE(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both));
    CHECK(sum == 3 * n);
    DONE(MPI_Barrier(both));
    DONE(MPI_Intercomm_merge(both, side, &merged));
    DONE(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK(sum == 3 * size);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 3; ++round) {
        if (round == 1) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else comm = MPI_COMM_WORLD;
        if (round == 2) MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
        MPI_Comm_rank(comm, &rank);
        ring();
        waits();
        large_exchange();
        probes();
        exchanges();
        persistent();
        errors();
        collectives();
        neighbors();
        begun();
        if (size > 1) between();
        if (round > 0) MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("all is right\n");
    MPI_Finalize();
    return 0;
}
