/* What stands for the computation between a kernel's messages: stretches of a given mean length. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* Reads what all kernels take: STEPS WORK_NS [sleep]. `sleep` lets ranks that share a core overlap as they would on cores of their own. */
int work_begin(int argc, char **argv);
void work_set(long mean_ns, int sleeps);
/* One stretch: from three to five quarters of the mean length, by rank and count. */
void work(int rank);
/* A number that stands for a value: the same for the same three, on every machine. */
uint64_t work_value(uint64_t a, uint64_t b, uint64_t c);

#endif
