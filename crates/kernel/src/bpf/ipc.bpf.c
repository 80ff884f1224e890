/* Messages through sockets, in software and at the device.
 *
 * A message's time is from the entry of its system call, or from the message before it in the same call. What goes through shared memory
 * passes neither a socket nor a device. */
#include "point.bpf.h"

#define SEND 0
#define RECEIVE 1
#define TRANSMIT 2

#define ENTER 0
#define SENT 1
#define RECEIVED 2
#define TRANSMITTED 3

/* Numbers of system calls on x86-64. */
#define NR_READ 0
#define NR_WRITE 1
#define NR_READV 19
#define NR_WRITEV 20
#define NR_SENDTO 44
#define NR_RECVFROM 45
#define NR_SENDMSG 46
#define NR_RECVMSG 47
#define NR_RECVMMSG 299
#define NR_SENDMMSG 307

struct sock {
    u16 sk_type;
} seen_by_core;

static __always_inline bool may_send_or_receive(long call)
{
    switch (call) {
    case NR_READ:
    case NR_WRITE:
    case NR_READV:
    case NR_WRITEV:
    case NR_SENDTO:
    case NR_RECVFROM:
    case NR_SENDMSG:
    case NR_RECVMSG:
    case NR_RECVMMSG:
    case NR_SENDMMSG:
        return true;
    default:
        return false;
    }
}

static __always_inline bool says_its_size(long call)
{
    return call == NR_READ || call == NR_WRITE || call == NR_SENDTO || call == NR_RECVFROM;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(message_call_begins, struct pt_regs *regs, long call)
{
    u64 n = hit(ENTER);
    struct span *span;
    if (!may_send_or_receive(call) || !(is_active(SEND) || is_active(RECEIVE)) || !is_sampled(n) || !is_on_node())
        return 0;
    span = own_span(true);
    if (!span)
        return 0;
    span->begin_ns = bpf_ktime_get_ns();
    span->asked = says_its_size(call) ? regs->dx : 0;
    span->weight = settings.weight ? settings.weight : 1;
    return 0;
}

static __always_inline int message_ends(u32 program, u32 point, int returned)
{
    struct span *span;
    u64 now, begin_ns, asked;
    u32 group;
    hit(program);
    if (!is_active(point))
        return 0;
    span = own_span(false);
    if (!span || !span->begin_ns)
        return 0;
    now = bpf_ktime_get_ns();
    begin_ns = span->begin_ns;
    /* A call may carry more messages. */
    span->begin_ns = now;
    asked = span->asked ? span->asked : returned > 0 ? returned : 0;
    group = group_of(returned > 0 ? returned : 0);
    count_timed(point, group, span->weight, now - begin_ns, asked, returned);
    if (state_of(point) >= TRACE)
        write_trace(point, span->weight, begin_ns, now, asked, returned);
    return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(message_is_sent, struct sock *sock, int returned, int flags)
{
    return message_ends(SENT, SEND, returned);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(message_is_received, struct sock *sock, int returned, int flags)
{
    return message_ends(RECEIVED, RECEIVE, returned);
}

SEC("tp_btf/net_dev_xmit")
int BPF_PROG(packet_is_at_the_device, void *packet, int result, void *device, unsigned int length)
{
    u64 n = hit(TRANSMITTED);
    if (is_active(TRANSMIT) && is_sampled(n) && is_on_node())
        count(TRANSMIT, group_of(length), settings.weight ? settings.weight : 1, length, result == 0 ? length : 0);
    return 0;
}
