//! One process for one unit.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command};

use rustix::fs::statvfs;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::protocol::{COMPLAINT_BYTES, Unit};

/// The only environment that units have.
const ENVIRONMENT: [(&str, &str); 2] = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")];
const INPUT: &str = "input";
const OUTPUT: &str = "output";
const COMPLAINT: &str = "complaint";

/// Shell text that sets the limit and becomes the unit's program: a limit that is set from outside comes too late for
/// what the program starts.
const LIMITED: &str = "ulimit -f \"$1\" && shift && exec \"$@\"";
/// Bytes in the limit's unit.
const BLOCK_BYTES: u64 = 512;

/// Signal that a process gets whose file would be longer than its limit.
const SIGXFSZ: i32 = Signal::XFSZ.as_raw();
const AFTER_SIGXFSZ: i32 = 128 + SIGXFSZ;

/// Starts a unit in a folder that it has for itself, as the leader of a process group. No file that it writes may have
/// more bytes.
pub fn start(path: &Path, unit: &Unit, folder: &Path, bytes_max: u64) -> io::Result<Child> {
    forget(folder);
    fs::create_dir(folder)?;
    let input = folder.join(INPUT);
    fs::write(&input, &unit.stdin)?;
    let mut command = Command::new("/bin/sh");
    let blocks = (bytes_max / BLOCK_BYTES).to_string();
    command
        .args(["-c", LIMITED, "sh", &blocks])
        .arg(path)
        .args(&unit.args)
        .env_clear()
        .envs(ENVIRONMENT)
        .current_dir(folder)
        .process_group(0);
    command
        .stdin(File::open(&input)?)
        .stdout(File::create(folder.join(OUTPUT))?)
        .stderr(File::create(folder.join(COMPLAINT))?);
    command.spawn()
}

/// Waits for its end, and returns the processor time in seconds that it and those that it waited for took, and the
/// reason why it failed if it did.
pub fn wait(mut child: Child, folder: &Path, bytes_max: u64) -> (f64, Option<String>) {
    let id = child.id();
    // The kernel tells of a process that has ended until it is waited for.
    if let Some(pid) = pid(id) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    }
    let cpu_seconds = cpu_seconds(id).unwrap_or(0.0);
    let failure = match child.wait() {
        // Not every program looks at whether it could write.
        Ok(status) if status.success() => is_full(folder)
            .then(|| "the disk of the worker's folder is full, so that what it wrote may not be all of it".to_owned()),
        Ok(status) => Some(match (status.signal(), status.code()) {
            // What the limit sends, or what a shell says of a process that got it.
            (Some(SIGXFSZ), _) | (_, Some(AFTER_SIGXFSZ)) => {
                format!("it wrote more than the worker's quota has room for: {bytes_max} bytes")
            }
            (Some(signal), _) => format!("it was ended by signal {signal}{}", complaint(folder)),
            (_, code) => format!("it ended with status {}{}", code.unwrap_or(-1), complaint(folder)),
        }),
        Err(error) => Some(format!("it cannot be waited for: {error}")),
    };
    (cpu_seconds, failure)
}

fn is_full(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|disk| disk.f_blocks > 0 && disk.f_bavail == 0)
}

/// Ends a unit's process and all that it started.
pub fn kill(id: u32) {
    if let Some(pid) = pid(id) {
        // One that has ended needs no signal.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Returns the processor time in seconds of a process and those that it waited for.
pub fn cpu_seconds(id: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may have anything in it.
    let fields = stat.rsplit(')').next()?.split_whitespace();
    let ticks: u64 = fields.skip(11).take(4).map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Removes the files that a unit or an earlier try of it left.
pub fn forget(folder: &Path) {
    // What cannot be removed goes with the run's folder.
    let _ = fs::remove_dir_all(folder);
}

/// Opens the output of a unit.
pub fn output(folder: &Path) -> io::Result<File> {
    File::open(folder.join(OUTPUT))
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// Returns the end of its standard error.
fn complaint(folder: &Path) -> String {
    let bytes = fs::read(folder.join(COMPLAINT)).unwrap_or_default();
    let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(COMPLAINT_BYTES)..]);
    let end = end.trim();
    if end.is_empty() { String::new() } else { format!(": {end}") }
}
