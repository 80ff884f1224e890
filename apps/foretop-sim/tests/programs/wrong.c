/* What its argument says goes wrong. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, in;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "exit") && rank == 1) exit(0);
    if (!strcmp(argv[1], "crash") && rank == 1) abort();
    if (!strcmp(argv[1], "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(argv[1], "file")) MPI_File_open(MPI_COMM_WORLD, "/nowhere", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (!strcmp(argv[1], "memory")) {
        MPI_Win window;
        void *shared;
        MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
    }
#if MPI_VERSION >= 4
    if (!strcmp(argv[1], "later")) {
        MPI_Request request;
        MPI_Isendrecv(&rank, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    }
#endif
    if (!strcmp(argv[1], "leak")) {
        MPI_Request request;
        if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        if (rank == 1) MPI_Irecv(&in, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &request);
        MPI_Finalize();
        return 0;
    }
    if (!strcmp(argv[1], "collective")) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(argv[1], "root")) MPI_Bcast(&in, 1, MPI_INT, rank, MPI_COMM_WORLD);
    if (!strcmp(argv[1], "buffer") && rank == 0) {
        char buffer[100 + MPI_BSEND_OVERHEAD], bytes[80];
        MPI_Buffer_attach(buffer, sizeof buffer);
        /* The first is on the way at once and makes room; the second does not fit at all. */
        MPI_Bsend(bytes, 80, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        MPI_Bsend(bytes, 80, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        static char large[300];
        int class;
        MPI_Error_class(MPI_Bsend(large, 300, MPI_CHAR, 1, 3, MPI_COMM_WORLD), &class);
        exit(class == MPI_ERR_BUFFER ? 33 : 1);
    }
    if (!strcmp(argv[1], "truncate")) {
        int two[2] = {1, 2};
        if (rank == 0) MPI_Send(two, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(argv[1], "fork")) {
        int status = 0;
        pid_t child = rank == 1 ? fork() : -1;
        if (child == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            _exit(0);
        }
        if (child > 0) waitpid(child, &status, 0);
        MPI_Finalize();
        return rank == 1 && WEXITSTATUS(status) == 0;
    }
    MPI_Recv(&in, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
