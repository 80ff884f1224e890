//! `foretop sim fit`: laws of compute time.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use mpi_sim::compute::{Laws, Times};
use program::{Failure, written};
use text::help::examples;

use super::replay::{recordings, script};

/// Fit laws of compute time to recordings: the time that ranks compute before each call, by ranks and sizes
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop sim fit trace-4 trace-8 trace-16 > laws.toml",
    "foretop sim fit recorded.compute > laws.toml",
]))]
pub struct Fit {
    /// Folders of trace files, merged ones, or compute times recorded by `foretop sim run --compute record=FILE`
    #[arg(value_name = "RECORDING", required = true)]
    recordings: Vec<PathBuf>,
}

impl Fit {
    pub fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        let times = self.recordings.iter().map(|path| times(path)).collect::<Result<Vec<_>, _>>()?;
        written(out.write_all(Laws::fit(&times).to_toml().as_bytes()))
    }
}

fn times(path: &Path) -> Result<Times, Failure> {
    if is_recorded(path) { recorded(path) } else { Ok(script(path, &recordings(path)?)?.times()) }
}

/// Whether a file holds compute times, whatever its name.
pub fn is_recorded(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| Times::begins(BufReader::new(file)))
}

/// The compute times in a file.
pub fn recorded(path: &Path) -> Result<Times, Failure> {
    let file = File::open(path);
    let file = file.map_err(|error| Failure::work(format!("cannot read `{}`: {error}", path.display())))?;
    Times::read(BufReader::new(file)).map_err(|error| Failure::usage(format!("`{}`: {error}", path.display())))
}
