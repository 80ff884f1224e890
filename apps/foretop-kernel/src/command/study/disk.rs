//! File systems in files, mounted until they are dropped.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use program::Failure;
use workload::Device;

use super::tool::tool;

/// A file system in a file.
pub struct Disk(PathBuf);

impl Disk {
    /// Makes it by `mkfs.KIND`, and mounts it in `scratch`.
    pub fn make(scratch: &Path, name: &str, kind: &str, size_bytes: u64) -> Result<Self, Failure> {
        let (image, folder) = (scratch.join(format!("{name}.image")), scratch.join(name));
        let file = fs::File::create_new(&image).map_err(Failure::of)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size_bytes).map_err(Failure::of)?;
        fs::create_dir(&folder).map_err(Failure::of)?;
        tool(&format!("mkfs.{kind}"), ["-q".as_ref(), "-F".as_ref(), image.as_path()])?;
        // Past the page cache, which would otherwise serve what went past that of the file system in it.
        let device =
            tool("losetup", ["--direct-io=on".as_ref(), "--find".as_ref(), "--show".as_ref(), image.as_path()])?;
        let mounted = tool("mount", [device.as_ref(), folder.as_path()]);
        // The loop device is detached once nothing uses it: at once, or with the mount.
        tool("losetup", ["--detach".as_ref(), device.as_ref()])?;
        mounted?;
        Ok(Self(folder))
    }

    /// Returns the folder where the disk is mounted.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The device that it is on.
    pub fn device(&self) -> Result<Device, Failure> {
        let device = fs::metadata(&self.0).map_err(Failure::of)?.dev();
        Ok(Device { major: rustix::fs::major(device), minor: rustix::fs::minor(device) })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Err(failure) = tool("umount", [self.0.as_path()]) {
            eprintln!("foretop kernel: `{}` stays mounted: {}", self.0.display(), failure.message);
        }
    }
}
