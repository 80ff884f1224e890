/* What stands for the computation between a kernel's messages: stretches of a given mean length. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* What a stretch is: told to the simulator where there is one and computed elsewhere; slept, so that ranks that share a core overlap as they would
   on cores of their own; computed in any case. */
enum work_kind { WORK_IS_TOLD, WORK_SLEEPS, WORK_SPINS };

/* Reads what all kernels take: STEPS WORK_NS [sleep|spin]. */
int work_begin(int argc, char **argv);
void work_set(long mean_ns, enum work_kind how);
/* One stretch: from three to five quarters of the mean length, by rank and count. */
void work(int rank);
/* A number that stands for a value: the same for the same three, on every machine. */
uint64_t work_value(uint64_t a, uint64_t b, uint64_t c);

#endif
