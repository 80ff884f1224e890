//! Devices in `/sys`: which there are, and whether one sleeps.

use std::{path::Path, time::Duration};

use crate::file::read_page;

/// Time between two listings of devices that come and go. A listing takes some hundred times as long as a reading.
const LISTED_EVERY: Duration = Duration::from_secs(60);

/// Devices that come and go, listed anew once in a while.
#[derive(Debug)]
pub(crate) struct Devices<T> {
    listed_at: Option<Duration>,
    devices: Vec<T>,
}

impl<T> Devices<T> {
    pub(crate) fn new() -> Devices<T> {
        Devices { listed_at: None, devices: Vec::new() }
    }

    /// The devices, from `list` if they were not listed for long.
    pub(crate) fn at(&mut self, at: Duration, list: impl FnOnce() -> Vec<T>) -> &[T] {
        let is_recent = |listed_at| at.checked_sub(listed_at).is_some_and(|elapsed| elapsed < LISTED_EVERY);
        if !self.listed_at.is_some_and(is_recent) {
            self.listed_at = Some(at);
            self.devices = list();
        }
        &self.devices
    }
}

/// Whether the device below `directory` is suspended, so that a question could wake it up.
pub(crate) fn is_asleep(directory: &Path, text: &mut Vec<u8>) -> bool {
    read_page(&directory.join("power/runtime_status"), text).is_some_and(|status| status.trim_ascii() == b"suspended")
}
