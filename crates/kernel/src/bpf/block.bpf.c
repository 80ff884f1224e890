/* Requests that block devices have completed. Completions interrupt whatever task runs, so that they are the whole host's. */
#include "point.bpf.h"

#define READ 0
#define WRITE 1
#define FLUSH 2
#define OTHER 3

/* The low bits of a request's flags. */
#define OPERATION 0xff
#define OPERATION_READ 0
#define OPERATION_WRITE 1
#define OPERATION_FLUSH 2

struct request {
    unsigned int cmd_flags;
    unsigned int __data_len;
    u64 start_time_ns;
    u64 io_start_time_ns;
} seen_by_core;

static __always_inline u32 point_of(unsigned int flags)
{
    switch (flags & OPERATION) {
    case OPERATION_READ:
        return READ;
    case OPERATION_WRITE:
        return WRITE;
    case OPERATION_FLUSH:
        return FLUSH;
    default:
        return OTHER;
    }
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_is_completed, struct request *request, int error, unsigned int length)
{
    u64 n = hit(0), now, begin_ns;
    u32 point = point_of(request->cmd_flags), weight = settings.weight ? settings.weight : 1;
    u32 whole = request->__data_len;
    s64 returned = error ? -1 : length;
    if (!is_active(point) || settings.node_kind != NODE_HOST || !is_sampled(n))
        return 0;
    now = bpf_ktime_get_ns();
    begin_ns = request->io_start_time_ns;
    /* A request that is not timed was not given to its device one by one. */
    if (!begin_ns || begin_ns > now)
        begin_ns = now;
    count_timed(point, group_of(whole), weight, now - begin_ns, whole, returned);
    if (state_of(point) >= TRACE)
        write_trace(point, weight, begin_ns, now, whole, returned);
    return 0;
}
