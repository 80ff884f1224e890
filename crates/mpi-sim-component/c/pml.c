/*
 * The point-to-point layer `pml/foretop`: messages of an unmodified program go to the simulation.
 *
 * Data is packed when a send starts and unpacked when a receive completes, with Open MPI's own convertors, so that every datatype
 * works. A message's context is its communicator and whether it belongs to a collective operation: those have negative tags,
 * which a wildcard does not match.
 */
#include "communicator.h"
#include "request.h"

#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/base/pml_base_bsend.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/message/message.h"
#include "opal/datatype/opal_convertor.h"

static OBJ_CLASS_INSTANCE(request_t, ompi_request_t, NULL, NULL);

static int64_t source(const ompi_communicator_t *comm, int rank) {
    return rank == OMPI_ANY_SOURCE ? FORETOP_ANY_SOURCE : (int64_t)foretop_world_rank(comm, rank);
}

static int64_t wanted(int tag) { return tag == OMPI_ANY_TAG ? FORETOP_ANY_TAG : tag; }

static void fill(void *from, void *bytes, size_t length) {
    struct iovec piece = {bytes, length};
    uint32_t n_pieces = 1;
    opal_convertor_pack(from, &piece, &n_pieces, &length);
}

static foretop_handle start_send(const void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag,
                           enum foretop_mode mode, ompi_communicator_t *comm) {
    opal_convertor_t convertor;
    size_t length = 0;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    if (count > 0) {
        opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &datatype->super, count, address, 0, &convertor);
        opal_convertor_get_packed_size(&convertor, &length);
    }
    foretop_handle handle =
        foretop_send(foretop_world_rank(comm, peer), foretop_context(comm, tag), tag, mode, length, fill, &convertor);
    OBJ_DESTRUCT(&convertor);
    return handle;
}

static void fill_status(const struct foretop_message *message, ompi_communicator_t *comm, ompi_status_public_t *status) {
    status->MPI_SOURCE = foretop_rank_in(comm, message->source);
    status->MPI_TAG = message->tag;
    status->_ucount = message->length;
    status->_cancelled = 0;
}

int foretop_deliver(const struct foretop_message *message, void *address, size_t count, ompi_datatype_t *datatype,
                    ompi_communicator_t *comm, ompi_status_public_t *status) {
    size_t room = 0, length = message->length;
    if (count > 0) {
        opal_convertor_t convertor;
        OBJ_CONSTRUCT(&convertor, opal_convertor_t);
        opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &datatype->super, count, address, 0, &convertor);
        opal_convertor_get_packed_size(&convertor, &room);
        if (length > room) length = room;
        struct iovec piece = {(void *)message->bytes, length};
        uint32_t n_pieces = 1;
        if (length > 0) opal_convertor_unpack(&convertor, &piece, &n_pieces, &length);
        OBJ_DESTRUCT(&convertor);
    }
    fill_status(message, comm, status);
    if (message->length <= room) return OMPI_SUCCESS;
    status->_ucount = room;
    return MPI_ERR_TRUNCATE;
}

static request_t *new_request(void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag,
                              ompi_communicator_t *comm, bool is_persistent);

static size_t datatype_bytes(uintptr_t handle, bool is_fortran) {
    size_t bytes = 0;
    ompi_datatype_t *datatype = (ompi_datatype_t *)handle;
    if (is_fortran) datatype = opal_pointer_array_get_item(&ompi_datatype_f_to_c_table, (int)handle);
    if (datatype != NULL) ompi_datatype_type_size(datatype, &bytes);
    return bytes;
}

/* A buffered send is over at once. What is on the way is a standard one, which takes a part of the attached buffer until then. */
static int send_buffered(const void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag,
                         ompi_communicator_t *comm) {
    size_t length = count * datatype_bytes((uintptr_t)datatype, false);
    void *buffer = length > 0 ? mca_pml_base_bsend_request_alloc_buf(length) : NULL;
    if (length > 0 && buffer == NULL) {
        foretop_reclaim_buffers();
        buffer = mca_pml_base_bsend_request_alloc_buf(length);
        if (buffer == NULL) return MPI_ERR_BUFFER;
    }
    request_t *send = new_request((void *)address, count, datatype, peer, tag, comm, false);
    send->is_send = send->is_given_up = true;
    send->buffer = buffer;
    send->ompi.req_complete = REQUEST_PENDING;
    send->ompi.req_state = OMPI_REQUEST_ACTIVE;
    send->handle = start_send(address, count, datatype, peer, tag, FORETOP_STANDARD, comm);
    foretop_under_way(send);
    return OMPI_SUCCESS;
}

static int start(size_t n_requests, ompi_request_t **requests) {
    for (size_t i = 0; i < n_requests; i++) {
        request_t *request = (request_t *)requests[i];
        if (request->ompi.req_type != OMPI_REQUEST_PML) continue;
        request->ompi.req_complete = REQUEST_PENDING;
        request->ompi.req_state = OMPI_REQUEST_ACTIVE;
        request->ompi.req_status = (ompi_status_public_t){.MPI_SOURCE = OMPI_ANY_SOURCE, .MPI_TAG = OMPI_ANY_TAG};
        if (request->is_send && request->mode == FORETOP_BUFFERED) {
            int result = send_buffered(request->address, request->count, request->datatype, request->peer, request->tag,
                                       request->comm);
            request->ompi.req_status.MPI_ERROR = result;
            ompi_request_complete(&request->ompi, false);
            if (result != OMPI_SUCCESS) return result;
            continue;
        }
        if (request->is_send) {
            request->handle = start_send(request->address, request->count, request->datatype, request->peer, request->tag,
                                         request->mode, request->comm);
        } else {
            request->handle = foretop_receive(source(request->comm, request->peer), foretop_context(request->comm, request->tag),
                                              wanted(request->tag));
        }
        foretop_under_way(request);
    }
    return OMPI_SUCCESS;
}

static int free_request(ompi_request_t **pointer) {
    request_t *request = (request_t *)*pointer;
    *pointer = MPI_REQUEST_NULL;
    if (!REQUEST_COMPLETE(&request->ompi) && request->ompi.req_state == OMPI_REQUEST_ACTIVE) {
        request->is_given_up = true;
        return OMPI_SUCCESS;
    }
    OMPI_REQUEST_FINI(&request->ompi);
    OMPI_DATATYPE_RELEASE(request->datatype);
    OBJ_RELEASE(request->comm);
    OBJ_RELEASE(request);
    return OMPI_SUCCESS;
}

static int cancel(ompi_request_t *ompi, int flag) {
    (void)flag;
    request_t *request = (request_t *)ompi;
    if (REQUEST_COMPLETE(ompi) || request->is_send || !foretop_cancel(request->handle)) return OMPI_SUCCESS;
    struct foretop_message unused;
    foretop_take(request->handle, &unused);
    foretop_forget(request);
    ompi->req_status._cancelled = true;
    return ompi_request_complete(ompi, true);
}

static request_t *new_request(void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag,
                              ompi_communicator_t *comm, bool is_persistent) {
    request_t *request = OBJ_NEW(request_t);
    OMPI_REQUEST_INIT(&request->ompi, is_persistent);
    request->ompi.req_type = OMPI_REQUEST_PML;
    request->ompi.req_mpi_object.comm = comm;
    request->ompi.req_start = start;
    request->ompi.req_free = free_request;
    request->ompi.req_cancel = cancel;
    request->ompi.req_status = ompi_status_empty;
    request->is_given_up = request->is_send = false;
    request->buffer = NULL;
    request->address = address;
    request->count = count;
    request->datatype = datatype;
    request->comm = comm;
    request->peer = peer;
    request->tag = tag;
    OBJ_RETAIN(comm);
    OMPI_DATATYPE_RETAIN(datatype);
    return request;
}

static int irecv_init(void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag, ompi_communicator_t *comm,
                      ompi_request_t **request) {
    *request = &new_request(address, count, datatype, peer, tag, comm, true)->ompi;
    return OMPI_SUCCESS;
}

static int irecv(void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag, ompi_communicator_t *comm,
                 ompi_request_t **request) {
    *request = &new_request(address, count, datatype, peer, tag, comm, false)->ompi;
    return start(1, request);
}

/* Waits for a request that nobody else knows. */
static int complete(ompi_request_t *request, ompi_status_public_t *status) {
    foretop_settle(&request, 1, true);
    int result = request->req_status.MPI_ERROR;
    if (status != MPI_STATUS_IGNORE) OMPI_COPY_STATUS(status, request->req_status, false);
    ompi_request_free(&request);
    return result;
}

/* Ends a receive that has its handle. */
static int receive_now(foretop_handle handle, void *address, size_t count, ompi_datatype_t *datatype, ompi_communicator_t *comm,
                       ompi_status_public_t *status) {
    struct foretop_message message;
    ompi_status_public_t unused;
    foretop_wait_any(&handle, 1);
    foretop_take(handle, &message);
    return foretop_deliver(&message, address, count, datatype, comm, status == MPI_STATUS_IGNORE ? &unused : status);
}

static int receive(void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag, ompi_communicator_t *comm,
                ompi_status_public_t *status) {
    if (!foretop_has_background()) {
        foretop_handle handle = foretop_receive(source(comm, peer), foretop_context(comm, tag), wanted(tag));
        return receive_now(handle, address, count, datatype, comm, status);
    }
    ompi_request_t *request;
    irecv(address, count, datatype, peer, tag, comm, &request);
    return complete(request, status);
}

static enum foretop_mode mode_of(mca_pml_base_send_mode_t mode) {
    switch (mode) {
        case MCA_PML_BASE_SEND_SYNCHRONOUS: return FORETOP_SYNCHRONOUS;
        case MCA_PML_BASE_SEND_BUFFERED: return FORETOP_BUFFERED;
        case MCA_PML_BASE_SEND_READY: return FORETOP_READY;
        default: return FORETOP_STANDARD;
    }
}

static int isend_init(const void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag,
                      mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request) {
    request_t *send = new_request((void *)address, count, datatype, peer, tag, comm, true);
    send->is_send = true;
    send->mode = mode_of(mode);
    *request = &send->ompi;
    return OMPI_SUCCESS;
}

static int isend(const void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag,
                 mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request) {
    isend_init(address, count, datatype, peer, tag, mode, comm, request);
    (*request)->req_persistent = false;
    return start(1, request);
}

static int send_now(const void *address, size_t count, ompi_datatype_t *datatype, int peer, int tag,
                mca_pml_base_send_mode_t mode, ompi_communicator_t *comm) {
    if (mode == MCA_PML_BASE_SEND_BUFFERED) return send_buffered(address, count, datatype, peer, tag, comm);
    if (!foretop_has_background()) {
        struct foretop_message unused;
        foretop_handle handle = start_send(address, count, datatype, peer, tag, mode_of(mode), comm);
        foretop_wait_any(&handle, 1);
        foretop_take(handle, &unused);
        return OMPI_SUCCESS;
    }
    ompi_request_t *request;
    isend(address, count, datatype, peer, tag, mode, comm, &request);
    return complete(request, MPI_STATUS_IGNORE);
}

static bool probe_for(int peer, int tag, ompi_communicator_t *comm, bool waits, bool takes, ompi_message_t **taken,
                      ompi_status_public_t *status) {
    struct foretop_message message;
    while (!foretop_probe(source(comm, peer), foretop_context(comm, tag), wanted(tag), waits && !foretop_has_background(), takes,
                          &message)) {
        if (foretop_has_background()) foretop_poll(NULL, 0);
        if (!waits) return false;
    }
    if (status != MPI_STATUS_IGNORE) fill_status(&message, comm, status);
    if (takes) {
        *taken = ompi_message_alloc();
        (*taken)->comm = comm;
        (*taken)->req_ptr = (void *)message.id;
        (*taken)->peer = foretop_rank_in(comm, message.source);
        (*taken)->count = message.length;
    }
    return true;
}

static int iprobe(int peer, int tag, ompi_communicator_t *comm, int *matched, ompi_status_public_t *status) {
    *matched = probe_for(peer, tag, comm, false, false, NULL, status);
    return OMPI_SUCCESS;
}

static int probe(int peer, int tag, ompi_communicator_t *comm, ompi_status_public_t *status) {
    probe_for(peer, tag, comm, true, false, NULL, status);
    return OMPI_SUCCESS;
}

static int improbe(int peer, int tag, ompi_communicator_t *comm, int *matched, ompi_message_t **message,
                   ompi_status_public_t *status) {
    *matched = probe_for(peer, tag, comm, false, true, message, status);
    return OMPI_SUCCESS;
}

static int mprobe(int peer, int tag, ompi_communicator_t *comm, ompi_message_t **message, ompi_status_public_t *status) {
    probe_for(peer, tag, comm, true, true, message, status);
    return OMPI_SUCCESS;
}

/* Gives the message up for a receive. */
static foretop_handle matched(ompi_message_t **message, ompi_communicator_t **comm) {
    *comm = (*message)->comm;
    foretop_handle handle = foretop_receive_matched((uint64_t)(*message)->req_ptr);
    ompi_message_return(*message);
    *message = MPI_MESSAGE_NULL;
    return handle;
}

static int imrecv(void *address, size_t count, ompi_datatype_t *datatype, ompi_message_t **message, ompi_request_t **request) {
    ompi_communicator_t *comm;
    foretop_handle handle = matched(message, &comm);
    request_t *receive = new_request(address, count, datatype, OMPI_ANY_SOURCE, OMPI_ANY_TAG, comm, false);
    receive->handle = handle;
    receive->ompi.req_complete = REQUEST_PENDING;
    receive->ompi.req_state = OMPI_REQUEST_ACTIVE;
    foretop_under_way(receive);
    *request = &receive->ompi;
    return OMPI_SUCCESS;
}

static int mrecv(void *address, size_t count, ompi_datatype_t *datatype, ompi_message_t **message, ompi_status_public_t *status) {
    ompi_communicator_t *comm;
    foretop_handle handle = matched(message, &comm);
    return receive_now(handle, address, count, datatype, comm, status);
}

static int processes(ompi_proc_t **list, size_t n) {
    (void)list, (void)n;
    return OMPI_SUCCESS;
}
static int progress(void) { return 0; }
static int enable(bool is_enabled) {
    (void)is_enabled;
    return OMPI_SUCCESS;
}
static int dump(ompi_communicator_t *comm, int verbose) {
    (void)comm, (void)verbose;
    return OMPI_SUCCESS;
}

static mca_pml_base_module_t module = {
    .pml_add_procs = processes,
    .pml_del_procs = processes,
    .pml_enable = enable,
    .pml_progress = progress,
    .pml_add_comm = foretop_add_comm,
    .pml_del_comm = foretop_del_comm,
    .pml_irecv_init = irecv_init,
    .pml_irecv = irecv,
    .pml_recv = receive,
    .pml_isend_init = isend_init,
    .pml_isend = isend,
    .pml_send = send_now,
    .pml_iprobe = iprobe,
    .pml_probe = probe,
    .pml_start = start,
    .pml_improbe = improbe,
    .pml_mprobe = mprobe,
    .pml_imrecv = imrecv,
    .pml_mrecv = mrecv,
    .pml_dump = dump,
    .pml_max_contextid = UINT32_MAX / 2,
    .pml_max_tag = INT32_MAX,
};

static const struct foretop_front front = {
    .find_comm = foretop_find_comm,
    .datatype_bytes = datatype_bytes,
    .become_rank = foretop_become_rank,
    .begin_mpi = foretop_begin_mpi,
    .meet_neighbours = foretop_meet_neighbours,
};

static mca_pml_base_module_t *init(int *priority, bool has_progress_threads, bool has_threads) {
    (void)has_progress_threads, (void)has_threads;
    *priority = 1000;
    foretop_requests_open();
    foretop_front_is(&front);
    return &module;
}

static int finalize(void) {
    foretop_reclaim_buffers();
    foretop_requests_close();
    foretop_finalized();
    return OMPI_SUCCESS;
}

mca_pml_base_component_2_0_0_t mca_pml_foretop_component = {
    .pmlm_version =
        {
            MCA_PML_BASE_VERSION_2_0_0,
            .mca_component_name = "foretop",
            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
        },
    .pmlm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .pmlm_init = init,
    .pmlm_finalize = finalize,
};
