#include "communicator.h"

#include <stdlib.h>

/* Of larger communicators the simulation takes it that all ranks may send: each of their ranks would keep all others. */
#define DECLARED_MAX 1024
/* Of FNV-1a, which hashes the members. */
#define HASH_BASIS 14695981039346656037u
#define HASH_PRIME 1099511628211u

struct mca_pml_comm_t {
    /* The rank in the communicator of each rank of the world; made when a receive names no source for the first time. */
    int32_t *ranks;
    /* A hash of the context id and the members, the same on all its ranks: context ids are used again, and at the same time by
       communicators that share no rank. */
    uint64_t number;
    bool is_declared;
};

uint32_t foretop_world_rank(const ompi_communicator_t *comm, int rank) {
    return ompi_group_get_proc_name(comm->c_remote_group, rank).vpid;
}

int foretop_rank_in(ompi_communicator_t *comm, uint32_t world) {
    const ompi_group_t *group = comm->c_remote_group;
    if (world < (uint32_t)group->grp_proc_count && foretop_world_rank(comm, world) == world) return world;
    int32_t **ranks = &comm->c_pml_comm->ranks;
    if (*ranks == NULL) {
        *ranks = calloc(foretop_n_ranks(), sizeof **ranks);
        if (*ranks == NULL) abort();
        for (int rank = 0; rank < group->grp_proc_count; rank++) (*ranks)[foretop_world_rank(comm, rank)] = rank;
    }
    return (*ranks)[world];
}

uint32_t foretop_context(const ompi_communicator_t *comm, int tag) {
    return 2 * comm->c_contextid + (tag < MPI_ANY_TAG);
}

int foretop_add_comm(ompi_communicator_t *comm) {
    struct mca_pml_comm_t *added = comm->c_pml_comm = calloc(1, sizeof *added);
    if (added == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
    uint32_t members[DECLARED_MAX], n_members = comm->c_remote_group->grp_proc_count;
    added->number = HASH_BASIS ^ comm->c_contextid;
    for (uint32_t rank = 0; rank < n_members; rank++) {
        uint32_t member = foretop_world_rank(comm, rank);
        added->number = (added->number ^ member) * HASH_PRIME;
        if (rank < DECLARED_MAX) members[rank] = member;
    }
    added->is_declared = n_members <= DECLARED_MAX && n_members < foretop_n_ranks();
    if (added->is_declared) foretop_declare(foretop_context(comm, 0), members, n_members);
    return OMPI_SUCCESS;
}

int foretop_del_comm(ompi_communicator_t *comm) {
    if (comm->c_pml_comm == NULL) return OMPI_SUCCESS;
    if (comm->c_pml_comm->is_declared) foretop_forget_context(foretop_context(comm, 0));
    free(comm->c_pml_comm->ranks);
    free(comm->c_pml_comm);
    comm->c_pml_comm = NULL;
    return OMPI_SUCCESS;
}

bool foretop_find_comm(const void *handle, uint64_t *number, uint32_t *n_members) {
    const ompi_communicator_t *comm = handle;
    if (comm == NULL || comm->c_pml_comm == NULL || OMPI_COMM_IS_INTER(comm)) return false;
    *number = comm->c_pml_comm->number;
    *n_members = comm->c_local_group->grp_proc_count;
    return true;
}
