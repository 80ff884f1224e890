/* MPI for kernels that run as user-level ranks: `foretop sim kernel`.
 *
 * An ordinary C program that keeps to these calls becomes a kernel by
 *     cc -O2 -shared -fPIC -I examples/sim/user -o ring.so ring.c
 * It may have no variables outside of functions that it writes to: all ranks share them. `exit` ends all ranks at once,
 * so return from `main` or call `MPI_Abort`. Time passes in messages and in `foretop_sim->compute(seconds)`.
 * The simulator sets `foretop_sim` before it calls `main`; a call that fails does not return.
 */
#ifndef FORETOP_SIM_MPI_H
#define FORETOP_SIM_MPI_H

#include <stddef.h>

typedef struct {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    long bytes;
} MPI_Status;
typedef int MPI_Comm;
typedef int MPI_Request;
typedef int MPI_Datatype;
typedef int MPI_Op;

enum foretop_sim_exchange { FORETOP_SIM_GATHER, FORETOP_SIM_SCATTER, FORETOP_SIM_ALLGATHER, FORETOP_SIM_ALLTOALL };
/* A part for each rank, or one. */
struct foretop_sim_parts {
    void *data;
    long *lengths, *offsets;
};

/* What the simulator does. Lengths are in bytes; a request of 0 is none. */
struct foretop_sim_calls {
    int (*rank)(void);
    int (*n_ranks)(void);
    double (*seconds)(void);
    void (*compute)(double seconds);
    MPI_Request (*send)(const void *data, long bytes, int to, int tag, int mode);
    MPI_Request (*receive)(void *data, long bytes, int from, int tag);
    void (*wait)(int n, MPI_Request *requests, MPI_Status *statuses);
    int (*wait_any)(int n, MPI_Request *requests, MPI_Status *status);
    int (*test)(int n, MPI_Request *requests, MPI_Status *statuses);
    int (*probe)(int from, int tag, int waits, MPI_Status *status);
    void (*barrier)(void);
    void (*broadcast)(void *data, long bytes, int root);
    void (*reduce)(void *data, int count, MPI_Datatype type, MPI_Op op, int root);
    void (*allgather)(void *data, long bytes);
    void (*alltoall)(const void *sent, void *received, long bytes);
    void (*stop)(const char *call, int code);
    void (*gather)(const void *sent, long bytes, void *received, int root);
    void (*scatter)(const void *sent, long bytes, void *received, int root);
    void (*scan)(void *data, int count, MPI_Datatype type, MPI_Op op, int includes_own);
    void (*reduce_scatter)(void *data, void *received, int count, MPI_Datatype type, MPI_Op op);
    void (*exchange)(enum foretop_sim_exchange what, const struct foretop_sim_parts *sent, const struct foretop_sim_parts *received, int root);
};
__attribute__((weak, visibility("default"))) const struct foretop_sim_calls *foretop_sim;

enum { MPI_SUCCESS = 0, MPI_ERR_OTHER = 15 };
enum { MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_PROC_NULL = -2, MPI_UNDEFINED = -32766 };
enum { MPI_COMM_NULL = 0, MPI_COMM_WORLD = 1, MPI_REQUEST_NULL = 0 };
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_IN_PLACE ((void *)1)
/* A type is its size in bytes and, above that, its kind: 0 bytes, 1 signed, 2 unsigned, 3 floating. */
enum {
    MPI_BYTE = 1, MPI_PACKED = 1, MPI_CHAR = 0x101, MPI_SIGNED_CHAR = 0x101, MPI_UNSIGNED_CHAR = 0x201,
    MPI_SHORT = 0x102, MPI_UNSIGNED_SHORT = 0x202, MPI_INT = 0x104, MPI_UNSIGNED = 0x204, MPI_LONG = 0x108,
    MPI_UNSIGNED_LONG = 0x208, MPI_LONG_LONG = 0x108, MPI_LONG_LONG_INT = 0x108, MPI_INT32_T = 0x104,
    MPI_UINT32_T = 0x204, MPI_INT64_T = 0x108, MPI_UINT64_T = 0x208, MPI_FLOAT = 0x304, MPI_DOUBLE = 0x308
};
enum { MPI_SUM = 1, MPI_PROD, MPI_MAX, MPI_MIN };

#define FORETOP_SIM_BYTES(count, type) ((long)(count) * ((type)&0xff))
/* What all calls but the point-to-point ones do about their communicator: there is one. */
#define FORETOP_SIM_WORLD(call, comm) \
    do { \
        if ((comm) != MPI_COMM_WORLD) foretop_sim->stop(call " of another communicator", MPI_ERR_OTHER); \
    } while (0)
#define FORETOP_SIM static inline __attribute__((unused)) int

FORETOP_SIM MPI_Init(int *argc, char ***argv) { (void)argc, (void)argv; return MPI_SUCCESS; }
FORETOP_SIM MPI_Finalize(void) { return MPI_SUCCESS; }
FORETOP_SIM MPI_Initialized(int *flag) { *flag = 1; return MPI_SUCCESS; }
FORETOP_SIM MPI_Abort(MPI_Comm comm, int code) { (void)comm; foretop_sim->stop("MPI_Abort", code); return code; }
FORETOP_SIM MPI_Comm_rank(MPI_Comm comm, int *rank) {
    FORETOP_SIM_WORLD("MPI_Comm_rank", comm);
    *rank = foretop_sim->rank();
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Comm_size(MPI_Comm comm, int *size) {
    FORETOP_SIM_WORLD("MPI_Comm_size", comm);
    *size = foretop_sim->n_ranks();
    return MPI_SUCCESS;
}
static inline __attribute__((unused)) double MPI_Wtime(void) { return foretop_sim->seconds(); }

FORETOP_SIM foretop_sim_begin_send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                                   int mode, MPI_Request *request) {
    FORETOP_SIM_WORLD("a send", comm);
    *request = to == MPI_PROC_NULL ? 0 : foretop_sim->send(data, FORETOP_SIM_BYTES(count, type), to, tag, mode);
    return MPI_SUCCESS;
}
FORETOP_SIM foretop_sim_finish(MPI_Request request) {
    foretop_sim->wait(1, &request, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}
#define FORETOP_SIM_SENDS(name, mode) \
    FORETOP_SIM MPI_I##name(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                            MPI_Request *request) { \
        return foretop_sim_begin_send(data, count, type, to, tag, comm, mode, request); \
    } \
    FORETOP_SIM MPI_##name##_(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
        MPI_Request request; \
        foretop_sim_begin_send(data, count, type, to, tag, comm, mode, &request); \
        return foretop_sim_finish(request); \
    }
FORETOP_SIM_SENDS(send, 0)
FORETOP_SIM_SENDS(ssend, 1)
FORETOP_SIM_SENDS(bsend, 2)
FORETOP_SIM_SENDS(rsend, 3)
#define MPI_Send MPI_send_
#define MPI_Ssend MPI_ssend_
#define MPI_Bsend MPI_bsend_
#define MPI_Rsend MPI_rsend_

FORETOP_SIM MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    FORETOP_SIM_WORLD("MPI_Irecv", comm);
    *request = from == MPI_PROC_NULL ? 0 : foretop_sim->receive(data, FORETOP_SIM_BYTES(count, type), from, tag);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Wait(MPI_Request *request, MPI_Status *status) {
    foretop_sim->wait(1, request, status);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
    foretop_sim->wait(n, requests, statuses);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Waitany(int n, MPI_Request *requests, int *index, MPI_Status *status) {
    *index = foretop_sim->wait_any(n, requests, status);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    *flag = foretop_sim->test(1, request, status);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses) {
    *flag = foretop_sim->test(n, requests, statuses);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request request;
    MPI_Irecv(data, count, type, from, tag, comm, &request);
    return MPI_Wait(&request, status);
}
FORETOP_SIM MPI_Sendrecv(const void *sent, int n_sent, MPI_Datatype sent_type, int to, int sent_tag, void *received,
                         int n_received, MPI_Datatype received_type, int from, int received_tag, MPI_Comm comm,
                         MPI_Status *status) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(received, n_received, received_type, from, received_tag, comm, &requests[0]);
    foretop_sim_begin_send(sent, n_sent, sent_type, to, sent_tag, comm, 0, &requests[1]);
    foretop_sim->wait(2, requests, statuses);
    if (status) *status = statuses[0];
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status) {
    FORETOP_SIM_WORLD("MPI_Probe", comm);
    foretop_sim->probe(from, tag, 1, status);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    FORETOP_SIM_WORLD("MPI_Iprobe", comm);
    *flag = foretop_sim->probe(from, tag, 0, status);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count) {
    long size = type & 0xff;
    *count = status->bytes % size ? MPI_UNDEFINED : (int)(status->bytes / size);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Barrier(MPI_Comm comm) {
    FORETOP_SIM_WORLD("MPI_Barrier", comm);
    foretop_sim->barrier();
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    FORETOP_SIM_WORLD("MPI_Bcast", comm);
    foretop_sim->broadcast(data, FORETOP_SIM_BYTES(count, type), root);
    return MPI_SUCCESS;
}
/* A root of -1 stands for all. Others than the root need no room for the result, so it is made in memory of its own. */
FORETOP_SIM foretop_sim_reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root) {
    long bytes = FORETOP_SIM_BYTES(count, type);
    int has_result = root < 0 || root == foretop_sim->rank();
    void *data = has_result ? received : __builtin_malloc((size_t)bytes + 1);
    if (sent != MPI_IN_PLACE) __builtin_memcpy(data, sent, (size_t)bytes);
    foretop_sim->reduce(data, count, type, op, root);
    if (!has_result) __builtin_free(data);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    FORETOP_SIM_WORLD("MPI_Reduce", comm);
    return foretop_sim_reduce(sent, received, count, type, op, root);
}
FORETOP_SIM MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    FORETOP_SIM_WORLD("MPI_Allreduce", comm);
    return foretop_sim_reduce(sent, received, count, type, op, -1);
}
FORETOP_SIM MPI_Allgather(const void *sent, int n_sent, MPI_Datatype sent_type, void *received, int n_received,
                          MPI_Datatype received_type, MPI_Comm comm) {
    long bytes = FORETOP_SIM_BYTES(n_received, received_type);
    (void)n_sent, (void)sent_type;
    FORETOP_SIM_WORLD("MPI_Allgather", comm);
    if (sent != MPI_IN_PLACE) __builtin_memcpy((char *)received + bytes * foretop_sim->rank(), sent, (size_t)bytes);
    foretop_sim->allgather(received, bytes);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Alltoall(const void *sent, int n_sent, MPI_Datatype sent_type, void *received, int n_received,
                         MPI_Datatype received_type, MPI_Comm comm) {
    (void)n_received, (void)received_type;
    FORETOP_SIM_WORLD("MPI_Alltoall", comm);
    foretop_sim->alltoall(sent, received, FORETOP_SIM_BYTES(n_sent, sent_type));
    return MPI_SUCCESS;
}

FORETOP_SIM MPI_Gather(const void *sent, int n_sent, MPI_Datatype sent_type, void *received, int n_received,
                       MPI_Datatype received_type, int root, MPI_Comm comm) {
    long bytes = FORETOP_SIM_BYTES(n_received, received_type);
    FORETOP_SIM_WORLD("MPI_Gather", comm);
    if (sent == MPI_IN_PLACE) {
        sent = (char *)received + bytes * root;
    } else {
        bytes = FORETOP_SIM_BYTES(n_sent, sent_type);
    }
    foretop_sim->gather(sent, bytes, received, root);
    return MPI_SUCCESS;
}
/* The root's own block stays where it is when it says so. */
FORETOP_SIM MPI_Scatter(const void *sent, int n_sent, MPI_Datatype sent_type, void *received, int n_received,
                        MPI_Datatype received_type, int root, MPI_Comm comm) {
    long bytes = root == foretop_sim->rank() ? FORETOP_SIM_BYTES(n_sent, sent_type) : FORETOP_SIM_BYTES(n_received, received_type);
    FORETOP_SIM_WORLD("MPI_Scatter", comm);
    foretop_sim->scatter(sent, bytes, received == MPI_IN_PLACE ? (char *)sent + bytes * root : received, root);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Scan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    FORETOP_SIM_WORLD("MPI_Scan", comm);
    if (sent != MPI_IN_PLACE) __builtin_memcpy(received, sent, (size_t)FORETOP_SIM_BYTES(count, type));
    foretop_sim->scan(received, count, type, op, 1);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Exscan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    FORETOP_SIM_WORLD("MPI_Exscan", comm);
    if (sent != MPI_IN_PLACE) __builtin_memcpy(received, sent, (size_t)FORETOP_SIM_BYTES(count, type));
    foretop_sim->scan(received, count, type, op, 0);
    return MPI_SUCCESS;
}
FORETOP_SIM MPI_Reduce_scatter_block(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    size_t bytes = (size_t)FORETOP_SIM_BYTES(count, type) * (size_t)foretop_sim->n_ranks();
    void *data = __builtin_malloc(bytes + 1);
    FORETOP_SIM_WORLD("MPI_Reduce_scatter_block", comm);
    __builtin_memcpy(data, sent == MPI_IN_PLACE ? received : sent, bytes);
    foretop_sim->reduce_scatter(data, received, count, type, op);
    __builtin_free(data);
    return MPI_SUCCESS;
}
/* Counts or displacements of all ranks in bytes; of none, one entry: all that a single part needs. */
static inline __attribute__((unused)) long *foretop_sim_bytes(const int *counts, int single, MPI_Datatype type) {
    int n = counts == NULL ? 1 : foretop_sim->n_ranks();
    long *bytes = (long *)__builtin_malloc((size_t)n * sizeof *bytes);
    for (int i = 0; i < n; i++) bytes[i] = FORETOP_SIM_BYTES(counts == NULL ? single : counts[i], type);
    return bytes;
}
FORETOP_SIM foretop_sim_exchange(enum foretop_sim_exchange what, struct foretop_sim_parts sent, struct foretop_sim_parts received, int root) {
    foretop_sim->exchange(what, &sent, &received, root);
    __builtin_free(sent.lengths), __builtin_free(sent.offsets), __builtin_free(received.lengths), __builtin_free(received.offsets);
    return MPI_SUCCESS;
}
#define FORETOP_SIM_PARTS(data, counts, single, offsets, type) \
    (struct foretop_sim_parts) { \
        (void *)(data), foretop_sim_bytes(counts, single, type), foretop_sim_bytes(offsets, 0, type) \
    }
/* Counts and displacements that only the root has are looked at by the root only. */
FORETOP_SIM MPI_Gatherv(const void *sent, int n_sent, MPI_Datatype sent_type, void *received, const int *n_received,
                        const int *offsets, MPI_Datatype received_type, int root, MPI_Comm comm) {
    int is_root = root == foretop_sim->rank();
    FORETOP_SIM_WORLD("MPI_Gatherv", comm);
    if (sent == MPI_IN_PLACE) {
        sent = (char *)received + FORETOP_SIM_BYTES(offsets[root], received_type);
        n_sent = n_received[root], sent_type = received_type;
    }
    return foretop_sim_exchange(FORETOP_SIM_GATHER, FORETOP_SIM_PARTS(sent, NULL, n_sent, NULL, sent_type),
                                FORETOP_SIM_PARTS(received, is_root ? n_received : NULL, 0, is_root ? offsets : NULL, received_type), root);
}
FORETOP_SIM MPI_Scatterv(const void *sent, const int *n_sent, const int *offsets, MPI_Datatype sent_type, void *received,
                         int n_received, MPI_Datatype received_type, int root, MPI_Comm comm) {
    int is_root = root == foretop_sim->rank();
    FORETOP_SIM_WORLD("MPI_Scatterv", comm);
    if (received == MPI_IN_PLACE) {
        received = (char *)sent + FORETOP_SIM_BYTES(offsets[root], sent_type);
        n_received = n_sent[root], received_type = sent_type;
    }
    return foretop_sim_exchange(FORETOP_SIM_SCATTER, FORETOP_SIM_PARTS(sent, is_root ? n_sent : NULL, 0, is_root ? offsets : NULL, sent_type),
                                FORETOP_SIM_PARTS(received, NULL, n_received, NULL, received_type), root);
}
FORETOP_SIM MPI_Allgatherv(const void *sent, int n_sent, MPI_Datatype sent_type, void *received, const int *n_received,
                           const int *offsets, MPI_Datatype received_type, MPI_Comm comm) {
    int me = foretop_sim->rank();
    FORETOP_SIM_WORLD("MPI_Allgatherv", comm);
    if (sent == MPI_IN_PLACE) {
        sent = (char *)received + FORETOP_SIM_BYTES(offsets[me], received_type);
        n_sent = n_received[me], sent_type = received_type;
    }
    return foretop_sim_exchange(FORETOP_SIM_ALLGATHER, FORETOP_SIM_PARTS(sent, NULL, n_sent, NULL, sent_type),
                                FORETOP_SIM_PARTS(received, n_received, 0, offsets, received_type), 0);
}
FORETOP_SIM MPI_Alltoallv(const void *sent, const int *n_sent, const int *sent_offsets, MPI_Datatype sent_type, void *received,
                          const int *n_received, const int *offsets, MPI_Datatype received_type, MPI_Comm comm) {
    FORETOP_SIM_WORLD("MPI_Alltoallv", comm);
    return foretop_sim_exchange(FORETOP_SIM_ALLTOALL, FORETOP_SIM_PARTS(sent, n_sent, 0, sent_offsets, sent_type),
                                FORETOP_SIM_PARTS(received, n_received, 0, offsets, received_type), 0);
}

#endif
