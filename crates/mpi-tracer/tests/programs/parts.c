/* Calls that do more than one thing, and what persistent requests begin; tests/it/mpi.rs has what is to be recorded of them. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

int main(int argc, char **argv) {
    int rank, round, flag = 0, one = 1, other = 0, buffer[64] = {0};
    MPI_Message message;
    MPI_Request request, requests[3];
    MPI_Status status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* More room than comes. */
    MPI_Sendrecv(&one, 1, MPI_INT, 1 - rank, 1 + rank, buffer, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(buffer, 2, MPI_INT, 1 - rank, 3, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status);
    MPI_Recv(buffer, 2, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &status);

    MPI_Ssend_init(&one, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(buffer, 4, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(&one, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &requests[2]);
    for (round = 0; round < 2; round++) {
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[2]);
    /* A handle that may have been another's. */
    MPI_Send_init(&one, 3, MPI_CHAR, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[2]);
    MPI_Start(&requests[2]);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);

    if (rank == 0) {
        MPI_Send(&one, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    } else {
        /* Polls until it comes would fill the ring while the other rank has no core. */
        MPI_Probe(0, 8, MPI_COMM_WORLD, &status);
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
        MPI_Imrecv(buffer, 2, MPI_INT, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
#if MPI_VERSION >= 4
    MPI_Isendrecv(&one, 1, MPI_INT, 1 - rank, 10, buffer, 4, MPI_CHAR, 1 - rank, 10, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace(buffer, 2, MPI_INT, 1 - rank, 11, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Psend_init(buffer, 2, 3, MPI_INT, 1, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(buffer, 2, 3, MPI_INT, 0, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0)
        MPI_Pready_range(0, 1, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#endif
#if MPI_VERSION >= 4 || defined OPEN_MPI
    MPI_Allreduce_init(&one, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#endif
    MPI_Finalize();
    return other > 2;
}
