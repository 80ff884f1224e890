/* What MPI libraries have in layouts and numbers of their own, checked by each rank: callbacks, errors, constants, handles. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(truth) \
    if (!(truth)) { \
        fprintf(stderr, "line %d: %s is not so\n", __LINE__, #truth); \
        MPI_Abort(MPI_COMM_WORLD, 1); \
    }

static int rank, n, left, right, n_copied, n_deleted, n_errors, n_freed;

/* Takes the smaller of pairs, and knows the type that it was made for. */
static MPI_Datatype pair;
static void least(void *in, void *inout, int *length, MPI_Datatype *type) {
    CHECK(*type == pair);
    for (int i = 0; i < 2 * *length; i++)
        if (((int *)in)[i] < ((int *)inout)[i]) ((int *)inout)[i] = ((int *)in)[i];
}

static void operations(void) {
    MPI_Op op;
    int in[2] = {rank + 5, -rank}, out[2], commutes;
    MPI_Request request;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(least, 1, &op);
    MPI_Op_commutative(op, &commutes);
    MPI_Allreduce(in, out, 1, pair, op, MPI_COMM_WORLD);
    CHECK(commutes == 1 && out[0] == 5 && out[1] == 1 - n);
    memcpy(out, in, sizeof out);
    MPI_Allreduce(MPI_IN_PLACE, out, 1, pair, op, MPI_COMM_WORLD);
    CHECK(out[0] == 5 && out[1] == 1 - n);
    MPI_Iallreduce(in, out, 1, pair, op, MPI_COMM_WORLD, &request);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL && out[0] == 5);
    struct { double value; int at; } own = {rank % 2, rank}, most;
    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(most.value == 1 && most.at == 1);
    MPI_Type_free(&pair);
    CHECK(pair == MPI_DATATYPE_NULL);
}

static int state;
static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    int size;
    MPI_Comm_size(comm, &size);
    CHECK(size == n && keyval != MPI_KEYVAL_INVALID && extra == &state);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    n_copied++;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int keyval, void *value, void *extra) {
    CHECK(comm != MPI_COMM_NULL && extra == &state && value != NULL);
    (void)keyval;
    n_deleted++;
    return MPI_SUCCESS;
}

static void attributes(void) {
    MPI_Comm twin;
    int keyval, copied, plain, flag, *number;
    char place, *value;
    MPI_Comm_create_keyval(copy, drop, &keyval, &state);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &copied, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &place);
    MPI_Comm_set_attr(MPI_COMM_WORLD, copied, &place);
    MPI_Comm_set_attr(MPI_COMM_WORLD, plain, &place);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_get_attr(twin, keyval, &value, &flag);
    CHECK(flag && value == &place + 1 && n_copied == 1);
    MPI_Comm_get_attr(twin, copied, &value, &flag);
    CHECK(flag && value == &place);
    MPI_Comm_get_attr(twin, plain, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&twin);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, copied);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, plain);
    CHECK(n_deleted == 2 && twin == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&keyval);
    CHECK(keyval == MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
    CHECK(flag && *number >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &number, &flag);
    CHECK(flag && *number >= MPI_ERR_LASTCODE);
}

static void note_error(MPI_Comm *comm, int *code, ...) {
    int class;
    MPI_Error_class(*code, &class);
    CHECK(*comm == MPI_COMM_WORLD && class == MPI_ERR_RANK);
    n_errors++;
}

static void errors(void) {
    MPI_Errhandler handler, before;
    int class, code, found, length, in = 1;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    CHECK(before == MPI_ERRORS_ARE_FATAL);
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    code = MPI_Send(&in, 1, MPI_INT, n + 7, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK(n_errors == 1 && class == MPI_ERR_RANK);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(&in, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_TYPE);
    MPI_Error_class(MPI_Send(&in, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), &class);
    CHECK(class == MPI_ERR_COUNT);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int more[2];
    MPI_Irecv(more, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(more, 2, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Send(more, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS);
    MPI_Error_class(statuses[0].MPI_ERROR, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || statuses[1].MPI_ERROR == MPI_ERR_PENDING);
    if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "of our own");
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    CHECK(class > MPI_ERR_LASTCODE && found == class && strcmp(text, "of our own") == 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
}

static void constants(void) {
    int in = -1, count, source, target, class;
    MPI_Status status;
    MPI_Comm line, graph, split;
    int periodic = 0, sources[1] = {left}, targets[1] = {right};
    MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0 && in == -1);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &line);
    MPI_Cart_shift(line, 0, 1, &source, &target);
    CHECK(source == (rank ? rank - 1 : MPI_PROC_NULL) && target == (rank < n - 1 ? rank + 1 : MPI_PROC_NULL));
    MPI_Topo_test(line, &class);
    CHECK(class == MPI_CART);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &class);
    CHECK(class == MPI_DIST_GRAPH);
    int one = 1;
    MPI_Aint zero = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Neighbor_alltoallw(&rank, &one, &zero, &type, &in, &one, &zero, &type, graph);
    CHECK(in == left);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &split);
    CHECK((split == MPI_COMM_NULL) == (rank == 0));
    if (rank > 0) MPI_Comm_free(&split);
    MPI_Group world, first;
    int zeroth = 0, found;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zeroth, &first);
    MPI_Group_translate_ranks(world, 1, &rank, first, &found);
    CHECK(found == (rank == 0 ? 0 : MPI_UNDEFINED));
    MPI_Group_compare(world, first, &found);
    CHECK(found == MPI_UNEQUAL);
    MPI_Group_free(&first);
    CHECK(first == MPI_GROUP_NULL);
    MPI_Comm_free(&line);
    MPI_Comm_free(&graph);
    MPI_Info info;
    char value[8];
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_get(info, "key", 7, value, &found);
    CHECK(found && strcmp(value, "value") == 0);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
    MPI_Comm_get_name(MPI_COMM_WORLD, (char[MPI_MAX_OBJECT_NAME]){0}, &count);
    CHECK(count == 14);
}

static void datatypes(void) {
    int sizes[2] = {4, 6}, parts[2] = {2, 3}, starts[2] = {1, 2}, integers[8], n_integers, n_addresses, n_types, combiner;
    MPI_Datatype block, of;
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &block);
    MPI_Type_get_envelope(block, &n_integers, &n_addresses, &n_types, &combiner);
    CHECK(combiner == MPI_COMBINER_SUBARRAY && n_integers == 8 && n_types == 1);
    MPI_Type_get_contents(block, n_integers, n_addresses, n_types, integers, NULL, &of);
    CHECK(of == MPI_DOUBLE && integers[7] == MPI_ORDER_FORTRAN && integers[1] == 4);
    MPI_Type_free(&block);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &of);
    MPI_Type_size(of, &n_types);
    CHECK(n_types == 8);
    /* Absolute addresses, of different types. */
    struct { int number; double real; } out = {rank, rank + 0.5}, in;
    MPI_Datatype both[2], types[2] = {MPI_INT, MPI_DOUBLE};
    int lengths[2] = {1, 1};
    MPI_Aint places[2];
    for (int i = 0; i < 2; i++) {
        MPI_Get_address(i ? &in.number : &out.number, &places[0]);
        MPI_Get_address(i ? &in.real : &out.real, &places[1]);
        MPI_Type_create_struct(2, lengths, places, types, &both[i]);
        MPI_Type_commit(&both[i]);
    }
    MPI_Sendrecv(MPI_BOTTOM, 1, both[0], right, 0, MPI_BOTTOM, 1, both[1], left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.number == left && in.real == left + 0.5);
    MPI_Type_free(&both[0]);
    MPI_Type_free(&both[1]);
    /* A type for each rank, while the arrays go. */
    int *counts = malloc(n * sizeof *counts), *at = malloc(n * sizeof *at), *all = malloc(n * sizeof *all), *got = malloc(n * sizeof *got);
    MPI_Datatype *each = malloc(n * sizeof *each);
    for (int i = 0; i < n; i++) counts[i] = 1, at[i] = i * (int)sizeof(int), all[i] = 100 * rank + i, each[i] = MPI_INT, got[i] = -1;
    MPI_Request request;
    MPI_Ialltoallw(all, counts, at, each, got, counts, at, each, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) CHECK(got[i] == 100 * i + rank);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, got, counts, at, each, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) CHECK(got[i] == 100 * rank + i);
    free(counts), free(at), free(all), free(got), free(each);
}

static int query(void *extra, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = 5;
    return MPI_SUCCESS;
}
static int release(void *extra) {
    n_freed += *(int *)extra;
    return MPI_SUCCESS;
}
static int cancel(void *extra, int is_complete) {
    (void)extra, (void)is_complete;
    return MPI_SUCCESS;
}

static void requests(void) {
    int size = 3, count, n_done, places[2], index, flag, in[2];
    MPI_Request request, two[2];
    MPI_Status status, statuses[2];
    MPI_Grequest_start(query, release, cancel, &size, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3 && status.MPI_TAG == 5 && n_freed == 3);
    MPI_Comm twin;
    MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_compare(twin, MPI_COMM_WORLD, &count);
    CHECK(count == MPI_CONGRUENT);
    MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, twin, &two[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 1, twin, &two[1]);
    MPI_Send(&rank, 1, MPI_INT, right, 1, twin);
    MPI_Waitany(2, two, &index, &status);
    CHECK(index == 1 && two[1] == MPI_REQUEST_NULL && status.MPI_SOURCE == left && status.MPI_TAG == 1);
    MPI_Testany(2, two, &index, &flag, &status);
    CHECK(!flag && index == MPI_UNDEFINED);
    MPI_Barrier(twin);
    MPI_Send(&rank, 1, MPI_INT, right, 0, twin);
    MPI_Waitsome(2, two, &n_done, places, statuses);
    CHECK(n_done == 1 && places[0] == 0 && statuses[0].MPI_SOURCE == left && in[0] == left);
    MPI_Waitsome(2, two, &n_done, places, statuses);
    CHECK(n_done == MPI_UNDEFINED);
    /* Room for exactly three messages by the library's own measure. */
    int room = 3 * (MPI_BSEND_OVERHEAD + (int)sizeof(int)), detached;
    char *buffer = malloc(room), *back;
    MPI_Buffer_attach(buffer, room);
    for (int i = 0; i < 3; i++) MPI_Bsend(&i, 1, MPI_INT, right, i, twin);
    for (int i = 0; i < 3; i++) {
        MPI_Recv(&in[0], 1, MPI_INT, left, i, twin, MPI_STATUS_IGNORE);
        CHECK(in[0] == i);
    }
    MPI_Buffer_detach(&back, &detached);
    CHECK(back == buffer && detached == room);
    free(buffer);
    MPI_Message message;
    MPI_Isend(&rank, 1, MPI_INT, right, 9, twin, &request);
    MPI_Mprobe(left, 9, twin, &message, &status);
    MPI_Mrecv(&in[0], 1, MPI_INT, &message, &status);
    CHECK(in[0] == left && message == MPI_MESSAGE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 0, twin, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Comm_free(&twin);
}

static void windows(void) {
    int *cell, old = -1, one = 1, *model, *flavor, flag;
    MPI_Win window;
    /* MPICH 4.0 has the window of rank 0 for all where one is smaller than a page. */
    MPI_Win_allocate(4096, sizeof *cell, MPI_INFO_NULL, MPI_COMM_WORLD, &cell, &window);
    *cell = 100;
    MPI_Win_fence(0, window);
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE));
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
    MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(right, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
    MPI_Fetch_and_op(&one, &old, MPI_INT, right, 0, MPI_SUM, window);
    MPI_Win_unlock(right, window);
    CHECK(old == 101);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    CHECK(*cell == 102);
    MPI_Win_free(&window);
    CHECK(window == MPI_WIN_NULL);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    left = (rank + n - 1) % n;
    right = (rank + 1) % n;
    operations();
    attributes();
    errors();
    constants();
    datatypes();
    requests();
    windows();
    MPI_Finalize();
    printf("all is well\n");
    return 0;
}
