/* What stands for the computation between a kernel's messages. */
#define _GNU_SOURCE
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* More than fits into the memory of a rank. */
enum { SIZE_MAX_OF_RANK = 1 << 26 };

static long mean_ns, scaled_ns;
static int n_whole, n_times = 1;
/* The first word that made no sense. */
static char wrong[32];
static enum work_kind kind;
static uint64_t n_stretches;

/* In the simulator: the rank computes for so long. Elsewhere there is none. */
extern void foretop_sim_compute(uint64_t span_ns) __attribute__((weak));

void work_set(long mean) { mean_ns = scaled_ns = mean; }

static int number(const char *word, const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*text && !*end && value > 0 && value <= SIZE_MAX_OF_RANK) return (int)value;
    if (!*wrong) snprintf(wrong, sizeof wrong, "%s", word);
    return 1;
}

void work_word(const char *word) {
    if (!strcmp(word, "sleep")) kind = WORK_SLEEPS;
    if (!strcmp(word, "spin")) kind = WORK_SPINS;
    if (!strncmp(word, "whole=", 6)) n_whole = number(word, word + 6);
    if (!strncmp(word, "times=", 6)) n_times = number(word, word + 6);
}

int work_begin(int argc, char **argv) {
    work_set(argc > 2 ? atol(argv[2]) : 0);
    for (int i = 3; i < argc; i++) work_word(argv[i]);
    return argc > 1 ? atoi(argv[1]) : 3;
}

int work_whole(int ranks) { return n_whole ? n_whole : ranks; }

int work_times(void) { return n_times; }

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

int work_cut(const char *name, int rank, int size, int whole, int parts, int ranks, int grows) {
    int64_t all = (int64_t)size * whole * (grows ? n_times : 1);
    if (*wrong) {
        if (rank == 0) fprintf(stderr, "%s: `%s` is no number that can be used: write 1 or more, as in whole=4 times=2\n", name, wrong);
    } else if (all % parts) {
        long long needed = (long long)n_times * (parts / common_divisor(all, parts));
        char times[40] = "";
        if (grows) snprintf(times, sizeof times, "times=%lld or ", needed);
        if (rank == 0)
            fprintf(stderr, "%s: %lld do not divide among %d parts: use %swhole=%d\n", name, (long long)all, parts, times, ranks);
    } else if (all / parts > SIZE_MAX_OF_RANK) {
        if (rank == 0) fprintf(stderr, "%s: %lld a rank are too many: use a smaller whole or times\n", name, (long long)(all / parts));
    } else {
        return (int)(all / parts);
    }
    return 0;
}

void work_scale(int of, int by) { scaled_ns = (long)((int64_t)mean_ns * n_times * of / by); }

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
    if (scaled_ns == 0) return;
    uint64_t mean = (uint64_t)scaled_ns, span = mean * 3 / 4 + work_value((uint64_t)rank, n_stretches++, 0) % (mean / 2 + 1);
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
