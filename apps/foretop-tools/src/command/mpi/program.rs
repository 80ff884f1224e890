//! Finds an MPI program: one that is there, and linked with a library whose launcher is there too.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use mpi_run::{Flavour, LAUNCHER_VARIABLE, Launcher};

/// A folder with the programs, looked into before all others.
const FOLDER_VARIABLE: &str = "FORETOP_MPI_PROGRAMS";
/// Folders below the place of this program that have the programs of one library each; `{}` stands for its name.
const FOLDERS: [&str; 2] = ["../lib/foretop/{}", "../mpi/{}"];
/// Folders with programs that serve all libraries.
const SHARED_FOLDERS: [&str; 2] = ["../lib/foretop", "../mpi"];

/// The launcher's name in each library's own folder.
const PLAIN_LAUNCHER: &str = "mpiexec";

/// A program that is there.
#[derive(Debug)]
pub struct Program {
    pub path: PathBuf,
    pub flavour: Flavour,
}

/// The first of that name that fits, of the library `wanted` or of any whose launcher is there.
pub fn find(name: &str, wanted: Option<Flavour>) -> anyhow::Result<Program> {
    let mut refused = Vec::new();
    for path in candidates(name)? {
        match fits(&path, wanted) {
            Ok(flavour) => return Ok(Program { path, flavour }),
            Err(reason) => refused.push(format!("{} {reason}", path.display())),
        }
    }
    let library = wanted.map_or_else(String::new, |flavour| format!(" for {flavour}"));
    if refused.is_empty() {
        bail!("there is no `{name}`{library}: `make mpi` builds it, and {FOLDER_VARIABLE} names a folder that has it");
    }
    bail!("no `{name}`{library} can be used: {}", refused.join("; "))
}

/// A library that programs are started with, such as `libmpi_tracer.so`. It serves both MPI libraries.
pub fn find_library(name: &str) -> anyhow::Result<PathBuf> {
    let found = candidates(name)?.into_iter().next();
    found.with_context(|| {
        format!("there is no `{name}`: `make mpi` builds it, and {FOLDER_VARIABLE} names a folder that has it")
    })
}

/// Returns the launcher for a program that is independent of this one: that of the library which its file names. A
/// script or a program of the standard ABI names none: it gets the `mpiexec` in its folder, as in a virtual environment
/// of Python, else that in `PATH`, else the first launcher that is there.
pub fn launcher_of(program: &Path, wanted: Option<Flavour>) -> anyhow::Result<Launcher> {
    let path = if program.components().count() > 1 { Some(program.to_owned()) } else { in_path(program) };
    let named = || Flavour::of_program(&std::fs::read(path.as_ref()?).ok()?);
    let flavour = wanted.or_else(named);
    let beside = path.as_ref().map(|path| path.with_file_name(PLAIN_LAUNCHER));
    let plain = flavour.is_none().then(|| PLAIN_LAUNCHER.into());
    if std::env::var_os(LAUNCHER_VARIABLE).is_none()
        && let Some(launcher) = beside.into_iter().chain(plain).find_map(Launcher::at)
        && flavour.is_none_or(|flavour| flavour == launcher.flavour)
    {
        return Ok(launcher);
    }
    match flavour {
        Some(flavour) => Ok(Launcher::find(flavour)?),
        None => Ok(Launcher::find(Flavour::OpenMpi).or_else(|_| Launcher::find(Flavour::Mpich))?),
    }
}

fn in_path(program: &Path) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// All files of that name in the places where it can be, in the order in which they are asked.
fn candidates(name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    let own = own.parent().unwrap_or(Path::new("/"));
    let named = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    let beside = [Flavour::OpenMpi, Flavour::Mpich]
        .into_iter()
        .flat_map(|flavour| FOLDERS.map(|folder| own.join(folder.replace("{}", &flavour.to_string()))));
    let searched: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let shared = SHARED_FOLDERS.map(|folder| own.join(folder));
    let folders = named.into_iter().chain([own.to_owned()]).chain(shared).chain(beside).chain(searched);
    Ok(folders.map(|folder| folder.join(name)).filter(|path| path.is_file()).collect())
}

fn fits(path: &Path, wanted: Option<Flavour>) -> Result<Flavour, String> {
    let answer =
        Command::new(path).arg("--mpi-library").output().map_err(|error| format!("does not start: {error}"))?;
    let library = String::from_utf8_lossy(&answer.stdout);
    let flavour = Flavour::of_library(&library).ok_or_else(|| {
        let said = String::from_utf8_lossy(&answer.stderr);
        format!("does not name an MPI library that is known here: {}", format!("{library}{said}").trim())
    })?;
    match wanted {
        Some(wanted) if wanted != flavour => Err(format!("is for {flavour}")),
        Some(_) => Ok(flavour),
        None => Launcher::find(flavour).map(|_| flavour).map_err(|error| format!("has no launcher: {error}")),
    }
}
