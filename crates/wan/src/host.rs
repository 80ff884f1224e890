//! An emulated host: a network, a name, memory to share and mounts of its own, which live as long as somebody holds
//! them or runs in them.
#![expect(unsafe_code, reason = "leaving the namespaces of this process, on a thread made for it")]

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use rustix::fs::OFlags;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use serde::{Deserialize, Serialize};

/// File that identifies the boot of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The namespaces of a host, held open.
#[derive(Debug)]
pub(crate) struct Host {
    net: OwnedFd,
    uts: OwnedFd,
    ipc: OwnedFd,
    mnt: OwnedFd,
}

/// Numbers by which another process finds the namespaces, while this one lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Numbers {
    net: RawFd,
    uts: RawFd,
    ipc: RawFd,
    mnt: RawFd,
    /// The number of the network namespace, by which processes in it are known.
    pub(crate) inode: u64,
}

impl Host {
    /// Makes a host called `name` that finds others by `hosts_file`.
    pub(crate) fn make(name: &str, hosts_file: &Path) -> io::Result<Self> {
        on_a_thread(|| {
            // SAFETY: this thread was made for this and ends with it; it shares no file descriptor table that is
            // unshared.
            unsafe {
                unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWUTS | UnshareFlags::NEWIPC | UnshareFlags::NEWNS)
            }?;
            rustix::system::sethostname(name.as_bytes())?;
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
            mount("tmpfs", "/dev/shm", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777")?;
            mount_bind(hosts_file, "/etc/hosts")?;
            let open = |what: &str| File::open(format!("/proc/thread-self/ns/{what}")).map(OwnedFd::from);
            let host = Self { net: open("net")?, uts: open("uts")?, ipc: open("ipc")?, mnt: open("mnt")? };
            bind_boot_id(host.numbers()?.inode)?;
            batch("ip", "link set lo up")?;
            Ok(host)
        })
    }

    /// Does `work` on a thread inside of its network.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_a_thread(|| {
            move_into_link_name_space(self.net.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        })
    }

    pub(crate) fn numbers(&self) -> io::Result<Numbers> {
        let inode = File::from(self.net.try_clone()?).metadata()?.ino();
        let [net, uts, ipc, mnt] = [&self.net, &self.uts, &self.ipc, &self.mnt].map(AsRawFd::as_raw_fd);
        Ok(Numbers { net, uts, ipc, mnt, inode })
    }

    /// Returns the path under which `ip` takes its network for a device's, from any process.
    pub(crate) fn net_path(&self) -> PathBuf {
        Numbers::path(std::process::id(), self.net.as_raw_fd())
    }
}

impl Numbers {
    fn path(holder: u32, number: RawFd) -> PathBuf {
        format!("/proc/{holder}/fd/{number}").into()
    }

    /// Moves this process, which must have one thread, into the host that process `holder` holds.
    pub(crate) fn enter(self, holder: u32) -> io::Result<()> {
        // All are opened before any is entered: another mount namespace may have another /proc.
        let open = |number| {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            rustix::fs::open(Self::path(holder, number), flags, rustix::fs::Mode::empty())
        };
        let (net, uts, ipc, mnt) = (open(self.net)?, open(self.uts)?, open(self.ipc)?, open(self.mnt)?);
        move_into_link_name_space(mnt.as_fd(), Some(LinkNameSpaceType::Mount))?;
        move_into_link_name_space(uts.as_fd(), Some(LinkNameSpaceType::HostNameAndNISDomainName))?;
        move_into_link_name_space(ipc.as_fd(), Some(LinkNameSpaceType::InterProcessCommunication))?;
        Ok(move_into_link_name_space(net.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// Gives the host whose network has this number a boot of its own. UCX, for one, takes hosts of the same boot for one
/// machine, and then their processes copy each other's memory instead of using the network.
fn bind_boot_id(inode: u64) -> io::Result<()> {
    const FILE: &str = "/dev/shm/boot-id";
    let of_machine = fs::read_to_string(BOOT_ID)?;
    fs::write(FILE, format!("{inode:08x}{}", of_machine.get(8..).unwrap_or_default()))?;
    mount_bind(FILE, BOOT_ID)?;
    // What is bound needs no name.
    fs::remove_file(FILE)
}

/// Carries out `commands`, lines of `program`, which is `ip` or `tc`, in this thread's network.
pub(crate) fn batch(program: &str, commands: &str) -> io::Result<()> {
    let mut child = Command::new(program).args(["-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("`{program}` failed: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// Does work on a thread of its own. Namespaces are a thread's: one that has left this process's may not do anything
/// else.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let joined =
        thread::scope(|scope| thread::Builder::new().spawn_scoped(scope, work).map(thread::ScopedJoinHandle::join))?;
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
