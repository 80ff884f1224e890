/* What a traced call costs: `scripts/mpi-tracer-cost.sh` runs it with the tracer and without, and subtracts. Of many short loops, the
   quickest counts. Prints nanoseconds: two readings of the counter, MPI_Send to nobody in C, the same in Fortran, MPI_Iprobe. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define COUNTER() __rdtsc()
#else
static inline uint64_t COUNTER(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#endif

void mpi_send_(void *, int *, int *, int *, int *, int *, int *);

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

enum { N_CALLS = 20000, N_ROUNDS = 200, N_KINDS = 4 };

int main(int argc, char **argv) {
    double best[N_KINDS] = {1e9, 1e9, 1e9, 1e9}, value = 0;
    int one = 1, nobody = MPI_PROC_NULL, tag = 3, error, type, comm, flag;
    volatile uint64_t sink;

    MPI_Init(&argc, &argv);
    type = MPI_Type_c2f(MPI_DOUBLE);
    comm = MPI_Comm_c2f(MPI_COMM_SELF);
    for (int round = 0; round < N_ROUNDS; round++) {
        for (int kind = 0; kind < N_KINDS; kind++) {
            double start = now_ns();
            for (int at = 0; at < N_CALLS; at++) {
                switch (kind) {
                case 0: sink = COUNTER(); sink = COUNTER(); break;
                case 1: MPI_Send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_SELF); break;
                case 2: mpi_send_(&value, &one, &type, &nobody, &tag, &comm, &error); break;
                case 3: MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); break;
                }
            }
            double each = (now_ns() - start) / N_CALLS;
            if (each < best[kind]) best[kind] = each;
        }
    }
    printf("%.2f %.2f %.2f %.2f\n", best[0], best[1], best[2], best[3]);
    MPI_Finalize();
    return 0;
}
