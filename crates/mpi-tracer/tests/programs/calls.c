/* One call after the other, between two ranks; tests/it/mpi.rs has what is to be recorded of them. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, flag = 0, one = 1, two[2] = {1, 3}, places[2] = {0, 1};
    double many[64] = {0}, other[64];
    MPI_Comm half, twin;
    MPI_Datatype large, strided;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    MPI_Win window;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Pcontrol(7);

    if (rank == 0) {
        MPI_Send(many, 3, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
        MPI_Send(many, 0, MPI_INT, 1, 70000, MPI_COMM_WORLD);
        MPI_Isend(many, 2, MPI_INT, 1, 6, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(many, 5, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
    } else {
        /* Room for more than comes: the record has what came, from whom, though nobody asks. */
        MPI_Recv(other, 64, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(other, 64, MPI_DOUBLE, 0, 70000, MPI_COMM_WORLD, &status);
        MPI_Irecv(other, 4, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        MPI_Mprobe(0, 8, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(other, 64, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Sendrecv(many, 1, MPI_INT, 1 - rank, 1, other, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    /* 2^31 elements of 4 bytes, to nobody; and a type that is made and given up. */
    MPI_Type_contiguous(1 << 20, MPI_INT, &large);
    MPI_Type_commit(&large);
    MPI_Send(many, 1 << 11, large, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Type_free(&large);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    MPI_Send(many, 1, strided, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Type_free(&strided);

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(many, 4, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, many, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : many, rank == 0 ? many : NULL, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many, 6, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Scatterv(many, two, places, MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    } else {
        MPI_Gather(many, 3, MPI_SHORT, NULL, -1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, many, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    MPI_Alltoallv(many, two, places, MPI_CHAR, other, two, places, MPI_CHAR, MPI_COMM_SELF);
    MPI_Reduce_scatter_block(many, other, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);

    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Barrier(twin);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&twin);

    MPI_Win_create(many, sizeof many, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&one, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(many, 1, MPI_DOUBLE, 77, 5, MPI_COMM_WORLD);

    MPI_Finalize();
    return 0;
}
