//! Simultaneous multithreading (SMT) of this host: which of its processors are threads of the same core.

use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use mpi_run::allowed_cpus;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Kernel's folder of processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Threads of a core that ranks may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Smt {
    /// All threads of a core.
    On,
    /// One thread of a core.
    Off,
}

/// Returns what the kernel reports of simultaneous multithreading.
pub fn state() -> String {
    match std::fs::read_to_string(Path::new(PROCESSORS).join("smt/control")).as_deref().map(str::trim) {
        Ok("on") => "on".to_owned(),
        Ok("off" | "forceoff") => "off".to_owned(),
        Ok("notsupported" | "notimplemented") => "not supported: cores have no siblings".to_owned(),
        _ => "not known".to_owned(),
    }
}

/// Returns the processors that ranks may use: those of this process, or the first thread of each core of them.
pub fn processors(smt: Smt) -> Vec<u32> {
    let allowed = allowed_cpus();
    let siblings = |cpu: u32| {
        let path = Path::new(PROCESSORS).join(format!("cpu{cpu}/topology/thread_siblings_list"));
        std::fs::read_to_string(path).ok().and_then(|text| noise::cpus(&text).ok()).unwrap_or_else(|| vec![cpu])
    };
    match smt {
        Smt::On => allowed,
        Smt::Off => first_threads(&allowed, siblings),
    }
}

/// Returns the processors of which none that comes before is a thread of the same core.
fn first_threads(allowed: &[u32], siblings: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let is_first = |cpu: &u32| !siblings(*cpu).iter().any(|other| other < cpu && allowed.contains(other));
    allowed.iter().copied().filter(is_first).collect()
}

/// Has processes that this thread starts from now on use these processors only.
pub fn restrict_to(processors: &[u32]) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    processors.iter().for_each(|cpu| set.set(*cpu as usize));
    sched_setaffinity(None, &set).context("cannot restrict ranks to one thread of each core")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_of_each_core_is_left_however_the_kernel_numbers_them() {
        let apart = |cpu: u32| vec![cpu % 2, cpu % 2 + 2];
        let adjacent = |cpu: u32| vec![cpu / 2 * 2, cpu / 2 * 2 + 1];
        assert_eq!(first_threads(&[0, 1, 2, 3], apart), [0, 1]);
        assert_eq!(first_threads(&[0, 1, 2, 3], adjacent), [0, 2]);
        assert_eq!(first_threads(&[1, 2, 3], adjacent), [1, 2], "thread 0 of the first core is not allowed");
        assert_eq!(first_threads(&[0, 1], |cpu| vec![cpu]), [0, 1], "cores without siblings");
    }
}
