/* What may go wrong while ranks sum: `trouble WHAT [RANK]`. Each sum is checked. Prints `all is right` at rank 0 where the program comes to its end. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { N_CALLS = 300 };
static int rank, n_ranks;

static void need(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void sum(MPI_Comm comm, int call) {
    int own = rank + call, all;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, comm);
    need(all == n_ranks * (n_ranks - 1) / 2 + n_ranks * call, "a sum");
}

static void *mixed(void *comm) {
    for (int call = 0; call < N_CALLS; call++) {
        int root = call % n_ranks, value = rank == root ? call : -1, all;
        sum(*(MPI_Comm *)comm, call);
        MPI_Bcast(&value, 1, MPI_INT, root, *(MPI_Comm *)comm);
        need(value == call, "a broadcast");
        MPI_Reduce(&value, &all, 1, MPI_INT, MPI_SUM, root, *(MPI_Comm *)comm);
        need(rank != root || all == call * n_ranks, "a reduction");
    }
    return NULL;
}

/* Two threads, each on a communicator of its own. */
static void threads(void) {
    MPI_Comm comms[2];
    pthread_t thread;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    pthread_create(&thread, NULL, mixed, &comms[0]);
    mixed(&comms[1]);
    pthread_join(thread, NULL);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

/* 2 GiB of data that lie in 1 MiB of memory. */
static void large(void) {
    enum { PART = 1 << 20 };
    static char part[PART];
    MPI_Datatype again;
    MPI_Type_create_hvector(2048, PART, 0, MPI_CHAR, &again);
    MPI_Type_commit(&again);
    memset(part, rank ? 0 : 7, PART);
    MPI_Bcast(part, 1, again, 0, MPI_COMM_WORLD);
    need(part[0] == 7 && part[PART - 1] == 7, "a large broadcast");
    MPI_Type_free(&again);
}

int main(int argc, char **argv) {
    const char *what = argv[1];
    int provided, who = argc > 2 ? atoi(argv[2]) : -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (!strcmp(what, "full") && rank == who) {
        /* Whatever this rank shares, there is no room for it. */
        struct rlimit limit = {4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    for (int call = 0; call < N_CALLS; call++) {
        if (call == N_CALLS / 2 && rank == who && !strcmp(what, "kill")) {
            raise(SIGKILL);
        }
        if (call == N_CALLS / 2 && rank == who && !strcmp(what, "exit")) {
            _Exit(0);
        }
        sum(MPI_COMM_WORLD, call);
    }
    if (!strcmp(what, "threads")) {
        need(provided == MPI_THREAD_MULTIPLE, "what threads may do");
        threads();
    }
    if (!strcmp(what, "large")) {
        large();
    }
    if (rank == 0) {
        puts("all is right");
    }
    MPI_Finalize();
    return 0;
}
