/* Rank 0 calls off two receives, one of them persistent, before five messages with their tag come; a third is there
   when it is called off. */
#include <mpi.h>

static void cancel(MPI_Request *request)
{
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, in = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
        cancel(&request);
        MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        cancel(&request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < 5; at++) {
        if (rank == 1) MPI_Send(&at, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        if (rank == 0) MPI_Recv(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Probe(1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(&in, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);
        cancel(&request);
    }
    MPI_Finalize();
    return 0;
}
