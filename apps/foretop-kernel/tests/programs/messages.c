/* `messages FILE`: two ranks wait for that file, then make a known number of calls of each kind. */
#include <mpi.h>
#include <unistd.h>

static char sent[1 << 16], got[1 << 16];

int main(int argc, char **argv) {
    int rank, one = 1, sum;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (access(argv[1], F_OK) != 0) {
        usleep(1000);
    }
    for (int i = 0; i < 500; i++) {
        if (rank == 0) {
            MPI_Send(sent, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(got, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < 20; i++) {
        MPI_Irecv(got, 5000, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, 5000, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 7; i++) {
        MPI_Sendrecv(sent, 65536, MPI_BYTE, 1 - rank, 2, got, 65536, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Send(sent, 100, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
