//! Starts the ranks' keeper: the program itself, stopped before its `main`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use super::{DESCRIPTORS, Report, Setup};

/// Variable with the folder in which the tracer leaves its files.
const TRACE_FOLDER: &str = "FORETOP_MPI_TRACE";
const PRELOAD: &str = "LD_PRELOAD";
const SEARCHED: &str = "LD_LIBRARY_PATH";
/// The face of MPICH, in a folder beside the components.
const MPICH_FOLDER: &str = "mpich";
const MPICH: &str = "libmpich.so.12";
/// Folder of Open MPI's own components on this system.
const SYSTEM_COMPONENTS: &str = "/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3";
/// Parameters that Open MPI is to use. `schizo=ompi` leaves the choice of the start-up to `ess`.
const CHOICES: [(&str, &str); 13] = [
    ("schizo", "ompi"),
    ("ess", "foretop"),
    ("pmix", "foretop"),
    ("pml", "foretop"),
    ("osc", "pt2pt"),
    ("btl", "self"),
    ("coll", "basic,tuned,libnbc,inter,self"),
    ("hwloc_base_binding_policy", "none"),
    // Nothing uses these, and each takes memory in every rank.
    ("errmgr", "default_app"),
    ("mpool", "^hugepage"),
    ("op", "^avx"),
    ("rcache", "^grdma"),
    ("reachable", "weighted"),
];

/// Paths of the parts that run inside of a rank.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The library to preload.
    pub library: PathBuf,
    /// The folder of Open MPI's components.
    pub components: PathBuf,
    /// The tracer, and the folder for its files.
    pub tracer: Option<(PathBuf, PathBuf)>,
}

impl Parts {
    /// The folder of the library that programs get which are linked with MPICH.
    #[must_use]
    pub fn mpich_folder(&self) -> PathBuf {
        let folder = self.components.join(MPICH_FOLDER);
        std::path::absolute(&folder).unwrap_or(folder)
    }
}

/// A program that cannot be started as ranks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// No file of that name.
    #[error("there is no program `{0}`: give its path, or a name that PATH finds")]
    Absent(PathBuf),
    /// The file cannot be read or run.
    #[error("cannot start `{}`", path.display())]
    Start {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Nothing can be preloaded into it.
    #[error("`{0}` is linked statically, so that no library can be put before its own: link it dynamically")]
    Static(PathBuf),
    /// The face of another MPI is missing.
    #[error("`{program}` is linked with MPICH, and there is no `{}`: `make mpi` builds it", library.display())]
    Mpich {
        /// The program.
        program: PathBuf,
        /// The library that the program would be given.
        library: PathBuf,
    },
    /// The system would not preload anything.
    #[error(
        "`{0}` runs as another user (set-user-ID), and the system preloads nothing into it: use a copy without that bit"
    )]
    OtherUser(PathBuf),
    /// A description that cannot be handed to the ranks.
    #[error("cannot hand the simulation's description to the ranks")]
    Setup(#[source] io::Error),
}

/// A program that can be started as ranks.
pub struct Program {
    path: PathBuf,
    /// Arguments that come before the user's.
    before: Vec<OsString>,
    /// Whether it is linked with MPICH.
    is_mpich: bool,
}

/// Ranks that run.
pub struct Running {
    keeper: Child,
    reports: io::Lines<BufReader<File>>,
}

impl Program {
    /// Looks at a program, given by a path or by a name that PATH finds.
    ///
    /// # Errors
    /// Where it is not one that can be simulated.
    pub fn find(program: &Path) -> Result<Self, LaunchError> {
        let is_path = program.components().count() > 1;
        let path = if is_path { Some(program.to_owned()).filter(|path| path.is_file()) } else { in_path(program) };
        let path = path.ok_or_else(|| LaunchError::Absent(program.to_owned()))?;
        let read = std::fs::read(&path).and_then(|bytes| Ok((bytes, path.metadata()?)));
        let (bytes, metadata) = read.map_err(|source| LaunchError::Start { path: path.clone(), source })?;
        if let Some(script) = bytes.strip_prefix(b"#!") {
            return interpreted(&path, script);
        }
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        if metadata.permissions().mode() & 0o6000 != 0 && !is_own {
            return Err(LaunchError::OtherUser(path));
        }
        if elf::is_static(&bytes) {
            return Err(LaunchError::Static(path));
        }
        let is_mpich = memchr_text(&bytes, b"libmpich.so") && !memchr_text(&bytes, b"libmpi.so");
        Ok(Self { path, before: Vec::new(), is_mpich })
    }

    /// Starts it with these arguments.
    ///
    /// # Errors
    /// Where it does not start.
    pub fn launch(self, setup: &Setup, parts: &Parts, arguments: &[OsString]) -> Result<Running, LaunchError> {
        let mpich = parts.mpich_folder();
        let library = mpich.join(MPICH);
        if self.is_mpich && !library.is_file() {
            return Err(LaunchError::Mpich { program: self.path, library });
        }
        let (description, reader, writer) = channels(setup).map_err(LaunchError::Setup)?;
        let mut command = Command::new(&self.path);
        command.args(self.before).args(arguments);
        // The first, so that a call has begun before others that are preloaded, such as tracers, see it.
        let mut preloaded = parts.library.clone().into_os_string();
        let others = std::env::var_os(PRELOAD).filter(|others| !others.is_empty());
        for other in parts.tracer.iter().map(|(library, _)| library.as_os_str()).chain(others.as_deref()) {
            preloaded.push(":");
            preloaded.push(other);
        }
        command.env(PRELOAD, preloaded);
        if let Some((_, folder)) = &parts.tracer {
            command.env(TRACE_FOLDER, folder);
        }
        // Libraries of the program may be linked with it where the program is not.
        command.env(SEARCHED, before(SEARCHED, &mpich));
        let (description, reports) = (description.as_raw_fd(), writer.as_raw_fd());
        command.env(DESCRIPTORS, format!("{description},{reports},{}", std::process::id()));
        for (name, value) in CHOICES {
            command.env(format!("OMPI_MCA_{name}"), value);
        }
        let mut folders = parts.components.clone().into_os_string();
        folders.push(":");
        folders.push(SYSTEM_COMPONENTS);
        command.env("OMPI_MCA_mca_base_component_path", folders);
        let keeper = command.spawn().map_err(|source| LaunchError::Start { path: self.path, source })?;
        // Its end is seen only when nobody else can write.
        drop(writer);
        Ok(Running { keeper, reports: BufReader::new(reader).lines() })
    }
}

impl Running {
    /// Returns the next report; none when all have ended.
    pub fn hear(&mut self) -> Option<Report> {
        serde_json::from_str(&self.reports.next()?.ok()?).ok()
    }

    /// Waits for the keeper's end.
    ///
    /// # Errors
    /// Where it cannot be waited for.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        self.keeper.wait()
    }
}

/// A description to read, and both ends of a pipe. The program inherits all but the end that is read.
fn channels(setup: &Setup) -> io::Result<(File, File, File)> {
    let description = rustix::fs::memfd_create("foretop-sim", rustix::fs::MemfdFlags::empty())?;
    let mut description = File::from(description);
    description.write_all(serde_json::to_string(setup)?.as_bytes())?;
    description.rewind()?;
    let (reader, writer) = rustix::pipe::pipe()?;
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::CLOEXEC)?;
    Ok((description, reader.into(), writer.into()))
}

/// A list of folders in the environment, with one more at its start.
fn before(variable: &str, folder: &Path) -> OsString {
    let others = std::env::var_os(variable).filter(|others| !others.is_empty());
    let mut folders = folder.as_os_str().to_owned();
    if let Some(others) = others {
        folders.push(":");
        folders.push(others);
    }
    folders
}

fn in_path(program: &Path) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// A script is run by its interpreter. A shell stays one process, and what it starts becomes the ranks.
fn interpreted(path: &Path, script: &[u8]) -> Result<Program, LaunchError> {
    let line = script.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().filter(|word| !word.ends_with("/env"));
    let interpreter = Path::new(words.next().unwrap_or_default());
    let mut program = Program::find(interpreter)?;
    program.before.extend(words.map(OsString::from));
    program.before.push(path.as_os_str().to_owned());
    Ok(program)
}

fn memchr_text(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

mod elf {
    //! The part of ELF that shows whether a program asks for a dynamic linker.

    const HEADERS_AT: usize = 0x20;
    const HEADER_SIZE: usize = 0x36;
    const INTERPRETER: u32 = 3;

    fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
        let field = bytes.get(at..at + length)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Whether this is a program for which no dynamic linker is asked. What is no ELF file is left to the system to
    /// refuse.
    pub(super) fn is_static(bytes: &[u8]) -> bool {
        let asks = || {
            let (first, size) = (number(bytes, HEADERS_AT, 8)? as usize, number(bytes, HEADER_SIZE, 2)? as usize);
            let n_headers = number(bytes, HEADER_SIZE + 2, 2)? as usize;
            let kinds = (0..n_headers).map(|i| number(bytes, first.checked_add(i * size)?, 4));
            Some(kinds.flatten().any(|kind| kind == u64::from(INTERPRETER)))
        };
        bytes.starts_with(b"\x7fELF") && asks() == Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_refused(name: &str, content: &[u8], wanted: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        let refused = Program::find(&path).err().expect("such a program is refused").to_string();
        assert!(refused.contains(wanted), "{refused}");
    }

    #[test]
    fn programs_that_cannot_be_simulated_are_refused_with_the_remedy() {
        let mut header = [0; 64];
        header[..4].copy_from_slice(b"\x7fELF");
        check_refused("static", &header, "link it dynamically");
        check_refused("script", b"#!/nowhere/sh\nmpirun x", "no program `/nowhere/sh`");
        assert!(matches!(Program::find(Path::new("/nowhere/x")), Err(LaunchError::Absent(_))));
    }

    #[test]
    fn a_program_for_mpich_is_one_that_names_no_other_library() {
        let folder = tempfile::tempdir().expect("a folder");
        for (content, is_mpich) in
            [(&b"libmpich.so.12"[..], true), (b"libmpi.so.40", false), (b"libmpich.so.12 libmpi.so.40", false)]
        {
            let path = folder.path().join("peer");
            std::fs::write(&path, content).expect("a file");
            assert_eq!(Program::find(&path).expect("a program").is_mpich, is_mpich);
        }
    }

    #[test]
    fn scripts_are_run_by_their_interpreters() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("script");
        for (line, name, option) in [("#!/usr/bin/env cat -u\n", "cat", "-u"), ("#!/bin/sh -e\nexec x\n", "sh", "-e")] {
            std::fs::write(&path, line).expect("a file");
            let found = Program::find(&path).expect("a program that is there");
            assert!(found.path.ends_with(name), "{}", found.path.display());
            assert_eq!(found.before, [option.into(), path.clone().into_os_string()]);
        }
    }
}
