/* Two threads of rank 0 in MPI at one time: the second begins its call once the first sleeps inside of its own. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long receiver;

static void *receive(void *unused)
{
    int word;
    (void)unused;
    receiver = syscall(SYS_gettid);
    MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* Whether the thread sleeps, which it does nowhere else after it has said who it is. */
static int sleeps(void)
{
    char path[64], state = 0;
    if (!receiver)
        return 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", receiver);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        fclose(file);
    }
    return state == 'S';
}

int main(int n_arguments, char **arguments)
{
    int provided, rank, word = 1, is_initialized;
    MPI_Init_thread(&n_arguments, &arguments, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, receive, NULL);
        while (!sleeps())
            ;
        /* This any thread may ask at any time. */
        MPI_Initialized(&is_initialized);
        MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        pthread_join(thread, NULL);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
