/* Page faults by what they did and to what kind of memory, and what reclaim does with pages.
 *
 * A fault begins at its exception, where the error code tells what was tried, and ends at the software event that the kernel counts it
 * by, minor or major. One that ends otherwise, by a signal for instance, is no fault of these counts. What mapping it lies in is looked
 * up at the end, as only then it is there in any case. */
#include "mapping.bpf.h"

/* Points are kinds times classes; the order is that of `vm.rs`. */
#define N_CLASSES 3
#define FILE_CLASS 0
#define EXECUTABLE 1
#define INTERNAL 2

#define PAGE_IN 0
#define PAGE_OUT 1
#define REACTIVATION 2
#define ZERO_FILL 3
#define COPY_ON_WRITE 4
#define MAP 5

#define POINT(kind, class) ((kind) * N_CLASSES + (class))

/* All faults, which alone are known to be on their way: of what kind they are is seen at their end. */
#define FAULT 18

#define USER_FAULT 0
#define KERNEL_FAULT 1
#define MINOR 2
#define MAJOR 3
#define WRITTEN_OUT 4
#define ACTIVATED 5
#define TASK_END 6

/* Bits of the error code on x86. */
#define WAS_PRESENT 1
#define IS_WRITE 2

#define VM_EXEC 0x4
#define VM_SHARED 0x8

/* A page belongs to an anonymous mapping where the low bit of its mapping is set. */
#define MAPPING_ANONYMOUS 1

struct address_space {
    struct inode *host;
} seen_by_core;

struct folio {
    unsigned long flags;
    struct address_space *mapping;
} seen_by_core;

/* What a program for a software event is given, on x86-64. */
struct software_event {
    u64 registers[21];
    u64 period;
    u64 address;
};

struct seen {
    u32 class;
    u32 is_shared;
};

static __always_inline struct seen look(unsigned long address)
{
    struct mapping area = mapping_of(address);
    struct seen seen = {.class = INTERNAL};
    /* Where another task changes the mappings, nothing is known of this one, and the fault counts as internal. */
    if (!area.is_found) {
        add(&losses, MAPPINGS_UNKNOWN, 1);
        return seen;
    }
    seen.is_shared = (area.flags & VM_SHARED) != 0;
    if (area.has_file)
        seen.class = area.flags & VM_EXEC ? EXECUTABLE : FILE_CLASS;
    return seen;
}

static __always_inline u32 kind_of(const struct seen *seen, unsigned long error)
{
    bool is_private_write = error & IS_WRITE && !seen->is_shared;
    if (error & WAS_PRESENT || seen->class != INTERNAL)
        return is_private_write ? COPY_ON_WRITE : MAP;
    return ZERO_FILL;
}

static __always_inline int fault_begins(u32 program, unsigned long error)
{
    u64 n = hit(program);
    if (is_active(FAULT) && is_sampled(n) && is_on_node())
        begin(FAULT, 0, error);
    return 0;
}

static __always_inline int fault_ends(u32 program, struct software_event *context, bool is_major)
{
    struct span *span = own_span(false);
    struct seen seen;
    u64 error;
    hit(program);
    if (!span || !span->begin_ns)
        return 0;
    error = span->asked;
    span->asked = 0;
    seen = look(context->address);
    end_as(span, POINT(is_major ? PAGE_IN : kind_of(&seen, error), seen.class), 0);
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(user_fault_begins, unsigned long address, struct pt_regs *regs, unsigned long error)
{
    return fault_begins(USER_FAULT, error);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(kernel_fault_begins, unsigned long address, struct pt_regs *regs, unsigned long error)
{
    return fault_begins(KERNEL_FAULT, error);
}

SEC("perf_event")
int minor_fault_ends(struct software_event *context)
{
    return fault_ends(MINOR, context, false);
}

SEC("perf_event")
int major_fault_ends(struct software_event *context)
{
    return fault_ends(MAJOR, context, true);
}

static __always_inline u32 class_of(struct folio *folio)
{
    return (unsigned long)BPF_CORE_READ(folio, mapping) & MAPPING_ANONYMOUS ? INTERNAL : FILE_CLASS;
}

SEC("tp_btf/mm_vmscan_write_folio")
int BPF_PROG(page_goes_out, struct folio *folio)
{
    u32 point = POINT(PAGE_OUT, class_of(folio));
    hit(WRITTEN_OUT);
    if (is_active(point) && is_on_node())
        count(point, 0, 1, 0, 0);
    return 0;
}

SEC("tp_btf/mm_lru_activate")
int BPF_PROG(page_is_active_again, struct folio *folio)
{
    u32 point = POINT(REACTIVATION, class_of(folio));
    u64 n = hit(ACTIVATED);
    if (is_active(point) && is_sampled(n) && is_on_node())
        count(point, 0, settings.weight ? settings.weight : 1, 0, 0);
    return 0;
}

/* A task that a fault ended never comes to the fault's end. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(fault_of_task_is_forgotten, struct task_struct *task)
{
    struct span *span = own_span(false);
    hit(TASK_END);
    if (span)
        forget(span, bpf_ktime_get_ns());
    return 0;
}
