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

#endif
