/* Programs that do nothing: what it costs merely to be called. */
#include "kernel.bpf.h"

SEC("tp_btf/sys_enter")
int BPF_PROG(empty_call, struct pt_regs *regs, long call)
{
    return 0;
}

char licence[] SEC("license") = "GPL";
