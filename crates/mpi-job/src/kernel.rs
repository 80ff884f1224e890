//! Kernel counts of a rank: context switches, the time that it waited for a processor, and the time that the hypervisor
//! took from its host.

use std::fs;

use clock::monotonic_ns;
use mpi_trace::file::KernelNote;

/// `/proc/stat` counts in hundredths of a second, whatever the kernel's own tick is.
const USER_HZ_NS: u64 = 10_000_000;

/// Returns the counts of a process of this host, by its main thread; none of one that is gone, or if the kernel does
/// not count. Three small files are read.
#[must_use]
pub fn kernel_of(pid: u32) -> Option<KernelNote> {
    let read = |path: String| fs::read_to_string(path).ok();
    let (status, waits) = (read(format!("/proc/{pid}/status"))?, read(format!("/proc/{pid}/schedstat"))?);
    let stat = read("/proc/stat".to_owned())?;
    let switches = |name| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    // Of the processor's times the eighth is the stolen one.
    let stolen: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(KernelNote {
        monotonic_ns: monotonic_ns(),
        voluntary_switches: switches("voluntary_ctxt_switches:")?,
        forced_switches: switches("nonvoluntary_ctxt_switches:")?,
        waited_ns: waits.split_whitespace().nth(1)?.parse().ok()?,
        stolen_ns: stolen * USER_HZ_NS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_this_process_only_grow() {
        let [before, after] = [(); 2].map(|()| kernel_of(std::process::id()).unwrap());
        assert!(after.monotonic_ns > before.monotonic_ns && after.waited_ns >= before.waited_ns);
        assert!(after.voluntary_switches >= before.voluntary_switches && after.stolen_ns >= before.stolen_ns);
        assert_eq!(kernel_of(u32::MAX), None);
    }
}
