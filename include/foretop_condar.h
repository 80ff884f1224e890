/* Conditional allreduce: whether a reduction over all ranks meets a condition, told as soon as a part of it decides.
 *
 * Link with -lmpi_coll, before the MPI library. docs/howto/conditional-allreduce.md says when it pays, and what a call does
 * not do: it is no barrier, and its value is no sum unless it is exact. */
#ifndef FORETOP_CONDAR_H
#define FORETOP_CONDAR_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What each rank promises of its values. */
enum { CONDAR_ANY = 0, CONDAR_NONNEGATIVE = 1, CONDAR_NONPOSITIVE = 2 };

/* How the result has to compare with the constant for the verdict to be true. */
enum { CONDAR_GREATER = 0, CONDAR_LESS = 1, CONDAR_EQUAL = 2 };

/* What a function gives other than 0. condar_reason says more. */
enum {
    CONDAR_REFUSED = -1,      /* a part of the contributions cannot decide this, or ranks ask different questions */
    CONDAR_NO_HANDLE = -2,    /* not from condar_init, or freed */
    CONDAR_BAD_VALUE = -3,    /* a rank broke its promise, or brought NaN */
    CONDAR_VANISHED = -4,     /* nothing came from a cluster for too long */
    CONDAR_DISAGREEMENT = -5, /* clusters came to different answers: they ask different questions */
    CONDAR_NO_MPI = -6        /* MPI is not running */
};

/* All ranks of the communicator call this, with the same arguments. Operations: MPI_SUM of values of one sign, MPI_MAX,
 * MPI_MIN; MPI_LOR and MPI_LAND of 0 and 1. `clusters` lists ranks, as in "0-3 4-7"; NULL stands for those of the tree
 * file, without which each call is a plain allreduce. Gives a handle, or a code below 0. */
int condar_init(MPI_Comm comm, MPI_Op op, int sign, int condition, double constant, const char *clusters);

/* The next call: the verdict for all ranks together, and the result, if `*is_exact`; else a bound of it. Places that are
 * NULL are left out. After a code other than 0 each further call gives the same. */
int condar_call(int handle, double value, int *verdict, double *result, int *is_exact);

/* All ranks of the communicator call this after as many calls. */
int condar_free(int handle);

/* Why the last function that this thread called did not do what it was asked. */
const char *condar_reason(void);

#ifdef __cplusplus
}
#endif
#endif
