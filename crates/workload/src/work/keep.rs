//! Sleeping beside a control group, to remove it when nobody else is left to do so.

use std::{fs, io, path::Path, process, time::Duration};

/// Time for which the removal is tried, because processes of others may be in the group.
const PATIENCE: Duration = Duration::from_secs(600);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits for the end of the parent, removes the group, and ends.
pub(super) fn remove_after_parent(group: &Path) -> ! {
    super::wait_for_end_of_parent();
    let start = clock::instant();
    while let Err(error) = fs::remove_dir(group) {
        if error.kind() == io::ErrorKind::NotFound || start.elapsed() > PATIENCE {
            break;
        }
        clock::sleep(PAUSE);
    }
    process::exit(0)
}
