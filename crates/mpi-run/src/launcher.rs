//! Launchers of MPI libraries: finds the one that belongs to a library, and builds its commands.
//!
//! Programs are linked with one MPI library and start under its launcher only; under another's, each process thinks
//! it is the only rank. In a Slurm allocation users start the programs with their own `srun`.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;

/// Overrides the search for a launcher.
pub const LAUNCHER_VARIABLE: &str = "FORETOP_MPIEXEC";

/// An MPI library whose launcher is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Open MPI.
    OpenMpi,
    /// MPICH and what is made from it, with Hydra as its launcher.
    Mpich,
}

/// A launcher that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Launcher {
    /// Its program.
    pub program: PathBuf,
    /// MPI library that the launcher belongs to.
    pub flavour: Flavour,
}

/// Placement and connection of ranks.
#[derive(Clone, Debug, Default)]
pub struct Placing {
    /// Number of ranks; at least one.
    pub n_ranks: u32,
    /// Hosts that ranks are placed on, in turn; this host if none is named.
    pub hosts: Vec<String>,
    /// Whether each rank is bound to a core of its own.
    pub is_bound: bool,
    /// Whether ranks of one host communicate over TCP rather than through shared memory.
    pub is_tcp: bool,
    /// Additional environment variables of each process: names and values.
    pub environment: Vec<(String, String)>,
}

/// The reason why no launcher can be had.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LauncherError {
    /// None of those tried is there, or none is of the wanted library.
    #[error("no launcher of {flavour} found (tried {}); install it, or name it in {LAUNCHER_VARIABLE}", tried.join(", "))]
    Missing {
        /// The wanted library.
        flavour: Flavour,
        /// Programs tried.
        tried: Vec<String>,
    },
    /// A library that is not known here.
    #[error("`{given}` is not a supported MPI: use openmpi or mpich")]
    Unknown {
        /// Name as given.
        given: String,
    },
}

impl Flavour {
    /// Returns the flavour by the libraries that a program names in its file; none of one that names neither, such as a
    /// script.
    #[must_use]
    pub fn of_program(bytes: &[u8]) -> Option<Self> {
        let names = |library: &[u8]| bytes.windows(library.len()).any(|window| window == library);
        // Of its own, MPICH has no `libmpi.so`; on Debian it is `libmpich.so.12`. Programs in Fortran may name the
        // library for Fortran alone.
        const MPICH: [&[u8]; 3] = [b"libmpich.so", b"libmpi.so.12", b"libmpichfort.so"];
        const OPEN_MPI: [&[u8]; 4] = [b"libmpi.so.40", b"libmpi.so.20", b"libopen-rte.so", b"libmpi_mpifh.so"];
        if MPICH.into_iter().any(names) {
            Some(Self::Mpich)
        } else if OPEN_MPI.into_iter().any(names) {
            Some(Self::OpenMpi)
        } else {
            None
        }
    }

    /// Returns the flavour by the name that a library gives itself (`MPI_Get_library_version`).
    #[must_use]
    pub fn of_library(version: &str) -> Option<Self> {
        if version.contains("Open MPI") {
            Some(Self::OpenMpi)
        } else if version.contains("MPICH") || version.contains("Intel(R) MPI") || version.contains("MVAPICH") {
            Some(Self::Mpich)
        } else {
            None
        }
    }

    /// Returns the flavour by a launcher's answer to `--version`.
    fn of_launcher(answer: &str) -> Option<Self> {
        if answer.contains("Open MPI") || answer.contains("OpenRTE") {
            Some(Self::OpenMpi)
        } else if answer.contains("HYDRA") {
            Some(Self::Mpich)
        } else {
            None
        }
    }

    fn launchers(self) -> [&'static str; 4] {
        match self {
            Self::OpenMpi => ["mpiexec.openmpi", "mpirun.openmpi", "mpiexec", "mpirun"],
            Self::Mpich => ["mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun"],
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
        })
    }
}

impl FromStr for Flavour {
    type Err = LauncherError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "openmpi" => Ok(Self::OpenMpi),
            "mpich" => Ok(Self::Mpich),
            _ => Err(LauncherError::Unknown { given: text.to_owned() }),
        }
    }
}

impl Launcher {
    /// Asks the launchers that this library's packages install for whose they are, and takes the first that fits.
    ///
    /// # Errors
    /// [`LauncherError::Missing`] with all that were tried.
    pub fn find(flavour: Flavour) -> Result<Self, LauncherError> {
        let named = std::env::var_os(LAUNCHER_VARIABLE);
        let candidates: Vec<OsString> = match named {
            Some(program) => vec![program],
            None => flavour.launchers().map(OsString::from).to_vec(),
        };
        candidates
            .iter()
            .filter_map(|program| Self::at(program.into()))
            .find(|launcher| launcher.flavour == flavour)
            .ok_or_else(|| LauncherError::Missing {
                flavour,
                tried: candidates.iter().map(|name| name.to_string_lossy().into_owned()).collect(),
            })
    }

    /// Returns the launcher at this path or of this name, if it is there and of a library that is known here.
    #[must_use]
    pub fn at(program: PathBuf) -> Option<Self> {
        let output = Command::new(&program).arg("--version").output().ok()?;
        let flavour = Flavour::of_launcher(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { program, flavour })
    }

    /// The command that starts `program` so placed; its arguments are still to be added.
    #[must_use]
    pub fn command(&self, placing: &Placing, program: &std::path::Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-n").arg(placing.n_ranks.to_string());
        match self.flavour {
            Flavour::OpenMpi => open_mpi(&mut command, placing),
            Flavour::Mpich => mpich(&mut command, placing),
        }
        command.arg(program);
        command
    }
}

fn open_mpi(command: &mut Command, placing: &Placing) {
    // More ranks than cores are the user's wish, and the result says what that means.
    command.arg("--oversubscribe").args(["--bind-to", if placing.is_bound { "core" } else { "none" }]);
    if rustix::process::geteuid().is_root() {
        command.arg("--allow-run-as-root");
    }
    if !placing.hosts.is_empty() {
        command.args(["--host", &placing.hosts.join(",")]);
    }
    if placing.is_tcp {
        command.args(["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]);
    }
    for (name, value) in &placing.environment {
        command.arg("-x").arg(format!("{name}={value}"));
    }
}

fn mpich(command: &mut Command, placing: &Placing) {
    command.args(["-bind-to", if placing.is_bound { "core" } else { "none" }]);
    if !placing.hosts.is_empty() {
        command.args(["-hosts", &placing.hosts.join(",")]);
    }
    if placing.is_tcp {
        // The library's own shared memory is off with the first; below it, each of the two transports that it is built
        // with has its own.
        for (name, value) in [("MPIR_CVAR_NOLOCAL", "1"), ("UCX_TLS", "tcp,self"), ("FI_PROVIDER", "tcp")] {
            command.args(["-genv", name, value]);
        }
    }
    for (name, value) in &placing.environment {
        command.args(["-genv", name, value]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(flavour: Flavour, placing: &Placing) -> String {
        let launcher = Launcher { program: "mpiexec".into(), flavour };
        let command = launcher.command(placing, "foretop-ace".as_ref());
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn libraries_and_launchers_are_told_apart() {
        assert_eq!(Flavour::of_library("Open MPI v4.1.4, package: Debian OpenMPI"), Some(Flavour::OpenMpi));
        assert_eq!(
            Flavour::of_library("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7"),
            Some(Flavour::Mpich)
        );
        assert_eq!(Flavour::of_library("LAM 7.1"), None);
        for (needed, flavour) in [
            (&b"\0libmpi.so.40\0libc.so.6"[..], Some(Flavour::OpenMpi)),
            (b"\0libmpi_mpifh.so.40\0libgfortran.so.5", Some(Flavour::OpenMpi)),
            (b"\0libmpich.so.12\0libc.so.6", Some(Flavour::Mpich)),
            (b"\0libmpichfort.so.12\0libgfortran.so.5", Some(Flavour::Mpich)),
            (b"\0libc.so.6", None),
        ] {
            assert_eq!(Flavour::of_program(needed), flavour);
        }
        assert_eq!(Flavour::of_launcher("mpiexec (OpenRTE) 4.1.4\n"), Some(Flavour::OpenMpi));
        assert_eq!(Flavour::of_launcher("HYDRA build details:\n    Version: 4.0.2"), Some(Flavour::Mpich));
        assert_eq!("mpich".parse(), Ok(Flavour::Mpich));
        assert!("lam".parse::<Flavour>().unwrap_err().to_string().contains("`lam`"));
    }

    #[test]
    fn each_launcher_is_told_in_its_own_words() {
        let hosts = vec!["a".into(), "b".into()];
        let environment = vec![("LEVEL".into(), "calls".into())];
        let placing = Placing { n_ranks: 4, hosts, is_bound: true, is_tcp: true, environment };
        let open = words(Flavour::OpenMpi, &placing);
        assert!(open.starts_with("-n 4 --oversubscribe --bind-to core"), "{open}");
        assert!(open.contains("--host a,b --mca pml ob1 --mca btl tcp,self -x LEVEL=calls foretop-ace"), "{open}");
        assert_eq!(
            words(Flavour::Mpich, &placing),
            "-n 4 -bind-to core -hosts a,b -genv MPIR_CVAR_NOLOCAL 1 -genv UCX_TLS tcp,self -genv FI_PROVIDER tcp -genv LEVEL calls foretop-ace"
        );
    }
}
