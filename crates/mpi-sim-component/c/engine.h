/* What the components ask of the simulation. Implemented in Rust, in `src/face.rs`. */
#ifndef FORETOP_ENGINE_H
#define FORETOP_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An operation that began and has not been taken. */
typedef uint32_t foretop_handle;

/* A message that has arrived, or its envelope: then `bytes` is NULL. */
struct foretop_message {
    uint32_t source;
    int32_t tag;
    size_t length;
    const void *bytes;
    uint64_t id;
};

/* The last is not for `foretop_send`: the attached buffer is Open MPI's, and such a message goes out as a standard one. */
enum foretop_mode { FORETOP_STANDARD, FORETOP_SYNCHRONOUS, FORETOP_READY, FORETOP_BUFFERED };

#define FORETOP_ANY_SOURCE (-1)
#define FORETOP_ANY_TAG INT64_MAX

uint32_t foretop_rank(void);
uint32_t foretop_n_ranks(void);
/* The machine's node that a rank is on. */
uint32_t foretop_node(uint32_t rank);
foretop_handle foretop_send(uint32_t to, uint32_t context, int32_t tag, enum foretop_mode mode, size_t length,
                            void (*fill)(void *from, void *bytes, size_t length), void *from);
/* Who may send messages of a context to this rank, and that it is no more. */
void foretop_declare(uint32_t context, const uint32_t *members, size_t n_members);
void foretop_forget_context(uint32_t context);
foretop_handle foretop_receive(int64_t source, uint32_t context, int64_t tag);
foretop_handle foretop_receive_matched(uint64_t id);
/* Whether there is such a message; `message->id` is for `foretop_receive_matched` if it `takes` the message. */
bool foretop_probe(int64_t source, uint32_t context, int64_t tag, bool waits, bool takes, struct foretop_message *message);
bool foretop_cancel(foretop_handle handle);
/* The position of the one that completes first. */
size_t foretop_wait_any(const foretop_handle *handles, size_t n_handles);
void foretop_wait_all(const foretop_handle *handles, size_t n_handles);
/* Writes down which are complete by now. */
void foretop_test(const foretop_handle *handles, size_t n_handles, bool *complete);
/* Ends the operation. The bytes stay until the next call that takes a message. */
void foretop_take(foretop_handle handle, struct foretop_message *message);
/* Somebody polls, and nothing is there. */
void foretop_polled(void);

/* What the preloaded library asks of the components. */
struct foretop_front {
    /* The number of a communicator and its size; false for a handle that is none, and for one that joins two groups. */
    bool (*find_comm)(const void *comm, uint64_t *number, uint32_t *n_members);
    /* The bytes of a datatype's data, by its handle in C or in Fortran. */
    size_t (*datatype_bytes)(uintptr_t datatype, bool is_fortran);
    /* Gives a process that was forked after MPI was set up its own place in it. */
    void (*become_rank)(void);
    /* What is left of `MPI_Init` then. */
    void (*begin_mpi)(int requested, int *provided);
    /* Has a communicator know its processes on this node as such. */
    void (*meet_neighbours)(void *comm);
};
void foretop_front_is(const struct foretop_front *front);

/* Who answers `opal_progress` from now on, and what it does by itself. */
void foretop_progress_by(void (*progress)(void));
void foretop_progress(void);

/* The rank ends itself with this exit status. */
_Noreturn void foretop_abort(int status);
void foretop_finalized(void);

#endif
