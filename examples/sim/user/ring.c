/* Each rank passes KiBs on around a ring, so many times: what `foretop sim kernel` costs a message.
 *
 *     cc -O2 -shared -fPIC -I examples/sim/user -o ring.so examples/sim/user/ring.c
 *     foretop sim kernel -n 16384 --machine examples/sim/torus.toml -- ./ring.so 100
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1024 };

int main(int argc, char **argv) {
    int me, n, n_times = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    char sent[BYTES], received[BYTES];
    int before = (me + n - 1) % n;
    for (int time = 0; time < n_times; time++) {
        memset(sent, me + time, BYTES);
        MPI_Sendrecv(sent, BYTES, MPI_CHAR, (me + 1) % n, 0, received, BYTES, MPI_CHAR, before, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (received[BYTES - 1] != (char)(before + time)) {
            fprintf(stderr, "rank %d got something else from rank %d\n", me, before);
            return 1;
        }
    }
    MPI_Finalize();
    return 0;
}
