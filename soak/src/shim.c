/* Preloaded into a node: lets writes below one folder fail, and the wall clock run ahead or behind, as a shared page says.
 *
 * SOAK_CONTROL names the file that is the page; SOAK_FOLDER is the folder. Nothing else of the process is touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct control {
    int64_t clock_offset_ns;
    int64_t write_errno;
};

static volatile struct control *control;
static const char *folder;

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv("SOAK_CONTROL");
    folder = getenv("SOAK_FOLDER");
    int fd = path && folder ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    void *page = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    control = page == MAP_FAILED ? NULL : page;
}

/* Whether this write has to fail; errno says how then. */
static int fails(int fd) {
    if (!control || !control->write_errno) {
        return 0;
    }
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0 || strncmp(path, folder, strlen(folder)) != 0) {
        return 0;
    }
    errno = (int)control->write_errno;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t n) {
    return fails(fd) ? -1 : REAL(write)(fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
    return fails(fd) ? -1 : REAL(pwrite)(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    return fails(fd) ? -1 : REAL(pwrite64)(fd, bytes, n, at);
}

int fsync(int fd) {
    return fails(fd) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd) {
    return fails(fd) ? -1 : REAL(fdatasync)(fd);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) {
        real = REAL(clock_gettime);
    }
    int status = real(clock, time);
    if (status == 0 && clock == CLOCK_REALTIME && control && control->clock_offset_ns) {
        int64_t ns = time->tv_sec * INT64_C(1000000000) + time->tv_nsec + control->clock_offset_ns;
        time->tv_sec = ns / INT64_C(1000000000);
        time->tv_nsec = ns % INT64_C(1000000000);
    }
    return status;
}
