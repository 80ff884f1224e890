/* What all programs see of the kernel: helpers, and the few fields of its structures that they read.
 *
 * The loader moves each access to where the running kernel has the field (CO-RE), so no header of a kernel is needed to build. */
#pragma once

/* That registers go by the kernel's names, as below, and not by those of its headers for programs. */
#define __VMLINUX_H__

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define seen_by_core __attribute__((preserve_access_index))

struct inode {
    u16 i_mode;
} seen_by_core;

struct file {
    struct inode *f_inode;
} seen_by_core;

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
} seen_by_core;

struct files_struct {
    struct fdtable *fdt;
} seen_by_core;

struct task_struct {
    int pid;
    int tgid;
    u64 start_time;
    struct files_struct *files;
    struct task_struct *real_parent;
} seen_by_core;

/* Registers of x86-64 at a system call or function: its first three arguments, and where it is. */
struct pt_regs {
    unsigned long di;
    unsigned long si;
    unsigned long dx;
    unsigned long ip;
} seen_by_core;

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFSOCK 0140000
