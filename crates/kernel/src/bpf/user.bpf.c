/* Points that a user names: any raw tracepoint, any function, any USDT probe. The cookie of an attachment says which point it is,
 * and above that, in four bits each, which arguments are its size and its fields, counted from 1. */
#include "point.bpf.h"

#include <bpf/usdt.bpf.h>

#define N_FIELDS 4
/* The size, and fields. */
#define N_GIVEN (1 + N_FIELDS)
#define POINT_OF(cookie) ((u32)(cookie) & (N_POINTS_MAX - 1))
#define ARGUMENT_OF(cookie, i) ((u32)((cookie) >> (8 + 4 * (i))) & 15)

/* What a traced point says of one event. */
struct user_trace {
    struct trace trace;
    u64 fields[N_FIELDS];
};

static __always_inline void write_user_trace(u32 point, u32 weight, const u64 given[N_GIVEN])
{
    u64 now = bpf_ktime_get_ns();
    struct user_trace *record = reserve(sizeof(*record));
    if (!record)
        return;
    fill(&record->trace, point, weight, now, now, given[0], given[0]);
#pragma unroll
    for (int i = 0; i < N_FIELDS; i++)
        record->fields[i] = given[1 + i];
    submit(record);
}

static __always_inline int passed(u64 cookie, const u64 given[N_GIVEN])
{
    u32 point = POINT_OF(cookie);
    u32 weight = settings.weight ? settings.weight : 1;
    u64 n = hit(point);
    if (!is_active(point) || !is_sampled(n) || !is_on_node())
        return 0;
    count_untraced(point, group_of(given[0]), weight, given[0], given[0]);
    if (state_of(point) >= TRACE)
        write_user_trace(point, weight, given);
    return 0;
}

/* Of the first `n` arguments those that the cookie asks for. */
static __always_inline int passed_with(u64 cookie, const u64 *arguments, u32 n)
{
    u64 given[N_GIVEN] = {};
#pragma unroll
    for (int i = 0; i < N_GIVEN; i++)
        for (u32 argument = 0; argument < n; argument++)
            if (ARGUMENT_OF(cookie, i) == argument + 1)
                given[i] = arguments[argument];
    return passed(cookie, given);
}

SEC("raw_tp")
int user_tracepoint(struct bpf_raw_tracepoint_args *context)
{
    const u64 given[N_GIVEN] = {};
    return passed(bpf_get_attach_cookie(context), given);
}

/* A program may read only arguments that its tracepoint has, so that there is one for each number of them. */
#define TRACEPOINT_WITH(n) \
    SEC("raw_tp") \
    int user_tracepoint_##n(struct bpf_raw_tracepoint_args *context) \
    { \
        u64 arguments[n]; \
        _Pragma("unroll") for (int i = 0; i < n; i++) arguments[i] = context->args[i]; \
        return passed_with(bpf_get_attach_cookie(context), arguments, n); \
    }

TRACEPOINT_WITH(1)
TRACEPOINT_WITH(2)
TRACEPOINT_WITH(3)
TRACEPOINT_WITH(4)

SEC("uprobe")
int user_function(struct pt_regs *context)
{
    const u64 arguments[] = {context->di, context->si, context->dx};
    return passed_with(bpf_get_attach_cookie(context), arguments, 3);
}

/* Where its arguments are, its note says; libbpf keeps that in a map. */
SEC("usdt")
int user_probe(struct pt_regs *context)
{
    u64 cookie = bpf_usdt_cookie(context);
    u64 given[N_GIVEN] = {};
#pragma unroll
    for (int i = 0; i < N_GIVEN; i++) {
        u32 argument = ARGUMENT_OF(cookie, i);
        long value = 0;
        if (argument)
            bpf_usdt_arg(context, argument - 1, &value);
        /* No size is below zero. */
        given[i] = i == 0 && value < 0 ? 0 : value;
    }
    return passed(cookie, given);
}
