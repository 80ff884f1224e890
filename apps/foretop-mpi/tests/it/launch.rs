//! Starts a program under its launcher, and hands back all that it said.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi_run::{Flavour, Launcher, Placing};

/// The programs, as cargo built them.
pub const ACE: &str = env!("CARGO_BIN_EXE_foretop-ace");
pub const COMB: &str = env!("CARGO_BIN_EXE_foretop-comb");
pub const MINIAPP: &str = env!("CARGO_BIN_EXE_foretop-miniapp");
pub const NOISE: &str = env!("CARGO_BIN_EXE_foretop-noise");
pub const SORT: &str = env!("CARGO_BIN_EXE_foretop-sort");

/// Held by the program that runs. Ranks that wait do so by spinning, so that several programs at a time take each
/// other's cores for whole time slices, and all of them together take longer than one after the other.
static TURN: Mutex<()> = Mutex::new(());

/// How a program ended.
pub struct Ended {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs `program` on `n_ranks` of this host.
pub fn launch(program: &str, n_ranks: u32, arguments: &[&str]) -> Ended {
    launch_placed(program, &Placing { n_ranks, ..Placing::default() }, arguments)
}

/// Runs `program` where and how `placing` says.
fn launch_placed(program: &str, placing: &Placing, arguments: &[&str]) -> Ended {
    ended(&mut command(program, placing, arguments))
}

/// The command that does so, for whoever wants more than its end.
pub fn command(program: &str, placing: &Placing, arguments: &[&str]) -> Command {
    let launcher = Launcher::find(flavour(program)).expect("the library's launcher is installed");
    let mut command = launcher.command(placing, Path::new(program));
    command.args(arguments);
    command
}

/// Waits until no program runs, for whoever starts one by its command or loads the machine; none runs until it is
/// dropped.
pub fn turn() -> MutexGuard<'static, ()> {
    // A test that failed in its turn spoils nothing for the next.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The library that `program` was linked with.
pub fn flavour(program: &str) -> Flavour {
    let answer = Command::new(program).arg("--mpi-library").output().expect("the program starts");
    let library = String::from_utf8(answer.stdout).expect("a library's name is text");
    Flavour::of_library(&library).unwrap_or_else(|| panic!("no launcher is known for {library}"))
}

fn ended(command: &mut Command) -> Ended {
    let _turn = turn();
    let Output { status, stdout, stderr } = command.output().expect("the launcher starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { status: status.code(), out: text(stdout), err: text(stderr) }
}

impl Ended {
    /// What it printed, once it is sure that it did what it was asked.
    #[track_caller]
    pub fn out(self) -> String {
        assert_eq!(self.status, Some(0), "it printed:\n{}\nand said:\n{}", self.out, self.err);
        self.out
    }
}
