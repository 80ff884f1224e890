//! `foretop man`: the manual, made from the definition of the command line.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::cli;
use text::help::examples;

/// Print the manual page, or write those of all commands
#[derive(Args)]
#[command(after_help = examples(&["foretop man | man -l -", "foretop man ~/.local/share/man/man1"]))]
pub struct Man {
    /// Write foretop.1, foretop-up.1, … into this directory, which is created if necessary
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.dir {
            None => clap_mangen::Man::new(cli::public()).render(&mut *out).context("cannot print the manual")?,
            Some(dir) => {
                let cannot = || format!("cannot write the manual into `{}`", dir.display());
                fs::create_dir_all(&dir).with_context(cannot)?;
                clap_mangen::generate_to(cli::public(), &dir).with_context(cannot)?;
            }
        }
        Ok(())
    }
}
