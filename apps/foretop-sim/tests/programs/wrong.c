/* What its argument says goes wrong. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, in;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "exit") && rank == 1) exit(0);
    if (!strcmp(argv[1], "crash") && rank == 1) abort();
    if (!strcmp(argv[1], "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(argv[1], "file")) MPI_File_open(MPI_COMM_WORLD, "/nowhere", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (!strcmp(argv[1], "leak")) {
        MPI_Request request;
        if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        if (rank == 1) MPI_Irecv(&in, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &request);
        MPI_Finalize();
        return 0;
    }
    MPI_Recv(&in, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
