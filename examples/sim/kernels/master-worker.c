/* A master that hands out tasks to whoever asks first, by receives from any source; the answers do not depend on who did what. */
#include <mpi.h>
#include <stdio.h>

#include "work.h"

enum { ASKS, TELLS };

int main(int argc, char **argv) {
    int rank, size, is_right = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long n_tasks = 16L * work_begin(argc, argv), task;
    /* All tasks are there however many ranks share them, so that nothing is cut up. */
    long times = work_cut("master-worker", rank, 1, 1, 1, size, 1);
    if (times == 0) {
        MPI_Finalize();
        return 2;
    }
    n_tasks *= times;
    double begin = MPI_Wtime();
    if (rank == 0) {
        uint64_t sum = 0, right = 0, answer[2];
        int n_workers = size - 1;
        for (long next = 0; n_workers > 0;) {
            MPI_Status status;
            MPI_Recv(answer, 2, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == TELLS) sum += answer[0] * (answer[1] + 1);
            task = next < n_tasks ? next++ : -1;
            n_workers -= task < 0;
            MPI_Send(&task, 1, MPI_LONG, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
        }
        for (long i = 0; i < n_tasks; i++) right += work_value((uint64_t)i, 0, 3) * (uint64_t)(i + 1);
        is_right = size == 1 || sum == right;
        printf("master-worker: %s, sum %016llx, %.6f s\n", is_right ? "verified" : "WRONG", (unsigned long long)sum, MPI_Wtime() - begin);
    } else {
        uint64_t answer[2] = {0, 0};
        int tag = ASKS;
        for (;;) {
            MPI_Send(answer, 2, MPI_UINT64_T, 0, tag, MPI_COMM_WORLD);
            MPI_Recv(&task, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (task < 0) break;
            work(rank);
            answer[0] = work_value((uint64_t)task, 0, 3);
            answer[1] = (uint64_t)task;
            tag = TELLS;
        }
    }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
