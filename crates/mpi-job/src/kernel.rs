//! Kernel counts of a rank: context switches, the time that it ran and that it waited for a processor, faults, and the
//! time that the hypervisor took from its host.

use std::fs;

use clock::monotonic_ns;
use mpi_trace::file::KernelNote;

/// `/proc/stat` and `/proc/PID/stat` count in hundredths of a second, whatever the kernel's own tick is.
const USER_HZ_NS: u64 = 10_000_000;

/// Returns the counts of a process of this host, switches and waits by its main thread; none of one that is gone, or if
/// the kernel does not count. Four small files are read.
#[must_use]
pub fn kernel_of(pid: u32) -> Option<KernelNote> {
    let read = |path: String| fs::read_to_string(path).ok();
    let (status, waits) = (read(format!("/proc/{pid}/status"))?, read(format!("/proc/{pid}/schedstat"))?);
    let stat = read("/proc/stat".to_owned())?;
    let switches = |name| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    // Of the processor's times the eighth is the stolen one.
    let stolen: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    let own = read(format!("/proc/{pid}/stat"))?;
    // The name, field 2, may hold anything. Behind it is field 3.
    let own: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| own.get(number - 3)?.parse::<u64>().ok();
    Some(KernelNote {
        monotonic_ns: monotonic_ns(),
        voluntary_switches: switches("voluntary_ctxt_switches:")?,
        forced_switches: switches("nonvoluntary_ctxt_switches:")?,
        waited_ns: waits.split_whitespace().nth(1)?.parse().ok()?,
        stolen_ns: stolen * USER_HZ_NS,
        user_ns: field(14)? * USER_HZ_NS,
        system_ns: field(15)? * USER_HZ_NS,
        minor_faults: field(10)?,
        major_faults: field(12)?,
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
        assert!(after.minor_faults >= before.minor_faults && before.minor_faults > 0);
        assert_eq!(kernel_of(u32::MAX), None);
    }
}
