/* Threads of two ranks send and receive at the same time, each with a tag of its own, and reduce on communicators of their own. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3

static int rank, size, is_right = 1;
static MPI_Comm comms[THREADS];

static void *work(void *argument) {
    int own = *(int *)argument, value, sum, other = 1 - rank;
    for (int round = 0; round < 100; ++round) {
        value = -1;
        if ((round + rank) % 2) {
            MPI_Send(&round, 1, MPI_INT, other, own, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, other, own, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Sendrecv(&round, 1, MPI_INT, other, own, &value, 1, MPI_INT, other, own, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[own]);
        if (value != round || sum != size * round) is_right = 0;
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, numbers[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int at = 0; at < THREADS; ++at) MPI_Comm_dup(MPI_COMM_WORLD, &comms[at]), numbers[at] = at;
    for (int at = 1; at < THREADS; ++at) pthread_create(&threads[at], NULL, work, &numbers[at]);
    work(&numbers[0]);
    for (int at = 1; at < THREADS; ++at) pthread_join(threads[at], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!is_right) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) printf("all is right\n");
    MPI_Finalize();
    return 0;
}
