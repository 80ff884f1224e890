//! The use of the file systems, from `/proc/PID/mountinfo` and `statvfs`.
//!
//! The host's first process decides which file systems there are and their names, and the options of a file system,
//! not of its mount, whether it can be written to. A service or a container may see other mounts, or see them
//! read-only.
//! Format: proc_pid_mountinfo(5).

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::iter;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs::process::MountInfo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, StatVfs, open, statfs, statvfs};
use signal::{Family, Readings, Signal, row};

use crate::ReadError;
use crate::error::Absence;
use crate::file::{KernelFile, lines, value_of};
use crate::tick::{Sensor, Tick};

const AVAILABLE: &Family = row("filesystem.{mountpoint}.available");
const USED: &Family = row("filesystem.{mountpoint}.used");
const INODES_USED: &Family = row("filesystem.{mountpoint}.inodes_used");

/// The mounts of the host's first process, and those of this one.
const FIRST: &str = "proc/1/mountinfo";
const OWN: &str = "proc/self/mountinfo";

/// Types that store on disks or in memory of this host although no block device is behind their number.
const LOCAL_TYPES: [&str; 4] = ["bcachefs", "btrfs", "tmpfs", "zfs"];

/// The folders in which the system's own file systems in memory are no store of anybody's, and the one that is.
const SYSTEM_FOLDERS: [&str; 4] = ["/dev", "/proc", "/run", "/sys"];
const SHARED_MEMORY: &str = "/dev/shm";

/// The file systems that this host can write to and that fill: each once, by the first of its places as names go.
///
/// Those of other hosts are left out: one whose server is gone would keep the tick waiting.
pub(crate) struct Filesystems {
    root: PathBuf,
    /// The mounts that have the names.
    file: KernelFile,
    own: KernelFile,
    /// Whether `root` has a kernel behind it, so that paths can be checked: else it is a recorded host.
    is_live: bool,
    /// Open, because the kernel reports by it that something was mounted or unmounted.
    watches: Vec<File>,
    /// None until the files were read, and after they could not be.
    mounted: Option<Vec<Filesystem>>,
}

impl Filesystems {
    pub(crate) fn open(root: &Path) -> Result<Filesystems, Absence> {
        let file = KernelFile::open(root, FIRST).or_else(|_| KernelFile::open(root, OWN))?;
        let watches = [FIRST, OWN].iter().filter_map(|file| File::open(root.join(file)).ok()).collect();
        let is_live = statfs(root.join("proc")).is_ok_and(|stat| stat.f_type == PROC_SUPER_MAGIC);
        Ok(Filesystems {
            root: root.to_owned(),
            file,
            own: KernelFile::at(root.join(OWN)),
            is_live,
            watches,
            mounted: None,
        })
    }

    fn has_changed(&self) -> bool {
        let mut watched: Vec<_> = self.watches.iter().map(|file| PollFd::new(file, PollFlags::PRI)).collect();
        // A failure is taken for a change, which costs no more than a reading of the files.
        poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).map_or(true, |n| n > 0)
    }

    fn find(&self, text: &mut Vec<u8>) -> Result<Vec<Filesystem>, ReadError> {
        let mut mounts = read_mounts(&self.file, text)?;
        let mut own = None;
        if self.is_live {
            let of_self = read_mounts(&self.own, text)?;
            // In a container that shares its processes with another one, the first process is in that one.
            let root = of_self.iter().rfind(|mount| mount.mount_point == Path::new("/")).map(|mount| &mount.majmin);
            if self.root == Path::new("/") && !mounts.iter().any(|mount| Some(&mount.majmin) == root) {
                mounts.clone_from(&of_self);
            }
            own = Some(of_self);
        }
        let places = Places { root: &self.root, mounts: &mounts, own: own.as_deref() };
        Ok(places.find_stores())
    }
}

impl Sensor for Filesystems {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        if self.has_changed() {
            self.mounted = None;
        }
        if self.mounted.is_none() {
            self.mounted = Some(self.find(tick.text)?);
        }
        for filesystem in self.mounted.iter().flatten() {
            filesystem.read(tick.readings);
        }
        Ok(())
    }
}

/// The mounts in their order but for those whose names are no text.
fn read_mounts(file: &KernelFile, text: &mut Vec<u8>) -> Result<Vec<MountInfo>, ReadError> {
    let lines = lines(file.read(text)?).filter_map(|line| str::from_utf8(line).ok());
    let mounts = lines.map(|line| MountInfo::from_line(line).map_err(|_| file.malformed("a mount", line.as_bytes())));
    mounts.collect()
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

/// The places where file systems can be found.
struct Places<'a> {
    root: &'a Path,
    /// The mounts below `root`.
    mounts: &'a [MountInfo],
    /// The mounts of this process, which are all that it can reach; none on a recorded host.
    own: Option<&'a [MountInfo]>,
}

impl Places<'_> {
    /// Returns the file systems that fill and that this process can reach, each once.
    fn find_stores(&self) -> Vec<Filesystem> {
        // What is mounted over another hides it, and a folder comes before what it holds.
        let by_point: BTreeMap<PathBuf, &MountInfo> =
            self.mounts.iter().map(|mount| (unescaped(&mount.mount_point), mount)).collect();
        let mut devices = HashSet::new();
        let mut found = Vec::new();
        for (point, mount) in by_point {
            // Single files are mounted in containers, and are no place to store in.
            if !fills(mount, &point) || devices.contains(&mount.majmin) || self.below_root(&point).is_file() {
                continue;
            }
            let path = self.path_to(&mount.majmin, &point);
            if let Some(path) = path.filter(|path| statvfs(path).is_ok_and(|stat| stat.f_blocks > 0)) {
                devices.insert(&mount.majmin);
                found.push(Filesystem::new(path, point.as_os_str().as_encoded_bytes()));
            }
        }
        found
    }

    /// A path by which this process reaches the file system `device`: `point`, or another of its places.
    fn path_to(&self, device: &str, point: &Path) -> Option<PathBuf> {
        let named = iter::once(self.below_root(point));
        let own = self.own.unwrap_or_default().iter().filter(|mount| mount.majmin == device);
        named.chain(own.map(|mount| unescaped(&mount.mount_point))).find(|path| self.is_on(path, device))
    }

    fn below_root(&self, point: &Path) -> PathBuf {
        self.root.join(point.strip_prefix("/").unwrap_or(point))
    }

    /// Whether `path` leads to the file system `device`, and not to another that is mounted over it or in its place.
    fn is_on(&self, path: &Path, device: &str) -> bool {
        let Some(own) = self.own else { return path.is_dir() };
        let mount = self.mount_at(path);
        own.iter().any(|one| Some(one.mnt_id) == mount && one.majmin == device)
    }

    /// The number of the mount that `path` is on. Device numbers of files do not serve: those of btrfs are others.
    fn mount_at(&self, path: &Path) -> Option<i32> {
        let opened = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let info = self.root.join("proc/self/fdinfo").join(opened.as_raw_fd().to_string());
        i32::try_from(value_of(&fs::read(info).ok()?, "mnt_id:")?).ok()
    }
}

fn fills(mount: &MountInfo, point: &Path) -> bool {
    let kind = mount.fs_type.as_str();
    // Number 0 is of what has no block device.
    let is_of_disk = !mount.majmin.starts_with("0:");
    let is_root_of_container = kind == "overlay" && point == Path::new("/");
    let is_read_only = mount.super_options.contains_key("ro");
    let is_of_system = kind == "tmpfs"
        && !point.starts_with(SHARED_MEMORY)
        && SYSTEM_FOLDERS.iter().any(|folder| point.starts_with(folder));
    (is_of_disk || is_root_of_container || LOCAL_TYPES.contains(&kind)) && !is_read_only && !is_of_system
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
        let mount = MountInfo::from_line(line).unwrap();
        assert_eq!(fills(&mount, &mount.mount_point), expected, "{line}");
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
        check_fills("36 27 0:21 / /proc rw - proc proc rw", false);
    }

    #[test]
    fn a_mount_that_is_read_only_says_nothing_about_its_file_system() {
        check_fills("27 1 254:0 / / ro,relatime - ext4 /dev/vda rw", true);
        check_fills("28 27 8:17 /www /www ro - xfs /dev/sdb1 rw", true);
    }

    #[test]
    fn disks_below_the_system_s_folders_and_shared_memory_fill() {
        check_fills("35 27 0:23 / /dev/shm rw - tmpfs tmpfs rw", true);
        check_fills("37 27 8:49 / /run/media/ann/stick rw - vfat /dev/sdd1 rw", true);
        check_fills("38 27 0:60 / /run/media/ann/disk rw - btrfs /dev/sde1 rw", true);
        check_fills("39 27 0:24 / /run rw - tmpfs tmpfs rw,mode=755", false);
        check_fills("40 27 0:62 / /run/user/1000 rw - tmpfs tmpfs rw,mode=700", false);
        check_fills("41 27 0:63 / /sys/fs/cgroup ro - tmpfs tmpfs rw", false);
    }
}
