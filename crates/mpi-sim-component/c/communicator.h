/* Communicators as the simulation sees them: contexts of messages, ranks of the world, and who calls together. */
#ifndef FORETOP_COMMUNICATOR_H
#define FORETOP_COMMUNICATOR_H

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"

#include "engine.h"

/* The rank in the world of a rank of the other side: of the communicator itself unless it joins two groups. */
uint32_t foretop_world_rank(const ompi_communicator_t *comm, int rank);
/* The rank in the communicator of a rank of the world that is in it. */
int foretop_rank_in(ompi_communicator_t *comm, uint32_t world);
/* Messages of collective operations, whose tags are negative, have a context of their own. */
uint32_t foretop_context(const ompi_communicator_t *comm, int tag);
int foretop_add_comm(ompi_communicator_t *comm);
int foretop_del_comm(ompi_communicator_t *comm);
/* The number of a communicator and its size; false for a handle that is none, and for one that joins two groups. */
bool foretop_find_comm(const void *handle, uint64_t *number, uint32_t *n_members);

/* As in `struct foretop_front`. */
void foretop_become_rank(void);
void foretop_begin_mpi(int requested, int *provided);
void foretop_meet_neighbours(void *comm);

#endif
