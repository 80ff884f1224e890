/* Work that makes known events for bench/kernel_cost.py: prints the nanoseconds of one event, the fastest of several rounds.
 *
 * `ordinary` is a program that mostly computes: of each 10 ms or so, it reads five times and touches five new pages.
 *
 * Usage: kernel_work call|read|fault|ordinary ROUNDS
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 20000, PAGE = 4096, STRETCHES = 100, TURNS = 20000000, EVENTS_OF_A_STRETCH = 5 };

static int file;

static void must(int is_well, const char *what)
{
    if (!is_well) {
        perror(what);
        exit(1);
    }
}

/* Of a processor: on a busy host, no round goes without others in between. */
static uint64_t taken_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void calls(void)
{
    for (int i = 0; i < EVENTS; i++)
        syscall(SYS_getppid);
}

static void some_reads(int n)
{
    char bytes[64];
    for (int i = 0; i < n; i++)
        must(pread(file, bytes, sizeof bytes, 0) == sizeof bytes, "pread");
}

static void some_faults(int n)
{
    size_t length = (size_t)n * PAGE;
    char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pages != MAP_FAILED, "mmap");
    madvise(pages, length, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < length; at += PAGE)
        *(volatile char *)(pages + at) = 1;
    munmap(pages, length);
}

static void reads(void)
{
    some_reads(EVENTS);
}

static void faults(void)
{
    some_faults(EVENTS);
}

static void ordinary(void)
{
    for (int i = 0; i < STRETCHES; i++) {
        volatile uint64_t number = 1;
        for (int turn = 0; turn < TURNS; turn++)
            number = number * 5 + 1;
        some_reads(EVENTS_OF_A_STRETCH);
        some_faults(EVENTS_OF_A_STRETCH);
    }
}

int main(int n, char **arguments)
{
    const char *name = n == 3 ? arguments[1] : "";
    void (*work)(void) = !strcmp(name, "call")       ? calls
                         : !strcmp(name, "read")     ? reads
                         : !strcmp(name, "fault")    ? faults
                         : !strcmp(name, "ordinary") ? ordinary
                                                     : NULL;
    if (!work) {
        fprintf(stderr, "usage: kernel_work call|read|fault|ordinary ROUNDS\n");
        return 2;
    }
    char bytes[64] = {0};
    file = memfd_create("work", MFD_CLOEXEC);
    must(file >= 0 && write(file, bytes, sizeof bytes) == sizeof bytes, "memfd_create");
    /* Only delays come from elsewhere, so that the fastest round is the work's own. */
    uint64_t fastest = UINT64_MAX;
    for (int round = atoi(arguments[2]); round > 0; round--) {
        uint64_t began = taken_ns();
        work();
        uint64_t took = taken_ns() - began;
        fastest = took < fastest ? took : fastest;
    }
    printf("%.1f\n", (double)fastest / EVENTS);
    return 0;
}
