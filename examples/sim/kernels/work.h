/* What stands for the computation between a kernel's messages: stretches of a given mean length. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* What a stretch is: told to the simulator where there is one and computed elsewhere; slept, so that ranks that share a core overlap as they would
   on cores of their own; computed in any case. */
enum work_kind { WORK_IS_TOLD, WORK_SLEEPS, WORK_SPINS };

/* Reads what all kernels take: STEPS WORK_NS [sleep|spin] [whole=R] [times=K].
 *
 * Without `whole`, sizes and stretches are those of each rank, so more ranks are more work. With it, they are those of R ranks, cut up among the
 * ranks there are. With `times`, the problem is K times as large. */
int work_begin(int argc, char **argv);
void work_set(long mean_ns);
/* Reads one word after the first two. Words that are not known are passed over. */
void work_word(const char *word);
/* R, or the number of ranks without `whole`. */
int work_whole(int ranks);
/* K, or 1. */
int work_times(void);
/* One part of R parts of this size that are cut up into so many, for `rank` of the kernel `name`; `grows` if they grow with K. 0 if they cannot be
   cut up, or if a word made no sense: rank 0 has printed the reason and what would do, and the kernel ends with status 2. */
int work_cut(const char *name, int rank, int size, int whole, int parts, int ranks, int grows);
/* Makes stretches `of` / `by` times as long as without words, and K times. */
void work_scale(int of, int by);
/* One stretch: from three to five quarters of the mean length, by rank and count. */
void work(int rank);
/* A number that stands for a value: the same for the same three, on every machine. */
uint64_t work_value(uint64_t a, uint64_t b, uint64_t c);

#endif
