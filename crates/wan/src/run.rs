//! An emulation that other processes find: by its name, in a folder of its own, for as long as it runs.
//!
//! The folder has a file of hosts, a remote shell for launchers, and the state: who holds the namespaces, and under
//! which numbers. The state is locked by the process that runs the emulation; where it is not locked, that process is
//! gone, and what remains is cleared away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use watch::Watch;

use crate::emulation::{Emulation, EmulationError};
use crate::host::Numbers;
use crate::plan::Plan;

/// Folder of the emulations. Only root runs any.
const FOLDER: &str = "/run/foretop-wan";
/// Environment variable of whatever runs in a host: the emulation's name.
const MARK: &str = "FORETOP_WAN";
/// Time between two checks for processes that have not ended yet, and greatest number of checks.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const N_LOOKS: usize = 1_000;

/// An emulation with a name.
pub struct Run {
    /// The emulation.
    pub emulation: Emulation,
    name: String,
    /// The remote shell for launchers.
    shell: PathBuf,
    inodes: BTreeSet<u64>,
    _lock: File,
}

/// The reason why a run cannot begin, be found or be ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A second run of the same name.
    #[error("the emulation `{name}` is running already; `foretop wan down {name}` ends it")]
    Running {
        /// Its name.
        name: String,
    },
    /// A host that no emulation has.
    #[error("no emulation has a host `{host}`; there are: {known}")]
    NoHost {
        /// Name as given.
        host: String,
        /// All hosts there are.
        known: String,
    },
    /// A host that several emulations have.
    #[error("several emulations have a host `{host}`: name one of {known}")]
    Ambiguous {
        /// Name as given.
        host: String,
        /// Their full names.
        known: String,
    },
    /// An emulation that does not end.
    #[error("what runs in the emulation `{name}` does not end")]
    Stays {
        /// Its name.
        name: String,
    },
    /// Hosts that cannot be made.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// Failure of a file of the run.
    #[error("cannot use `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A host that is there and cannot be entered.
    #[error("cannot enter the host `{host}`")]
    Enter {
        /// Its name.
        host: String,
        /// The cause.
        source: io::Error,
    },
}

/// State of a run that other processes need.
#[derive(Serialize, Deserialize)]
struct State {
    pid: u32,
    hosts: BTreeMap<String, Numbers>,
    /// Network namespaces, the gateways' too.
    inodes: BTreeSet<u64>,
}

impl Run {
    /// Clears away the rest of a killed run of this name, and starts one. `program` is what is called with `wan exec`.
    ///
    /// # Errors
    /// [`RunError`] if one is running, or hosts cannot be made.
    pub fn start(name: &str, plan: &Plan, program: &Path, watch: &Watch) -> Result<Self, RunError> {
        if !rustix::process::geteuid().is_root() {
            return Err(EmulationError::NotRoot.into());
        }
        let folder = Path::new(FOLDER).join(name);
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| RunError::File { path, source }
        };
        clear_dead(name)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(at(&folder))?;
        let state_path = folder.join("state.json");
        let mut lock = own_file::create(&state_path).map_err(at(&state_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunError::Running { name: name.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(RunError::File { path: state_path, source }),
        }
        let hosts_file = folder.join("hosts");
        fs::write(&hosts_file, plan.hosts_file()).map_err(at(&hosts_file))?;
        let shell = folder.join("shell");
        let script = format!("#!/bin/sh\n{MARK}='{name}' exec '{}' wan exec --shell \"$@\"\n", program.display());
        let written =
            fs::write(&shell, script).and_then(|()| fs::set_permissions(&shell, Permissions::from_mode(0o700)));
        written.map_err(at(&shell))?;
        let emulation = Emulation::start(plan, &hosts_file, watch)?;
        let numbers = |host: &crate::host::Host| host.numbers().map_err(at(&state_path));
        let all = emulation.all_hosts().map(numbers).collect::<Result<Vec<_>, _>>()?;
        let names = plan.sites.iter().flat_map(|site| site.hosts.iter().cloned());
        let hosts = names
            .zip(emulation.hosts())
            .map(|(name, host)| Ok((name, numbers(host)?)))
            .collect::<Result<_, RunError>>()?;
        let state = State { pid: std::process::id(), hosts, inodes: all.iter().map(|numbers| numbers.inode).collect() };
        let text = serde_json::to_string(&state).expect("names and numbers are JSON");
        lock.write_all(text.as_bytes()).map_err(at(&state_path))?;
        Ok(Self { emulation, name: name.to_owned(), shell, inodes: state.inodes, _lock: lock })
    }

    /// Returns the path of the remote shell that launchers of MPI can be given.
    #[must_use]
    pub fn shell(&self) -> &Path {
        &self.shell
    }

    /// Moves this process, which must have one thread, into a host of a running emulation, `HOST` or `EMULATION/HOST`.
    /// It keeps its folder where the host has that too. For what is started by an emulation's host or remote shell,
    /// that emulation's hosts come first.
    ///
    /// # Errors
    /// [`RunError`] if there is no such host, or not only one.
    pub fn enter(wanted: &str) -> Result<Vec<(&'static str, String)>, RunError> {
        if !rustix::process::geteuid().is_root() {
            return Err(EmulationError::NotRoot.into());
        }
        let mut found = Vec::new();
        let mut known = Vec::new();
        for name in names()? {
            let Some((state, true)) = look(&name)? else { continue };
            for (host, numbers) in &state.hosts {
                let full = format!("{name}/{host}");
                if wanted == host || wanted == full {
                    found.push((full.clone(), state.pid, *numbers, name.clone()));
                }
                known.push(full);
            }
        }
        let own = std::env::var(MARK).ok();
        if found.iter().any(|(.., name)| own.as_ref() == Some(name)) {
            found.retain(|(.., name)| own.as_ref() == Some(name));
        }
        let [(_, pid, numbers, name)] = &found[..] else {
            let host = wanted.to_owned();
            return Err(match found.len() {
                0 if known.is_empty() => {
                    RunError::NoHost { host, known: "none (`foretop wan up FILE` makes them)".to_owned() }
                }
                0 => RunError::NoHost { host, known: known.join(", ") },
                _ => {
                    let known: Vec<String> = found.into_iter().map(|(full, ..)| full).collect();
                    RunError::Ambiguous { host, known: known.join(", ") }
                }
            });
        };
        let folder = std::env::current_dir();
        numbers.enter(*pid).map_err(|source| RunError::Enter { host: wanted.to_owned(), source })?;
        // A folder that is not there any more is none in the host either: it begins in the root.
        if let Ok(folder) = folder {
            let entered = std::env::set_current_dir(&folder);
            entered.map_err(|source| RunError::File { path: folder, source })?;
        }
        Ok(vec![(MARK, name.clone())])
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Nobody is left to be told; the next run of this name tries again.
        let _ = end_programs(&self.name, &self.inodes);
        let _ = fs::remove_dir_all(Path::new(FOLDER).join(&self.name));
    }
}

/// Ends the emulation `name` with all that runs in its hosts, or clears away what is left of it. Returns whether there
/// was anything.
///
/// # Errors
/// [`RunError`] if something in it does not end.
pub fn take_down(name: &str) -> Result<bool, RunError> {
    match look(name)? {
        None => Ok(false),
        Some((_, false)) => clear_dead(name).map(|()| true),
        Some((state, true)) => {
            if let Some(pid) = Pid::from_raw(state.pid as i32) {
                let told = kill_process(pid, Signal::TERM);
                told.map_err(|source| RunError::Enter { host: name.to_owned(), source: source.into() })?;
            }
            for _ in 0..N_LOOKS {
                if !look(name)?.is_some_and(|(_, is_running)| is_running) {
                    return clear_dead(name).map(|()| true);
                }
                clock::sleep(LOOK_EVERY);
            }
            Err(RunError::Stays { name: name.to_owned() })
        }
    }
}

/// Returns the names of all runs, those of dead ones too.
fn names() -> Result<Vec<String>, RunError> {
    let entries = match fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(RunError::File { path: FOLDER.into(), source }),
    };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Reads a run's state, and whether its process lives.
fn look(name: &str) -> Result<Option<(State, bool)>, RunError> {
    let path = Path::new(FOLDER).join(name).join("state.json");
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RunError::File { path, source }),
    };
    let is_running = match file.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(source)) => return Err(RunError::File { path, source }),
    };
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|source| RunError::File { path, source })?;
    // A run that is only beginning has no state yet, and one that was killed then has no hosts.
    let none = State { pid: 0, hosts: BTreeMap::new(), inodes: BTreeSet::new() };
    Ok(Some((serde_json::from_str(&text).unwrap_or(none), is_running)))
}

fn clear_dead(name: &str) -> Result<(), RunError> {
    let Some((state, false)) = look(name)? else { return Ok(()) };
    end_programs(name, &state.inodes)?;
    let folder = Path::new(FOLDER).join(name);
    fs::remove_dir_all(&folder).map_err(|source| RunError::File { path: folder, source })
}

/// Ends the programs in these networks that bear this emulation's mark: numbers of namespaces are given again, and a
/// mark can be inherited.
fn end_programs(name: &str, inodes: &BTreeSet<u64>) -> Result<(), RunError> {
    let mark = format!("{MARK}={name}").into_bytes();
    let is_ours = |process: &Path| {
        let inode = fs::metadata(process.join("ns/net")).map(|meta| meta.ino());
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        inode.is_ok_and(|inode| inodes.contains(&inode))
            && environment.split(|byte| *byte == 0).any(|entry| entry == mark)
    };
    for _ in 0..N_LOOKS {
        let processes = fs::read_dir("/proc").map_err(|source| RunError::File { path: "/proc".into(), source })?;
        let ours = processes.filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid = path.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
            is_ours(&path).then_some(pid)
        });
        let ours: Vec<Pid> = ours.collect();
        if ours.is_empty() {
            return Ok(());
        }
        for pid in ours {
            // One that has ended meanwhile is what is wanted.
            let _ = kill_process(pid, Signal::KILL);
        }
        clock::sleep(LOOK_EVERY);
    }
    Err(RunError::Stays { name: name.to_owned() })
}
