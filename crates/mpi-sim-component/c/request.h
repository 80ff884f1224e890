/* Requests of the point-to-point layer, and waiting for any request without turning the processor. */
#ifndef FORETOP_REQUEST_H
#define FORETOP_REQUEST_H

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"

#include "engine.h"

/* A send or a receive, started or not. */
typedef struct request {
    ompi_request_t ompi;
    struct request *previous, *next; /* Among those that are under way. */
    foretop_handle handle;
    bool is_send, is_background, is_given_up;
    enum foretop_mode mode;
    void *address;
    size_t count;
    ompi_datatype_t *datatype;
    ompi_communicator_t *comm;
    int peer, tag;
    /* The part of the attached buffer that a buffered send takes until its message is on the way. */
    void *buffer;
} request_t;

/* What a receive leaves: unpacked data, and a status in the communicator's ranks. */
int foretop_deliver(const struct foretop_message *message, void *address, size_t count, ompi_datatype_t *datatype,
                    ompi_communicator_t *comm, ompi_status_public_t *status);

/* Puts a request among those under way: its `handle` is known. */
void foretop_under_way(request_t *request);
/* Takes the result of a request whose operation is complete, and tells who waits for it. */
void foretop_finish(request_t *request);
void foretop_forget(request_t *request);
/* Returns when all are complete, or one is. Inactive requests count as complete. */
void foretop_settle(ompi_request_t **requests, size_t n_requests, bool all);
/* Whether requests are under way that others than the program wait for, so that each wait must see to them. */
bool foretop_has_background(void);
/* Gives back the buffers of buffered sends whose messages are on the way by now, at the price of a poll. */
void foretop_reclaim_buffers(void);
/* Finds what is complete by now, of these and of the background, at the price of a poll. */
void foretop_poll(ompi_request_t **requests, size_t n_requests);
void foretop_requests_open(void);
void foretop_requests_close(void);

#endif
