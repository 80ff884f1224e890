/* What stands for the computation between a kernel's messages. */
#define _GNU_SOURCE
#include "work.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static long mean_ns;
static enum work_kind kind;
static uint64_t n_stretches;

/* In the simulator: the rank computes for so long. Elsewhere there is none. */
extern void foretop_sim_compute(uint64_t span_ns) __attribute__((weak));

void work_set(long mean, enum work_kind how) {
    mean_ns = mean;
    kind = how;
}

int work_begin(int argc, char **argv) {
    const char *how = argc > 3 ? argv[3] : "";
    work_set(argc > 2 ? atol(argv[2]) : 0, !strcmp(how, "sleep") ? WORK_SLEEPS : !strcmp(how, "spin") ? WORK_SPINS : WORK_IS_TOLD);
    return argc > 1 ? atoi(argv[1]) : 3;
}

uint64_t work_value(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void work(int rank) {
    if (mean_ns == 0) return;
    uint64_t span = (uint64_t)mean_ns * 3 / 4 + work_value((uint64_t)rank, n_stretches++, 0) % ((uint64_t)mean_ns / 2 + 1);
    if (foretop_sim_compute && kind != WORK_SPINS) {
        foretop_sim_compute(span);
    } else if (kind == WORK_SLEEPS) {
        struct timespec length = {(time_t)(span / 1000000000u), (long)(span % 1000000000u)};
        nanosleep(&length, NULL);
    } else {
        for (uint64_t end = cpu_ns() + span; cpu_ns() < end;) {
        }
    }
}
