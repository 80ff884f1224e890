/*
 * `MPI_Init` before the ranks are forked: it runs once, as a process that is none of the ranks, and they share what it has set up.
 *
 * Each rank then takes its own place in the few structures that say who it is, which is all that the program's `MPI_Init` leaves to do.
 */
#include "communicator.h"
#include "request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompi/proc/proc.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/mca/event/event.h"
#include "opal/runtime/opal.h"
#include "opal/threads/threads.h"
#include "orte/runtime/orte_globals.h"
#include "orte/util/proc_info.h"

static void place(ompi_group_t *group, int position, ompi_proc_t *process) {
    group->grp_proc_pointers[position] = process;
    OBJ_RETAIN(process);
}

void foretop_become_rank(void) {
    uint32_t rank = foretop_rank();
    ORTE_PROC_MY_NAME->vpid = orte_process_info.app_rank = rank;
    orte_process_info.super.proc_name = *(opal_process_name_t *)ORTE_PROC_MY_NAME;
    orte_process_info.pid = getpid();
    /* The kernel's list of awaited events would be shared with all other ranks. */
    if (opal_event_reinit(opal_sync_event_base) != 0) abort();

    const ompi_proc_t *nobody = ompi_proc_local_proc;
    ompi_proc_t *own = (ompi_proc_t *)ompi_proc_for_name(*(opal_process_name_t *)ORTE_PROC_MY_NAME);
    own->super.proc_flags = nobody->super.proc_flags;
    own->super.proc_hostname = strdup(nobody->super.proc_hostname);
    ompi_proc_local_proc = own;
    opal_proc_local_set(&own->super);

    ompi_communicator_t *world = &ompi_mpi_comm_world.comm, *self = &ompi_mpi_comm_self.comm;
    place(world->c_local_group, rank, own);
    world->c_my_rank = world->c_local_group->grp_my_rank = rank;
    place(self->c_local_group, 0, own);
    foretop_del_comm(self);
    foretop_add_comm(self);
    ompi_mpi_state = OMPI_MPI_STATE_NOT_INITIALIZED;
}

void foretop_begin_mpi(int requested, int *provided) {
    ompi_mpi_thread_level(requested, provided);
    ompi_mpi_main_thread = opal_thread_get_self();
    ompi_mpi_state = OMPI_MPI_STATE_INIT_COMPLETED;
}

/* Open MPI takes a process that it does not know yet for one of another node. */
void foretop_meet_neighbours(void *comm) {
    ompi_group_t *group = ((ompi_communicator_t *)comm)->c_local_group;
    uint32_t node = foretop_node(foretop_rank());
    for (int rank = 0; rank < group->grp_proc_count; rank++) {
        ompi_proc_t *known = ompi_group_get_proc_ptr_raw(group, rank);
        if (!ompi_proc_is_sentinel(known)) continue;
        opal_process_name_t name = ompi_proc_sentinel_to_name((uintptr_t)known);
        if (foretop_node(name.vpid) != node) continue;
        ompi_proc_t *neighbour = (ompi_proc_t *)ompi_proc_for_name(name);
        neighbour->super.proc_flags = OPAL_PROC_ON_NODE;
        place(group, rank, neighbour);
    }
}
