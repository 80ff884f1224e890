//! The machine that cases were evaluated on, in a line.

use std::fs::read_to_string;

/// Name, processor, processors that may be used, and kernel, as far as they can be read.
pub(crate) fn host() -> String {
    let line =
        |path: &str| read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let processors = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
    let name = line("/proc/sys/kernel/hostname").unwrap_or_else(|| "a host".to_owned());
    let kernel = line("/proc/sys/kernel/osrelease").unwrap_or_else(|| "an unknown kernel".to_owned());
    format!("{name}: {n_processors} x {}, {kernel}", model.unwrap_or("an unknown processor"))
}
