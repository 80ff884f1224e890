/* Instrumentation points: what a hook calls to say that it was passed.
 *
 * Every object has its own cells, one for each point and size group on each processor, so that counting shares nothing. Counters only
 * grow; the reader takes differences, and so loses nothing between two pulls. Extremes are kept for the interval of the epoch that the
 * reader sets, in two banks, so that it reads one while the other is written. The layout is that of `cell.rs`. */
#pragma once

#include "kernel.bpf.h"

#define N_POINTS_MAX 32
#define N_GROUPS 8
#define N_RANGES 32
#define N_PROGRAMS_MAX 32

/* States of a point, from inactive to traced. */
#define SUMMARY 1
#define TRACE 2

/* What a node is. */
#define NODE_HOST 0
#define NODE_CGROUP 1
#define NODE_TREE 2

struct cell {
    u64 count;
    u64 sampled;
    u64 time_ns;
    u64 asked;
    u64 returned;
    u64 epoch[2];
    u64 min[2];
    u64 max[2];
    u32 ranges[N_RANGES];
};

/* Operations that have begun and not ended: how many, and the sum of when they began, so that their share of an interval is known. */
struct flight {
    u64 begun;
    u64 begun_ns;
    u64 ended;
    u64 ended_ns;
};

/* How many are on their way on all processors, and the moments at which that left zero, less those at which it came back. */
struct busy {
    s64 now;
    s64 edges_ns;
};

struct settings {
    u64 epoch;
    u64 cgroup;
    u32 node_kind;
    /* One in so many operations is looked at, and counts for as many. */
    u32 weight;
    /* How far below the root the cgroup lies. */
    u32 cgroup_level;
    u32 unused;
    u64 group_limits[N_GROUPS];
    u8 states[N_POINTS_MAX];
};

/* What a traced point says of one operation. */
struct trace {
    u64 begin_ns;
    u64 end_ns;
    u64 asked;
    s64 returned;
    u32 tgid;
    u32 pid;
    u32 processor;
    u32 weight;
    u16 subsystem;
    u16 point;
    u32 unused;
};

/* An operation of a task between its begin and its end. */
struct span {
    u64 begin_ns;
    u64 asked;
    u32 weight;
    u16 point;
    u16 group;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, N_POINTS_MAX *N_GROUPS);
    __type(key, u32);
    __type(value, struct cell);
} cells SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, N_POINTS_MAX);
    __type(key, u32);
    __type(value, struct flight);
} flights SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, N_POINTS_MAX);
    __type(key, u32);
    __type(value, struct busy);
} busies SEC(".maps");

/* How often each program ran, whatever it then did. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, N_PROGRAMS_MAX);
    __type(key, u32);
    __type(value, u64);
} hits SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct span);
} spans SEC(".maps");

/* Records of traced points, shared by all objects of a session; the reader sets its size. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} records SEC(".maps");

/* Records made, those among them that found no room, and what else was not seen. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 5);
    __type(key, u32);
    __type(value, u64);
} losses SEC(".maps");

#define RECORDS_MADE 0
#define RECORDS_DROPPED 1
#define SPANS_LOST 2
#define MAPPINGS_UNKNOWN 3
#define SPANS_FORGOTTEN 4

/* Processes of the measured tree; kept by `tree.bpf.c` and shared by all objects of a session. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, u32);
    __type(value, u32);
} tree SEC(".maps");

struct settings settings SEC(".data.settings");

/* What the loader sets once. */
struct fixed {
    /* Which subsystem this object is, in trace records. */
    u16 subsystem;
    /* Whether the kernel's memory is read by plain loads, which not all kernels allow. */
    u8 loads_plainly;
    u8 unused;
};

const volatile struct fixed fixed SEC(".rodata");

static __always_inline void add(void *map, u32 key, u64 amount)
{
    u64 *value = bpf_map_lookup_elem(map, &key);
    if (value)
        *value += amount;
}

/* Counts a run of a program, and says the how manieth it is on this processor. */
static __always_inline u64 hit(u32 program)
{
    u64 *n = bpf_map_lookup_elem(&hits, &program);
    return n ? ++*n : 0;
}

/* Whether the task that runs belongs to the measured node. */
static __always_inline bool is_on_node(void)
{
    u32 tgid;
    if (settings.node_kind == NODE_HOST)
        return true;
    if (settings.node_kind == NODE_CGROUP)
        return bpf_get_current_ancestor_cgroup_id(settings.cgroup_level) == settings.cgroup;
    tgid = bpf_get_current_pid_tgid() >> 32;
    return bpf_map_lookup_elem(&tree, &tgid) != NULL;
}

static __always_inline u8 state_of(u32 point)
{
    /* The verifier has to see the mask, which the compiler may know to be of no use. */
    barrier_var(point);
    point &= N_POINTS_MAX - 1;
    return settings.states[point];
}

static __always_inline bool is_active(u32 point)
{
    return state_of(point) >= SUMMARY;
}

/* Whether the nth operation is one of those that are looked at. */
static __always_inline bool is_sampled(u64 n)
{
    u32 weight = settings.weight;
    return weight <= 1 || n % weight == 0;
}

static __always_inline u32 group_of(u64 size)
{
    u32 group = 0;
    /* Unrolled: the limits are ascending, the last one has no end. */
#pragma unroll
    for (int i = 0; i < N_GROUPS - 1; i++)
        group += size > settings.group_limits[i];
    return group;
}

/* The power of two at or below `ns`. */
static __always_inline u32 range_of(u64 ns)
{
    u32 range = 0;
    if (ns >> 32)
        return N_RANGES - 1;
    if (ns >> 16) { range += 16; ns >>= 16; }
    if (ns >> 8) { range += 8; ns >>= 8; }
    if (ns >> 4) { range += 4; ns >>= 4; }
    if (ns >> 2) { range += 2; ns >>= 2; }
    return range + (u32)(ns >> 1);
}

/* Room for a record of a size that the compiler knows. */
static __always_inline void *reserve(u64 size)
{
    void *record;
    add(&losses, RECORDS_MADE, 1);
    record = bpf_ringbuf_reserve(&records, size, 0);
    if (!record)
        add(&losses, RECORDS_DROPPED, 1);
    return record;
}

static __always_inline void fill(struct trace *record, u32 point, u32 weight, u64 begin_ns, u64 end_ns, u64 asked, s64 returned)
{
    u64 who = bpf_get_current_pid_tgid();
    record->begin_ns = begin_ns;
    record->end_ns = end_ns;
    record->asked = asked;
    record->returned = returned;
    record->tgid = who >> 32;
    record->pid = (u32)who;
    record->processor = bpf_get_smp_processor_id();
    record->weight = weight;
    record->subsystem = fixed.subsystem;
    record->point = point;
    record->unused = 0;
}

static __always_inline void submit(void *record)
{
    /* The reader is woken by its own timer, never by the measured program. */
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void write_trace(u32 point, u32 weight, u64 begin_ns, u64 end_ns, u64 asked, s64 returned)
{
    struct trace *record = reserve(sizeof(*record));
    if (!record)
        return;
    fill(record, point, weight, begin_ns, end_ns, asked, returned);
    submit(record);
}

static __always_inline struct cell *cell_of(u32 point, u32 group)
{
    u32 key = point * N_GROUPS + group;
    return bpf_map_lookup_elem(&cells, &key);
}

static __always_inline void count_untraced(u32 point, u32 group, u32 weight, u64 asked, s64 returned)
{
    struct cell *cell = cell_of(point, group);
    if (!cell)
        return;
    cell->count += weight;
    cell->sampled += 1;
    cell->asked += asked * weight;
    if (returned > 0)
        cell->returned += returned * weight;
}

/* An event without a length of time. */
static __always_inline void count(u32 point, u32 group, u32 weight, u64 asked, s64 returned)
{
    count_untraced(point, group, weight, asked, returned);
    if (state_of(point) >= TRACE) {
        u64 now = bpf_ktime_get_ns();
        write_trace(point, weight, now, now, asked, returned);
    }
}

/* An operation that took `ns`. */
static __always_inline void count_timed(u32 point, u32 group, u32 weight, u64 ns, u64 asked, s64 returned)
{
    struct cell *cell = cell_of(point, group);
    u64 epoch = settings.epoch;
    u32 bank = epoch & 1;
    if (!cell)
        return;
    cell->count += weight;
    cell->sampled += 1;
    cell->time_ns += ns * weight;
    cell->asked += asked * weight;
    if (returned > 0)
        cell->returned += returned * weight;
    cell->ranges[range_of(ns) & (N_RANGES - 1)] += weight;
    if (cell->epoch[bank] != epoch) {
        cell->epoch[bank] = epoch;
        cell->min[bank] = ns;
        cell->max[bank] = ns;
    } else if (ns < cell->min[bank]) {
        cell->min[bank] = ns;
    } else if (ns > cell->max[bank]) {
        cell->max[bank] = ns;
    }
}

static __always_inline void take_off(u32 point, u64 now, u32 weight)
{
    struct flight *flight = bpf_map_lookup_elem(&flights, &point);
    struct busy *busy = bpf_map_lookup_elem(&busies, &point);
    if (!flight || !busy)
        return;
    flight->begun += weight;
    flight->begun_ns += now * weight;
    if (__sync_fetch_and_add(&busy->now, 1) == 0)
        __sync_fetch_and_add(&busy->edges_ns, -(s64)now);
}

static __always_inline void land(u32 point, u64 begin_ns, u64 now, u32 weight)
{
    struct flight *flight = bpf_map_lookup_elem(&flights, &point);
    struct busy *busy = bpf_map_lookup_elem(&busies, &point);
    if (!flight || !busy)
        return;
    flight->ended += weight;
    flight->ended_ns += begin_ns * weight;
    if (__sync_fetch_and_add(&busy->now, -1) == 1)
        __sync_fetch_and_add(&busy->edges_ns, (s64)now);
}

/* The span of the task that runs, made if it has none. */
static __always_inline struct span *own_span(bool made)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct span *span = bpf_task_storage_get(&spans, task, 0, made ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
    if (!span && made)
        add(&losses, SPANS_LOST, 1);
    return span;
}

/* The task gives up what it had begun: nobody will see its end. */
static __always_inline void forget(struct span *span, u64 now)
{
    if (!span->begin_ns)
        return;
    land(span->point, span->begin_ns, now, span->weight);
    add(&losses, SPANS_FORGOTTEN, span->weight);
    span->begin_ns = 0;
}

static __always_inline void begin(u32 point, u32 group, u64 asked)
{
    struct span *span = own_span(true);
    u64 now;
    if (!span)
        return;
    now = bpf_ktime_get_ns();
    forget(span, now);
    span->begin_ns = now;
    span->asked = asked;
    span->weight = settings.weight ? settings.weight : 1;
    span->point = point;
    span->group = group;
    take_off(point, now, span->weight);
}

/* Ends what the task began, if anything, as an operation of `point`, which may be another than was thought at its begin. */
static __always_inline void end_as(struct span *span, u32 point, s64 returned)
{
    u64 now = bpf_ktime_get_ns();
    u64 begin_ns = span->begin_ns;
    land(span->point, begin_ns, now, span->weight);
    span->begin_ns = 0;
    count_timed(point, span->group, span->weight, now - begin_ns, span->asked, returned);
    if (state_of(point) >= TRACE)
        write_trace(point, span->weight, begin_ns, now, span->asked, returned);
}

char licence[] SEC("license") = "GPL";
