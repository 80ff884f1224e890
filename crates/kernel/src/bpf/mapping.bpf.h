/* The mapping that an address lies in, found without the lock of the mappings.
 *
 * `bpf_find_vma` takes that lock, and where interrupts are off, as at the software events of faults, it can only give it back by an
 * interrupt of its own: 11 us on a virtual machine. Programs run in a section that RCU respects, and the tree of mappings is made for
 * readers under RCU, so that it can be walked; whether the walk came to the right place is checked on the mapping itself. */
#pragma once

#include "point.bpf.h"

/* Lets a program load from any address, in the kernel's own types since 6.2, and as plain bytes since 6.17. */
extern void *bpf_rdonly_cast(const void *address, u32 type) __ksym __weak;
#define ANY_BYTES 0

struct vm_area_struct {
    unsigned long vm_start;
    unsigned long vm_end;
    unsigned long vm_flags;
    struct file *vm_file;
} seen_by_core;

struct maple_tree {
    void *ma_root;
} seen_by_core;

struct mm_struct {
    struct maple_tree mm_mt;
} seen_by_core;

struct task_struct___mapped {
    struct mm_struct *mm;
} seen_by_core;

/* A maple tree's nodes are 256 bytes: a parent, then pivots, then slots, one more than pivots. */
#define NODE_WORDS 32
#define NODE_MASK 255UL
#define NODE_TYPE(entry) ((entry) >> 3 & 0xf)
#define LEAF 1
#define INNER 2
#define INNER_WITH_GAPS 3
#define PIVOTS 15
#define PIVOTS_WITH_GAPS 9
#define DEPTH_MAX 8

/* A tree of one mapping that begins at zero has no node: not that of a process. */
static __always_inline bool is_root_node(unsigned long entry)
{
    return (entry & 3) == 2 && entry > 4096;
}

/* The slot below which `address` lies. */
static __always_inline unsigned long next_entry(const u64 *node, u32 n_pivots, unsigned long address)
{
    u32 slot = n_pivots;
    for (u32 i = 0; i < PIVOTS; i++) {
        u64 pivot;
        if (i >= n_pivots)
            break;
        pivot = node[1 + i];
        if (pivot >= address || (pivot == 0 && i > 0)) {
            slot = i;
            break;
        }
    }
    return node[(1 + n_pivots + slot) & (NODE_WORDS - 1)];
}

/* What a fault has to know of a mapping. */
struct mapping {
    bool is_found;
    bool has_file;
    unsigned long flags;
};

static __always_inline bool is_inner_or_leaf(u32 type)
{
    return type >= LEAF && type <= INNER_WITH_GAPS;
}

static __always_inline u32 n_pivots_of(u32 type)
{
    return type == INNER_WITH_GAPS ? PIVOTS_WITH_GAPS : PIVOTS;
}

/* By plain loads: the processor's exception tables catch those of memory that is gone. */
static __always_inline struct mapping plainly_mapping_of(unsigned long address)
{
    struct task_struct___mapped *task = (void *)bpf_get_current_task_btf();
    struct mm_struct *mm = task->mm;
    unsigned long entry = mm ? (unsigned long)mm->mm_mt.ma_root : 0;
    struct mapping found = {};
    struct vm_area_struct *area;
    if (!is_root_node(entry))
        return found;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        u32 type = NODE_TYPE(entry);
        if (!is_inner_or_leaf(type))
            return found;
        entry = next_entry(bpf_rdonly_cast((void *)(entry & ~NODE_MASK), ANY_BYTES), n_pivots_of(type), address);
        if (type == LEAF)
            break;
    }
    area = bpf_rdonly_cast((void *)entry, bpf_core_type_id_kernel(struct vm_area_struct));
    found.is_found = entry && address >= area->vm_start && address < area->vm_end;
    found.has_file = area->vm_file;
    found.flags = area->vm_flags;
    return found;
}

/* By copies, each of which is a call. */
static __always_inline struct mapping copied_mapping_of(unsigned long address)
{
    struct task_struct___mapped *task = (void *)bpf_get_current_task_btf();
    struct mm_struct *mm = BPF_CORE_READ(task, mm);
    unsigned long entry = (unsigned long)BPF_CORE_READ(mm, mm_mt.ma_root);
    struct mapping found = {};
    struct vm_area_struct *area;
    u64 node[NODE_WORDS];
    if (!is_root_node(entry))
        return found;
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        u32 type = NODE_TYPE(entry);
        if (!is_inner_or_leaf(type) || bpf_probe_read_kernel(node, sizeof(node), (void *)(entry & ~NODE_MASK)))
            return found;
        entry = next_entry(node, n_pivots_of(type), address);
        if (type == LEAF)
            break;
    }
    area = (struct vm_area_struct *)entry;
    found.is_found = entry && address >= BPF_CORE_READ(area, vm_start) && address < BPF_CORE_READ(area, vm_end);
    found.has_file = BPF_CORE_READ(area, vm_file);
    found.flags = BPF_CORE_READ(area, vm_flags);
    return found;
}

/* The mapping of `address` in this task, not found where the walk did not end at it. */
static __always_inline struct mapping mapping_of(unsigned long address)
{
    return fixed.loads_plainly ? plainly_mapping_of(address) : copied_mapping_of(address);
}
