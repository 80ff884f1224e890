/* Looks for three functions of MPI 4, as mpi4py does, prints which of them it finds, and does without the others. Runs as
 * a program or as a plug-in. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

typedef int send_large(const void *, long, MPI_Datatype, int, int, MPI_Comm);
extern send_large optional_send __asm__("MPI_Send_c") __attribute__((weak));
extern void optional_exchange(void) __asm__("MPI_Isendrecv") __attribute__((weak));

int main(int argc, char **argv) {
    double nothing = 0;

    MPI_Init(NULL, NULL);
    printf("%d %d %d\n", optional_send != NULL, optional_exchange != NULL, dlsym(RTLD_DEFAULT, "MPI_Recv_c") != NULL);
    fflush(stdout);
    if (optional_send) {
        optional_send(&nothing, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    } else {
        MPI_Send(&nothing, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
