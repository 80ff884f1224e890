/* Points that a user names: any raw tracepoint, any function, any USDT probe. The cookie of an attachment says which point it is,
 * and above that which argument is its size, counted from 1. */
#include "point.bpf.h"

#include <bpf/usdt.bpf.h>

#define POINT_OF(cookie) ((u32)(cookie) & (N_POINTS_MAX - 1))
#define ARGUMENT_OF(cookie) ((u32)((cookie) >> 8))

static __always_inline int passed(u64 cookie, u64 size)
{
    u32 point = POINT_OF(cookie);
    u64 n = hit(point);
    if (is_active(point) && is_sampled(n) && is_on_node())
        count(point, group_of(size), settings.weight ? settings.weight : 1, size, size);
    return 0;
}

SEC("raw_tp")
int user_tracepoint(struct bpf_raw_tracepoint_args *context)
{
    return passed(bpf_get_attach_cookie(context), 0);
}

/* A program may read only arguments that its tracepoint has, so that each has a program of its own. */
#define TRACEPOINT_WITH(argument) \
    SEC("raw_tp") \
    int user_tracepoint_##argument(struct bpf_raw_tracepoint_args *context) \
    { \
        return passed(bpf_get_attach_cookie(context), context->args[argument - 1]); \
    }

TRACEPOINT_WITH(1)
TRACEPOINT_WITH(2)
TRACEPOINT_WITH(3)
TRACEPOINT_WITH(4)

SEC("uprobe")
int user_function(struct pt_regs *context)
{
    u64 cookie = bpf_get_attach_cookie(context);
    switch (ARGUMENT_OF(cookie)) {
    case 1:
        return passed(cookie, context->di);
    case 2:
        return passed(cookie, context->si);
    case 3:
        return passed(cookie, context->dx);
    default:
        return passed(cookie, 0);
    }
}

/* Where its argument is, its note says; libbpf keeps that in a map. */
SEC("usdt")
int user_probe(struct pt_regs *context)
{
    u64 cookie = bpf_usdt_cookie(context);
    u32 argument = ARGUMENT_OF(cookie);
    long size = 0;
    if (argument)
        bpf_usdt_arg(context, argument - 1, &size);
    return passed(cookie, size > 0 ? size : 0);
}
