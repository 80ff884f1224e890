//! The kernel's software events, one on each processor, at each occurrence.

use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `struct perf_event_attr` as far as it is needed, which the kernel accepts by its size.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

const PERF_TYPE_SOFTWARE: u32 = 1;
/// Closed in programs that are started.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Opens the event of this number on each processor that is there.
pub fn on_each_processor(number: u64) -> io::Result<Vec<OwnedFd>> {
    let online = fs::read_to_string("/sys/devices/system/cpu/online")?;
    processors(online.trim()).into_iter().map(|processor| open(number, processor)).collect()
}

/// Returns the numbers in a list such as `0-3,8`.
fn processors(list: &str) -> Vec<i32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

fn open(number: u64, processor: i32) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: number,
        period: 1,
        ..Attributes::default()
    };
    // SAFETY: the attributes are as long as they say, and outlive the call; it gives a new descriptor or an error.
    unsafe {
        let event = libc::syscall(libc::SYS_perf_event_open, &raw const attributes, -1, processor, -1, CLOSE_ON_EXEC);
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(event as i32))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_of_processors_have_ranges() {
        assert_eq!(super::processors("0-2,5"), [0, 1, 2, 5]);
    }
}
