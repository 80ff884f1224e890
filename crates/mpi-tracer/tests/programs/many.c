/* More of a thing than a tracer may keep: `threads`, `communicators`, `calls`; or an end without MPI_Finalize: `exit`, `abort`, `kill`. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void *send(void *number) {
    for (int at = 0; at < 100; at++) {
        MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, *(int *)number, MPI_COMM_WORLD);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int level, numbers[4] = {10, 11, 12, 13};
    pthread_t threads[4];
    MPI_Comm comm;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (strcmp(argv[1], "threads") == 0) {
        /* At first two at a time, then two after each other. */
        for (int at = 0; at < 2; at++) pthread_create(&threads[at], NULL, send, &numbers[at]);
        for (int at = 0; at < 2; at++) pthread_join(threads[at], NULL);
        for (int at = 2; at < 4; at++) {
            pthread_create(&threads[at], NULL, send, &numbers[at]);
            pthread_join(threads[at], NULL);
        }
    } else if (strcmp(argv[1], "communicators") == 0) {
        for (int at = 0; at < 3000; at++) {
            MPI_Comm_dup(MPI_COMM_SELF, &comm);
            if (at % 1000 == 0) MPI_Barrier(comm);
            MPI_Comm_free(&comm);
        }
    } else {
        for (int at = 0; at < 100; at++) MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, at, MPI_COMM_WORLD);
    }
    if (strcmp(argv[1], "exit") == 0) exit(0);
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    MPI_Finalize();
    return 0;
}
