/* Creation and end of tasks: processes and threads alike. */
#include "point.bpf.h"

#define CREATE 0
#define END 1

SEC("tp_btf/sched_process_fork")
int BPF_PROG(task_begins, struct task_struct *parent, struct task_struct *child)
{
    hit(0);
    if (is_active(CREATE) && is_on_node())
        count(CREATE, 0, 1, 0, 0);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_ends, struct task_struct *task)
{
    u64 now, lived;
    hit(1);
    if (!is_active(END) || !is_on_node())
        return 0;
    now = bpf_ktime_get_ns();
    lived = now - task->start_time;
    count_timed(END, 0, 1, lived, 0, 0);
    if (state_of(END) >= TRACE)
        write_trace(END, 1, task->start_time, now, 0, 0);
    return 0;
}
