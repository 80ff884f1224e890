/* How long tasks wait for a processor: from being woken, or from losing one, until they run. */
#include "point.bpf.h"

#define WOKEN 0
#define PREEMPTED 1

#define WAKE 0
#define WAKE_NEW 1
#define SWITCH 2

struct kernfs_node {
    u64 id;
} seen_by_core;

struct cgroup {
    struct kernfs_node *kn;
    int level;
    struct cgroup *ancestors[1];
} seen_by_core;

struct css_set {
    struct cgroup *dfl_cgrp;
} seen_by_core;

struct task_struct___grouped {
    struct css_set *cgroups;
} seen_by_core;

/* Whether a task that does not run at this moment belongs to the measured node. */
static __always_inline bool task_is_on_node(struct task_struct *task)
{
    struct task_struct___grouped *grouped = (void *)task;
    struct cgroup *cgroup, *ancestor = NULL;
    u32 tgid = task->tgid;
    if (settings.node_kind == NODE_HOST)
        return true;
    if (settings.node_kind == NODE_TREE)
        return bpf_map_lookup_elem(&tree, &tgid) != NULL;
    cgroup = BPF_CORE_READ(grouped, cgroups, dfl_cgrp);
    if (settings.cgroup_level > (u32)BPF_CORE_READ(cgroup, level))
        return false;
    bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &cgroup->ancestors[settings.cgroup_level]);
    return BPF_CORE_READ(ancestor, kn, id) == settings.cgroup;
}

static __always_inline void waits(struct task_struct *task, u32 point, u64 n)
{
    struct span *span;
    if (!is_active(point) || !is_sampled(n) || !task_is_on_node(task))
        return;
    span = bpf_task_storage_get(&spans, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!span) {
        add(&losses, SPANS_LOST, 1);
        return;
    }
    span->begin_ns = bpf_ktime_get_ns();
    span->weight = settings.weight ? settings.weight : 1;
    span->point = point;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(task_is_woken, struct task_struct *task)
{
    waits(task, WOKEN, hit(WAKE));
    return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(new_task_is_woken, struct task_struct *task)
{
    waits(task, WOKEN, hit(WAKE_NEW));
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tasks_change, bool preempted, struct task_struct *before, struct task_struct *next, unsigned int state)
{
    u64 n = hit(SWITCH), now, begin_ns;
    struct span *span;
    u32 point;
    /* It lost its processor although it could have gone on; the idle task waits for nothing. */
    if (state == 0 && before->pid != 0)
        waits(before, PREEMPTED, n);
    span = bpf_task_storage_get(&spans, next, 0, 0);
    if (!span || !span->begin_ns)
        return 0;
    now = bpf_ktime_get_ns();
    begin_ns = span->begin_ns;
    point = span->point;
    span->begin_ns = 0;
    count_timed(point, 0, span->weight, now - begin_ns, 0, 0);
    if (state_of(point) >= TRACE)
        write_trace(point, span->weight, begin_ns, now, 0, 0);
    return 0;
}
