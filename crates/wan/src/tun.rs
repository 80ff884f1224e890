//! A network device whose other end is a file of this process: what the kernel routes to it is read, what is written
//! arrives.
#![expect(unsafe_code, reason = "the request that names a TUN device")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl::{Setter, ioctl};

/// `TUNSETIFF` of linux/if_tun.h.
const SET_INTERFACE: rustix::ioctl::Opcode = 0x4004_54ca;
/// Packets without a header before them, of `IFF_TUN` and `IFF_NO_PI`.
const FLAGS: u16 = 0x0001 | 0x1000;
/// Length of a name in linux/if.h, its end included.
const NAME_BYTES: usize = 16;

/// The kernel's `struct ifreq`, as far as it is read.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    flags: u16,
    rest: [u8; 22],
}

/// Makes the device in this thread's network namespace. It lives as long as the file is open.
pub(crate) fn open(name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = options.read(true).write(true).custom_flags(flags.bits() as i32).open("/dev/net/tun")?;
    let mut request = Request { name: [0; NAME_BYTES], flags: FLAGS, rest: [0; 22] };
    for (to, from) in request.name[..NAME_BYTES - 1].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    // SAFETY: `TUNSETIFF` takes a pointer to a `struct ifreq`, which is 40 bytes long, and `Request` is laid out as
    // one.
    unsafe { ioctl(&file, Setter::<SET_INTERFACE, Request>::new(request)) }?;
    Ok(file)
}
