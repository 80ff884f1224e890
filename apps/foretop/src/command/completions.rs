//! `foretop completions`: what a shell needs to complete commands and options.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use crate::cli;
use text::help::examples;

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = examples(&["foretop completions bash > ~/.local/share/bash-completion/completions/foretop"]))]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        // Into memory first: the generator panics when its writer fails, as a closed pipe does.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut cli::public(), "foretop", &mut script);
        out.write_all(&script)?;
        Ok(())
    }
}
