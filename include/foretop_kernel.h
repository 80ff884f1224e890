/* Control of what is measured of the kernel, for a program that is measured: on while it does what matters, and off again.
 *
 * Link with -lkernel_link. `foretop kernel agent` has to run on this host; docs/howto/kernel.md says how. Each call asks the
 * agent anew, so that a handle outlives the agent and a fork. Functions give 0, or a code below 0; any thread may call them. */
#ifndef FORETOP_KERNEL_H
#define FORETOP_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a function gives other than 0. foretop_kernel_reason says more. */
enum {
    FORETOP_KERNEL_REFUSED = -1,   /* the agent does not do it: somebody else has the lease, a name is unknown */
    FORETOP_KERNEL_NO_AGENT = -2,  /* none answers */
    FORETOP_KERNEL_NO_HANDLE = -3, /* not from foretop_kernel_open, or closed */
    FORETOP_KERNEL_BAD_VALUE = -4, /* a text that means nothing, or is none */
    FORETOP_KERNEL_BROKEN = -5     /* the library failed, and says how on standard error */
};

/* How an agent is doing. */
struct foretop_kernel_status {
    unsigned long long interval_ms; /* between two pulls */
    double budget_cores;            /* what all probes may take of a core; below 0 if there is no budget */
    double cost_cores;              /* what they took in the last interval, by their prices */
    double own_cores;               /* what the agent took since it began */
    int is_on;                      /* whether anything is measured */
    unsigned holder_seconds;        /* for how long somebody alone may change things; 0 if nobody does */
    char holder[64];                /* who that is, cut where it is longer */
};

/* The agent that listens at `socket`, or at /run/foretop-kernel.sock for NULL. Gives a handle from 0, or a code below. */
int foretop_kernel_open(const char *socket);

/* Gives the lease back, if this handle has one. What was turned on stays on. */
int foretop_kernel_close(int handle);

/* Changes of this handle are for these nodes from now on, such as "3 17"; for all where it is NULL or empty. */
int foretop_kernel_nodes(int handle, const char *numbers);

/* Turns subsystems on, such as "vm fs", and the whole with them; NULL for the whole as it was set. The first time takes
 * seconds, as the price of each probe is measured. */
int foretop_kernel_on(int handle, const char *subsystems);

/* Turns subsystems off, or with NULL the whole; nothing of them stays attached. */
int foretop_kernel_off(int handle, const char *subsystems);

/* Changes what is named, all of it or nothing: "fs.Read=trace vm.FileMap=inactive interval=5s budget=1% groups=4096,65536". */
int foretop_kernel_set(int handle, const char *settings);

/* The right to change things alone, for so many seconds (up to 3600). `name` is for those who are refused meanwhile. Where
 * somebody else has it, this waits so many seconds in the queue at most. */
int foretop_kernel_lease(int handle, const char *name, unsigned seconds, unsigned wait_seconds);

/* Gives the lease back. */
int foretop_kernel_release(int handle);

/* How the agent is doing. */
int foretop_kernel_status(int handle, struct foretop_kernel_status *status);

/* Why the last function that this thread called did not do what it was asked. */
const char *foretop_kernel_reason(void);

#ifdef __cplusplus
}
#endif
#endif
