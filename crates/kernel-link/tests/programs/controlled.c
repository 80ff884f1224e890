/* Controls the agent at argv[1], from open to close; argv[2] is where none answers properly. Ends with 0 if all went as it should. */
#include <foretop_kernel.h>

#include <stdio.h>
#include <string.h>

static int n_wrong;

/* What a function gave, and a part of the reason where it is not 0. */
static void expect(int line, int code, int given, const char *part)
{
    if (given != code || (code != 0 && strstr(foretop_kernel_reason(), part) == NULL)) {
        fprintf(stderr, "line %d: %d, not %d, with `%s`: %s\n", line, given, code, part, foretop_kernel_reason());
        n_wrong++;
    }
}

#define DONE(call) expect(__LINE__, 0, call, "")
#define FAILS(code, call, part) expect(__LINE__, code, call, part)
#define HOLDS(condition) expect(__LINE__, 1, condition, "")

int main(int argc, char **argv)
{
    struct foretop_kernel_status status;
    int agent, other;

    if (argc != 3)
        return 2;
    FAILS(FORETOP_KERNEL_NO_AGENT, foretop_kernel_open("/nonexistent/socket"), "foretop kernel agent");
    /* It hangs up: no signal may end this program. */
    FAILS(FORETOP_KERNEL_NO_AGENT, foretop_kernel_open(argv[2]), argv[2]);
    FAILS(FORETOP_KERNEL_NO_HANDLE, foretop_kernel_on(0, NULL), "no handle");

    agent = foretop_kernel_open(argv[1]);
    other = foretop_kernel_open(argv[1]);
    HOLDS(agent == 0 && other == 1);

    DONE(foretop_kernel_lease(agent, "ann", 60, 0));
    FAILS(FORETOP_KERNEL_REFUSED, foretop_kernel_on(other, "vm"), "`ann` has the lease");
    FAILS(FORETOP_KERNEL_REFUSED, foretop_kernel_lease(other, "bob", 60, 0), "`ann` has the lease");
    FAILS(FORETOP_KERNEL_BAD_VALUE, foretop_kernel_lease(other, NULL, 60, 0), "who you are");

    DONE(foretop_kernel_on(agent, "vm fs"));
    DONE(foretop_kernel_set(agent, "fs.Read=trace interval=7s budget=1%"));
    FAILS(FORETOP_KERNEL_REFUSED, foretop_kernel_set(agent, "fs.Reed=trace"), "`Reed`");
    FAILS(FORETOP_KERNEL_BAD_VALUE, foretop_kernel_set(agent, "fs.Read=on"), "`inactive`");
    DONE(foretop_kernel_nodes(agent, "17"));
    DONE(foretop_kernel_off(agent, "vm"));
    FAILS(FORETOP_KERNEL_BAD_VALUE, foretop_kernel_nodes(agent, "x"), "`x`");
    DONE(foretop_kernel_nodes(agent, "4"));
    FAILS(FORETOP_KERNEL_REFUSED, foretop_kernel_on(agent, NULL), "no node 4");
    DONE(foretop_kernel_nodes(agent, NULL));

    DONE(foretop_kernel_status(other, &status));
    HOLDS(status.is_on && status.interval_ms == 7000 && status.budget_cores == 0.01);
    HOLDS(strcmp(status.holder, "ann") == 0 && status.holder_seconds > 0 && status.holder_seconds <= 60);

    DONE(foretop_kernel_release(agent));
    DONE(foretop_kernel_lease(other, "bob", 60, 30));
    DONE(foretop_kernel_close(other));
    FAILS(FORETOP_KERNEL_NO_HANDLE, foretop_kernel_status(other, &status), "closed");
    DONE(foretop_kernel_off(agent, NULL));
    DONE(foretop_kernel_status(agent, &status));
    HOLDS(!status.is_on && status.holder[0] == 0 && status.holder_seconds == 0);
    DONE(foretop_kernel_close(agent));
    return n_wrong != 0;
}
