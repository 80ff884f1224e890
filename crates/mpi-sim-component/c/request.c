/*
 * Waiting for requests: the rank asks the simulation for the next completion instead of calling `opal_progress` until one is there.
 *
 * Some of Open MPI's own code (non-blocking collectives, one-sided communication, new communicators) starts requests and sees to
 * them in callbacks of `opal_progress`. Those requests are the background: as long as there are any, each wait ends at the next
 * completion of whatever is under way, and the callbacks run. Open MPI's loops around `opal_progress` end up here too, because
 * the preloaded library has a function of that name.
 */
#include "request.h"

#include <stdlib.h>

#include "ompi/mca/coll/base/coll_tags.h"
#include "ompi/mca/pml/base/pml_base_bsend.h"
#include "opal/runtime/opal_progress.h"

/* Loops around `opal_progress` may take some calls of it for steps that need no message. From then on they wait for a message. */
#define IDLE_CALLS_MAX 16

static request_t *under_way;
static size_t n_under_way, n_background, n_finished, n_idle_calls;
static bool is_polling;

/* The buffer of handles for a wait, and the requests they belong to. */
static struct waited {
    foretop_handle *handles;
    request_t **requests;
    size_t n, n_max;
} waited;

/* Callbacks of what is finished may wait themselves, in a buffer of their own. */
static struct waited take_waited(void) {
    struct waited taken = waited;
    waited = (struct waited){NULL, NULL, 0, 0};
    return taken;
}

static void give_back(struct waited taken) {
    free(waited.handles);
    free(waited.requests);
    waited = taken;
}

static void wait_also_for(request_t *request) {
    if (waited.n == waited.n_max) {
        waited.n_max = waited.n_max ? 2 * waited.n_max : 64;
        waited.handles = realloc(waited.handles, waited.n_max * sizeof *waited.handles);
        waited.requests = realloc(waited.requests, waited.n_max * sizeof *waited.requests);
        if (waited.handles == NULL || waited.requests == NULL) abort();
    }
    waited.handles[waited.n] = request->handle;
    waited.requests[waited.n++] = request;
}

bool foretop_has_background(void) { return n_background > 0; }

void foretop_under_way(request_t *request) {
    request->is_background = request->tag <= MCA_COLL_BASE_TAG_NONBLOCKING_BASE || request->ompi.req_complete_cb != NULL;
    n_background += request->is_background;
    n_under_way++;
    request->previous = NULL;
    request->next = under_way;
    if (under_way != NULL) under_way->previous = request;
    under_way = request;
}

void foretop_forget(request_t *request) {
    n_background -= request->is_background;
    n_under_way--;
    n_finished++;
    if (request->next != NULL) request->next->previous = request->previous;
    *(request->previous != NULL ? &request->previous->next : &under_way) = request->next;
}

void foretop_finish(request_t *request) {
    struct foretop_message message;
    foretop_take(request->handle, &message);
    foretop_forget(request);
    ompi_status_public_t *status = &request->ompi.req_status;
    if (request->is_send) {
        status->_ucount = message.length;
    } else {
        status->MPI_ERROR = foretop_deliver(&message, request->address, request->count, request->datatype, request->comm, status);
    }
    if (request->buffer != NULL) mca_pml_base_bsend_request_free(request->buffer);
    ompi_request_complete(&request->ompi, true);
    if (request->is_given_up) {
        ompi_request_t *freed = &request->ompi;
        freed->req_free(&freed);
    }
}

/* All completions but those that a poll finds come from here, one at a time. */
static void wait_for_next(void) {
    waited.n = 0;
    for (request_t *request = under_way; request != NULL; request = request->next) wait_also_for(request);
    if (waited.n == 0) {
        foretop_polled();
    } else {
        foretop_finish(waited.requests[foretop_wait_any(waited.handles, waited.n)]);
    }
}

/* Open MPI's loops call this one instead of `opal_progress`. */
static void progress_or_wait(void) {
    size_t before = n_finished;
    foretop_progress();
    if (is_polling || n_finished != before) {
        n_idle_calls = 0;
    } else if (++n_idle_calls > IDLE_CALLS_MAX) {
        wait_for_next();
        n_idle_calls = 0;
    }
}

void foretop_settle(ompi_request_t **requests, size_t n_requests, bool all) {
    for (size_t n_idle = 0;;) {
        size_t before = n_finished;
        if (n_background > 0) foretop_progress();
        bool has_other = n_background > 0, is_one_complete = false;
        size_t n_open = 0;
        waited.n = 0;
        for (size_t i = 0; i < n_requests; i++) {
            ompi_request_t *request = requests[i];
            if (request->req_state == OMPI_REQUEST_INACTIVE) continue;
            if (REQUEST_COMPLETE(request)) {
                is_one_complete = true;
            } else {
                n_open++;
                if (request->req_type == OMPI_REQUEST_PML) {
                    wait_also_for((request_t *)request);
                } else {
                    has_other = true;
                }
            }
        }
        if (n_open == 0 || (!all && is_one_complete)) return;
        if (has_other) {
            if (n_background == 0) foretop_progress();
            n_idle = n_finished == before ? n_idle + 1 : 0;
            if (n_idle > IDLE_CALLS_MAX) wait_for_next();
        } else if (all) {
            foretop_wait_all(waited.handles, waited.n);
            struct waited complete = take_waited();
            for (size_t i = 0; i < complete.n; i++) foretop_finish(complete.requests[i]);
            give_back(complete);
        } else {
            foretop_finish(waited.requests[foretop_wait_any(waited.handles, waited.n)]);
        }
    }
}

/* Finishes those of the gathered requests that are complete by now. */
static void finish_complete(void) {
    struct waited asked = take_waited();
    bool *is_complete = calloc(asked.n + 1, sizeof *is_complete);
    if (is_complete == NULL) abort();
    foretop_test(asked.handles, asked.n, is_complete);
    for (size_t i = 0; i < asked.n; i++) {
        if (is_complete[i]) foretop_finish(asked.requests[i]);
    }
    free(is_complete);
    give_back(asked);
}

void foretop_reclaim_buffers(void) {
    waited.n = 0;
    for (request_t *request = under_way; request != NULL; request = request->next) {
        if (request->buffer != NULL) wait_also_for(request);
    }
    if (waited.n > 0) finish_complete();
}

/* What polls finds what is complete by now, and never waits. */
void foretop_poll(ompi_request_t **requests, size_t n_requests) {
    waited.n = 0;
    for (size_t i = 0; i < n_requests; i++) {
        ompi_request_t *request = requests[i];
        bool is_open = request->req_state != OMPI_REQUEST_INACTIVE && !REQUEST_COMPLETE(request);
        if (is_open && request->req_type == OMPI_REQUEST_PML) wait_also_for((request_t *)request);
    }
    for (request_t *request = n_background > 0 ? under_way : NULL; request != NULL; request = request->next) {
        if (request->is_background) wait_also_for(request);
    }
    finish_complete();
    bool was_polling = is_polling;
    is_polling = true;
    foretop_progress();
    is_polling = was_polling;
}

/* Open MPI's own functions ask for progress once more when nothing is there. */
static void begin_poll(ompi_request_t **requests, size_t n_requests) {
    foretop_poll(requests, n_requests);
    is_polling = true;
}

static ompi_request_fns_t plain;

static int test(ompi_request_t **request, int *flag, ompi_status_public_t *status) {
    begin_poll(request, 1);
    int result = plain.req_test(request, flag, status);
    is_polling = false;
    return result;
}
static int test_any(size_t n, ompi_request_t **requests, int *index, int *flag, ompi_status_public_t *status) {
    begin_poll(requests, n);
    int result = plain.req_test_any(n, requests, index, flag, status);
    is_polling = false;
    return result;
}
static int test_all(size_t n, ompi_request_t **requests, int *flag, ompi_status_public_t *statuses) {
    begin_poll(requests, n);
    int result = plain.req_test_all(n, requests, flag, statuses);
    is_polling = false;
    return result;
}
static int test_some(size_t n, ompi_request_t **requests, int *n_done, int *indices, ompi_status_public_t *statuses) {
    begin_poll(requests, n);
    int result = plain.req_test_some(n, requests, n_done, indices, statuses);
    is_polling = false;
    return result;
}
static int wait_one(ompi_request_t **request, ompi_status_public_t *status) {
    foretop_settle(request, 1, true);
    return plain.req_wait(request, status);
}
static int wait_any(size_t n, ompi_request_t **requests, int *index, ompi_status_public_t *status) {
    foretop_settle(requests, n, false);
    return plain.req_wait_any(n, requests, index, status);
}
static int wait_all(size_t n, ompi_request_t **requests, ompi_status_public_t *statuses) {
    foretop_settle(requests, n, true);
    /* Where one has failed, Open MPI waits for a signal that only threads would give. All are complete. */
    bool had_threads = opal_using_threads();
    opal_set_using_threads(false);
    int result = plain.req_wait_all(n, requests, statuses);
    opal_set_using_threads(had_threads);
    return result;
}
static int wait_some(size_t n, ompi_request_t **requests, int *n_done, int *indices, ompi_status_public_t *statuses) {
    foretop_settle(requests, n, false);
    return plain.req_wait_some(n, requests, n_done, indices, statuses);
}

void foretop_requests_open(void) {
    plain = ompi_request_functions;
    ompi_request_functions =
        (ompi_request_fns_t){test, test_any, test_all, test_some, wait_one, wait_any, wait_all, wait_some};
    foretop_progress_by(progress_or_wait);
}

void foretop_requests_close(void) {
    foretop_progress_by(foretop_progress);
    ompi_request_functions = plain;
}
