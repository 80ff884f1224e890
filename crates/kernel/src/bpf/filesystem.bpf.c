/* Reads and writes of regular files, by system call.
 *
 * Memory maps and io_uring pass by: the faults of the former are the subsystem `vm`'s. */
#include "point.bpf.h"

#define READ 0
#define WRITE 1

#define ENTER 0
#define EXIT 1

/* Numbers of system calls on x86-64. */
#define NR_READ 0
#define NR_WRITE 1
#define NR_PREAD 17
#define NR_PWRITE 18
#define NR_READV 19
#define NR_WRITEV 20
#define NR_PREADV 295
#define NR_PWRITEV 296
#define NR_PREADV2 327
#define NR_PWRITEV2 328

/* Parts of a vectored call that are added up; the rest of a longer one is not counted as asked for. */
#define N_PARTS_MAX 16

struct part {
    u64 base;
    u64 length;
};

static __always_inline int point_of(long call)
{
    switch (call) {
    case NR_READ:
    case NR_PREAD:
    case NR_READV:
    case NR_PREADV:
    case NR_PREADV2:
        return READ;
    case NR_WRITE:
    case NR_PWRITE:
    case NR_WRITEV:
    case NR_PWRITEV:
    case NR_PWRITEV2:
        return WRITE;
    default:
        return -1;
    }
}

static __always_inline bool is_vectored(long call)
{
    return call != NR_READ && call != NR_WRITE && call != NR_PREAD && call != NR_PWRITE;
}

static __always_inline bool is_regular_file(unsigned int descriptor)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct fdtable *table = task->files->fdt;
    struct file *file = NULL;
    struct inode *inode;
    if (descriptor >= table->max_fds)
        return false;
    bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
    if (!file)
        return false;
    inode = BPF_CORE_READ(file, f_inode);
    return (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFREG;
}

static __always_inline u64 length_of(u64 parts, u64 n_parts)
{
    struct part part;
    u64 length = 0;
    for (int i = 0; i < N_PARTS_MAX; i++) {
        if (i >= n_parts || bpf_probe_read_user(&part, sizeof(part), (void *)(parts + i * sizeof(part))))
            break;
        length += part.length;
    }
    return length;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(file_call_begins, struct pt_regs *regs, long call)
{
    u64 n = hit(ENTER), asked;
    int point = point_of(call);
    if (point < 0 || !is_active(point) || !is_sampled(n) || !is_on_node())
        return 0;
    if (!is_regular_file((unsigned int)regs->di))
        return 0;
    asked = regs->dx;
    if (is_vectored(call))
        asked = length_of(regs->si, asked);
    begin(point, group_of(asked), asked);
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(file_call_ends, struct pt_regs *regs, long returned)
{
    struct span *span;
    hit(EXIT);
    span = own_span(false);
    if (span && span->begin_ns)
        end_as(span, span->point, returned);
    return 0;
}
