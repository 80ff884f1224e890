//! The use of the file systems, from `/proc/self/mountinfo` and `statvfs`.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs::process::MountInfo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{StatVfs, statvfs};
use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::error::Absence;
use crate::file::{KernelFile, lines};
use crate::tick::{Sensor, Tick};

const AVAILABLE: &Family = row("filesystem.{mountpoint}.available");
const USED: &Family = row("filesystem.{mountpoint}.used");
const INODES_USED: &Family = row("filesystem.{mountpoint}.inodes_used");

const FILE: &str = "proc/self/mountinfo";

/// Types that store on disks or in memory of this host although no block device is behind their number.
const LOCAL_TYPES: [&str; 4] = ["bcachefs", "btrfs", "tmpfs", "zfs"];

/// The folders in which the system keeps what is no store of anybody's.
const SYSTEM_FOLDERS: [&str; 4] = ["/dev", "/proc", "/run", "/sys"];

/// The file systems that this host can write to and that fill: each once, by the first of its places as names go.
///
/// Those of other hosts are left out: one whose server is gone would keep the tick waiting.
pub(crate) struct Filesystems {
    root: PathBuf,
    file: KernelFile,
    /// Open, for the kernel tells by it that something was mounted or unmounted.
    watch: File,
    /// Empty until the file was read, and after it could not be.
    mounted: Option<Vec<Filesystem>>,
}

impl Filesystems {
    pub(crate) fn open(root: &Path) -> Result<Filesystems, Absence> {
        let file = KernelFile::open(root, FILE)?;
        let watch = File::open(root.join(FILE)).map_err(|_| Absence::NoFile { file: FILE })?;
        Ok(Filesystems { root: root.to_owned(), file, watch, mounted: None })
    }

    fn has_changed(&self) -> bool {
        let mut watched = [PollFd::new(&self.watch, PollFlags::PRI)];
        // A failure is taken for a change, which costs no more than a reading of the file.
        poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).map_or(true, |n| n > 0)
    }
}

impl Sensor for Filesystems {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        if self.has_changed() {
            self.mounted = None;
        }
        let mounted = match &mut self.mounted {
            Some(mounted) => mounted,
            unknown => {
                let text = self.file.read(tick.text)?;
                let mounts = parse(text).map_err(|line| self.file.malformed("a mount", line))?;
                unknown.insert(local(mounts, &self.root))
            }
        };
        for filesystem in mounted {
            filesystem.read(tick.readings);
        }
        Ok(())
    }
}

/// The mounts in their order but for those whose names are no text, or the line that is none.
fn parse(text: &[u8]) -> Result<Vec<MountInfo>, &[u8]> {
    let lines = lines(text).filter_map(|line| str::from_utf8(line).ok());
    lines.map(|line| MountInfo::from_line(line).map_err(|_| line.as_bytes())).collect()
}

/// Blanks, line ends and backslashes stand as `\` and three octal digits.
fn unescaped(path: &Path) -> PathBuf {
    let mut rest = path.as_os_str().as_encoded_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        let digits = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = &after[if escaped.is_some() { 3 } else { 0 }..];
    }
    OsString::from_vec(bytes).into()
}

/// Returns those of the mounts that are a store of this host's, under `root`.
fn local(mounts: Vec<MountInfo>, root: &Path) -> Vec<Filesystem> {
    // What is mounted over another hides it, and a folder comes before what it holds.
    let by_point: BTreeMap<PathBuf, MountInfo> =
        mounts.into_iter().map(|mount| (unescaped(&mount.mount_point), mount)).collect();
    let mut devices = HashSet::new();
    let mut found = Vec::new();
    for (point, mount) in by_point {
        let Ok(below) = point.strip_prefix("/") else { continue };
        let path = root.join(below);
        let is_store = || path.is_dir() && statvfs(&path).is_ok_and(|told| told.f_blocks > 0);
        if fills(&mount) && !devices.contains(&mount.majmin) && is_store() {
            devices.insert(mount.majmin);
            found.push(Filesystem::new(path, point.as_os_str().as_encoded_bytes()));
        }
    }
    found
}

fn fills(mount: &MountInfo) -> bool {
    let (kind, point) = (mount.fs_type.as_str(), &mount.mount_point);
    // Number 0 is of what has no block device.
    let is_of_disk = !mount.majmin.starts_with("0:");
    let is_root_of_container = kind == "overlay" && point == Path::new("/");
    let is_read_only = [&mount.mount_options, &mount.super_options].iter().any(|options| options.contains_key("ro"));
    (is_of_disk || is_root_of_container || LOCAL_TYPES.contains(&kind))
        && !is_read_only
        && !SYSTEM_FOLDERS.iter().any(|folder| point.starts_with(folder))
}

struct Filesystem {
    path: PathBuf,
    available: Arc<Signal>,
    used: Arc<Signal>,
    inodes_used: Arc<Signal>,
}

impl Filesystem {
    fn new(path: PathBuf, point: &[u8]) -> Filesystem {
        let signal = |family| Signal::labelled(family, point);
        Filesystem { path, available: signal(AVAILABLE), used: signal(USED), inodes_used: signal(INODES_USED) }
    }

    /// Hands out nothing where the file system cannot be asked at this moment.
    fn read(&self, readings: &mut Readings) {
        let Ok(told) = statvfs(&self.path) else { return };
        let size = Room::of(&told);
        readings.push(&self.available, size.available_bytes);
        let shares = [(&self.used, size.used), (&self.inodes_used, size.inodes_used)];
        for (signal, share) in shares {
            if let Some(share) = share {
                readings.push(signal, share);
            }
        }
    }
}

/// The room that is taken and the room that is left.
#[derive(Debug, PartialEq)]
struct Room {
    available_bytes: f64,
    /// The used share of the room that users other than root can take, as `df` has it.
    used: Option<f64>,
    inodes_used: Option<f64>,
}

impl Room {
    fn of(told: &StatVfs) -> Room {
        // Some make inodes as they are needed, and say 0 of 0.
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let used = told.f_blocks.saturating_sub(told.f_bfree);
        Room {
            available_bytes: told.f_bavail as f64 * told.f_frsize as f64,
            used: share(used, used.saturating_add(told.f_bavail)),
            inodes_used: share(told.f_files.saturating_sub(told.f_ffree), told.f_files),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::StatVfsMountFlags;

    use super::*;

    fn told(blocks: [u64; 3], inodes: [u64; 2]) -> StatVfs {
        let ([f_blocks, f_bfree, f_bavail], [f_files, f_ffree]) = (blocks, inodes);
        StatVfs {
            f_bsize: 4096,
            f_frsize: 1024,
            f_blocks,
            f_bfree,
            f_bavail,
            f_files,
            f_ffree,
            f_favail: f_ffree,
            f_fsid: 0,
            f_flag: StatVfsMountFlags::empty(),
            f_namemax: 255,
        }
    }

    #[test]
    fn what_root_keeps_for_itself_is_not_available() {
        // 100 blocks, 40 free, 20 of them for others than root: 60 of 80 are taken.
        let room = Room::of(&told([100, 40, 20], [10, 9]));
        assert_eq!(room, Room { available_bytes: 20_480.0, used: Some(0.75), inodes_used: Some(0.1) });
    }

    #[test]
    fn a_file_system_without_inodes_says_nothing_of_them() {
        assert_eq!(Room::of(&told([100, 100, 100], [0, 0])).inodes_used, None);
    }

    #[test]
    fn more_free_than_there_is_is_none_taken() {
        assert_eq!(
            Room::of(&told([1, 2, 1], [1, 2])),
            Room { available_bytes: 1024.0, used: Some(0.0), inodes_used: Some(0.0) }
        );
        assert_eq!(Room::of(&told([0, 0, 0], [0, 0])), Room { available_bytes: 0.0, used: None, inodes_used: None });
    }

    #[test]
    fn blanks_in_names_are_octal() {
        assert_eq!(unescaped(Path::new(r"/mnt/a\040b\134c")), Path::new(r"/mnt/a b\c"));
        assert_eq!(unescaped(Path::new(r"/mnt/\9\04")), Path::new(r"/mnt/\9\04"));
    }

    #[track_caller]
    fn check_fills(line: &str, expected: bool) {
        assert_eq!(fills(&MountInfo::from_line(line).unwrap()), expected, "{line}");
    }

    #[test]
    fn what_fills_is_local_and_writable() {
        check_fills("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard", true);
        check_fills("28 27 8:17 / /data rw shared:1 master:2 - xfs /dev/sdb1 rw", true);
        check_fills("29 27 0:40 /@home /home rw - btrfs /dev/sda2 rw", true);
        check_fills("30 27 0:41 / /tmp rw - tmpfs tmpfs rw,size=64k", true);
        check_fills("1 0 0:50 / / rw - overlay overlay rw,lowerdir=/x", true);
        check_fills("31 27 0:51 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw", false);
        check_fills("32 27 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro", false);
        check_fills("33 27 8:33 / /media/dvd rw - iso9660 /dev/sr0 ro", false);
        check_fills("34 27 0:42 / /home rw - nfs4 server:/home rw", false);
        check_fills("35 27 0:23 / /dev/shm rw - tmpfs tmpfs rw", false);
        check_fills("36 27 0:21 / /proc rw - proc proc rw", false);
    }
}
