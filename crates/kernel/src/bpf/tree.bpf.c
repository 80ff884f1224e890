/* Keeps the set of processes that descend from the root of a measured process tree. */
#include "point.bpf.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_joins, struct task_struct *parent, struct task_struct *child)
{
    u32 of = parent->tgid, joining = child->tgid, is_member = 1;
    if (of != joining && bpf_map_lookup_elem(&tree, &of))
        bpf_map_update_elem(&tree, &joining, &is_member, BPF_ANY);
    return 0;
}

/* A process leaves only when the kernel frees it, so that whoever counts its end still finds it here. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(process_leaves, struct task_struct *task)
{
    u32 leaving = task->tgid;
    if (task->pid == task->tgid)
        bpf_map_delete_elem(&tree, &leaving);
    return 0;
}
