//! `foretop wan exec`: a program in an emulated host, also as the remote shell of launchers.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, anyhow};
use clap::Args;
use wan::Run;

use command_line::failure::OrUsage;
use text::help::examples;

/// Run a program in an emulated host
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop wan exec t0 -- ping -c 3 o0",
    "foretop wan exec t0 -- mpiexec --mca plm_rsh_agent \"foretop wan exec --shell\" --host t0,o0 ./program",
]))]
pub struct Exec {
    /// Parse arguments as ssh does: ignore options, and run the words after the host as one shell command
    #[arg(long)]
    shell: bool,

    /// The host, `HOST` or `EMULATION/HOST`, and the program to run in it
    #[arg(value_name = "HOST -- PROGRAM", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<OsString>,
}

impl Exec {
    /// Becomes the program; returns only when that fails.
    pub fn run(self) -> anyhow::Result<()> {
        let is_option = |word: &&OsString| self.shell && word.to_string_lossy().starts_with('-');
        let mut words = self.words.iter().skip_while(is_option);
        let host = words.next().context("`wan exec` needs a host").or_usage()?;
        let host = host.to_str().with_context(|| format!("`{}` is no name of a host", host.display())).or_usage()?;
        let words: Vec<&OsString> = words.skip_while(|word| *word == "--").collect();
        let (mut command, name) = match (&words[..], self.shell) {
            ([], _) => return Err(anyhow!("what is to be run in `{host}` is missing: {host} -- PROGRAM")).or_usage(),
            (words, true) => {
                let words: Vec<&OsStr> = words.iter().map(|word| word.as_os_str()).collect();
                let line = words.join(OsStr::new(" "));
                let mut command = Command::new("sh");
                command.arg("-c").arg(&line);
                (command, line)
            }
            ([program, arguments @ ..], false) => {
                let mut command = Command::new(program);
                command.args(arguments);
                (command, (*program).clone())
            }
        };
        let environment = Run::enter(host)?;
        Err(command.envs(environment).exec()).with_context(|| format!("cannot start `{}`", name.display()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        exec: Exec,
    }

    #[test]
    fn words_for_the_program_are_left_alone() {
        let line = Line::try_parse_from(["exec", "h0", "--", "ls", "--help", "--", "-x"]).unwrap();
        assert_eq!(line.exec.words, ["h0", "--", "ls", "--help", "--", "-x"]);
        let line = Line::try_parse_from(["exec", "--shell", "-x", "h0", "PATH=/a orted", "--help"]).unwrap();
        assert!(line.exec.shell);
        assert_eq!(line.exec.words, ["-x", "h0", "PATH=/a orted", "--help"]);
    }
}
