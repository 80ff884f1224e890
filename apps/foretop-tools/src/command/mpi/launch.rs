//! Starts an MPI program: takes out of the words what is for the launcher, and hands on the rest.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use mpi_run::{Flavour, Launcher, Placing};

use super::program;
use command_line::failure::OrUsage;
use text::help::examples;

/// Number of ranks if none is set: what every measurement needs at least.
const N_RANKS: u32 = 2;
/// Words with which a program does its work alone, without MPI.
const ALONE: [&str; 6] = ["--help", "-h", "--version", "-V", "fit", "compare"];

const HELP: &str = "\
Starts the program on several ranks. The launcher's options may be anywhere among the arguments:
  -n, --ranks <N>         The number of processes [default: 2]
      --mpi <LIBRARY>     The MPI library: openmpi or mpich [default: the first one found]
      --hosts <A,B,…>     The hosts to run on, in turn [default: this one]
      --bind              Bind each process to its own core
      --tcp               Use TCP instead of shared memory between processes on one host
All other arguments go to the program, whose own help is below:
";

/// Follows the program's own help, which it cannot be a part of: these are command lines of this program.
fn examples_of(name: &str) -> String {
    let lines: &[&str] = match name {
        "ace" => &[
            "foretop mpi ace --ranks 2 --load 50 --size 1MiB --out ace.jsonl",
            "foretop mpi ace sweep --ranks 4 --out sweep.jsonl",
            "foretop mpi ace fit calls.csv > application.toml",
        ],
        "comb" => &["foretop mpi comb --ranks 2", "foretop mpi comb --ranks 2 --mpi mpich --out comb.jsonl"],
        "miniapp" => &[
            "foretop mpi miniapp gsum -n 4 --size 256B",
            "foretop mpi miniapp sor -n 4 --data frosty --straggler 2:1ms",
        ],
        "noise" => &[
            "foretop mpi noise --ranks 2 --time 20s",
            "foretop mpi noise --local --time 10s   # without MPI, each core by itself; also --local --help",
            "foretop mpi noise --threads 4          # without MPI, threads of one process",
        ],
        "sort" => &["foretop mpi sort --ranks 4 --size 32MB --out measured"],
        _ => &[],
    };
    examples(lines)
}

/// All words after the program's name.
#[derive(Args)]
pub struct Words {
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// Words of the command line, sorted.
#[derive(Debug, Default, PartialEq)]
struct Wish {
    n_ranks: Option<u32>,
    flavour: Option<Flavour>,
    hosts: Vec<String>,
    is_bound: bool,
    is_tcp: bool,
    rest: Vec<OsString>,
}

/// Becomes the launcher, or the program where that works alone; returns only when that fails.
pub fn run(measurement: &str, words: Words, out: &mut dyn Write) -> anyhow::Result<()> {
    let name = &format!("foretop-{measurement}");
    let wish = Wish::of(words.words).or_usage()?;
    let mut command = if wish.works_alone() {
        if wish.rest.iter().any(|word| word == "--help" || word == "-h") {
            return help(measurement, &wish, out);
        }
        Command::new(program::find(name, wish.flavour)?.path)
    } else {
        let program = program::find(name, wish.flavour)?;
        let launcher = Launcher::find(program.flavour)?;
        launcher.command(&wish.placing(), &program.path)
    };
    // What is in the buffer would be lost with this process.
    out.flush()?;
    command.args(&wish.rest);
    let started = command.get_program().to_string_lossy().into_owned();
    Err(command.exec()).with_context(|| format!("cannot start `{started}`"))
}

/// Prints the help: the launcher's options, the program's own help, examples and exit status. The first and the last
/// need no program.
fn help(name: &str, wish: &Wish, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{HELP}")?;
    let program = program::find(&format!("foretop-{name}"), wish.flavour);
    match &program {
        Ok(program) => {
            let said = Command::new(&program.path).args(&wish.rest).output();
            let said = said.with_context(|| format!("cannot start `{}`", program.path.display()))?;
            out.write_all(&said.stdout)?;
            out.write_all(&said.stderr)?;
        }
        Err(error) => writeln!(out, "(not to be had: {error:#})")?,
    }
    Ok(writeln!(out, "\n{}", examples_of(name))?)
}

impl Wish {
    fn of(words: Vec<OsString>) -> anyhow::Result<Self> {
        let mut wish = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(text) = word.to_str() else {
                wish.rest.push(word);
                continue;
            };
            let (flag, attached) = match text.split_once('=') {
                Some((flag, value)) if text.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (text, None),
            };
            let mut value = || match &attached {
                Some(value) => Ok(value.clone()),
                None => words
                    .next()
                    .and_then(|word| word.into_string().ok())
                    .with_context(|| format!("`{flag}` needs a value")),
            };
            match flag {
                "-n" | "--ranks" => wish.n_ranks = Some(n_ranks(&value()?)?),
                "--mpi" => wish.flavour = Some(value()?.parse()?),
                "--hosts" => wish.hosts = value()?.split(',').map(str::to_owned).collect(),
                "--bind" => wish.is_bound = true,
                "--tcp" => wish.is_tcp = true,
                _ => wish.rest.push(word),
            }
        }
        Ok(wish)
    }

    fn works_alone(&self) -> bool {
        self.rest.iter().any(|word| ALONE.iter().any(|alone| word == alone))
    }

    fn placing(&self) -> Placing {
        Placing {
            n_ranks: self.n_ranks.unwrap_or(N_RANKS),
            hosts: self.hosts.clone(),
            is_bound: self.is_bound,
            is_tcp: self.is_tcp,
            environment: Vec::new(),
        }
    }
}

fn n_ranks(text: &str) -> anyhow::Result<u32> {
    match text.parse() {
        Ok(n_ranks @ 1..) => Ok(n_ranks),
        _ => bail!("`{text}` is not a number of ranks; it must be 1 or more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(words: &str) -> anyhow::Result<Wish> {
        Wish::of(words.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn what_is_for_the_launcher_may_stand_anywhere() {
        let wish = wish("--load 50 --ranks 4 --size 1MiB --mpi=mpich --tcp --bind --hosts a,b").unwrap();
        assert_eq!((wish.n_ranks, wish.flavour), (Some(4), Some(Flavour::Mpich)));
        assert_eq!(wish.hosts, ["a", "b"]);
        assert!(wish.is_tcp && wish.is_bound && !wish.works_alone());
        assert_eq!(wish.rest, ["--load", "50", "--size", "1MiB"]);
    }

    #[test]
    fn help_and_work_on_files_need_no_launcher() {
        for words in ["--help", "fit trace.csv", "compare a b"] {
            assert!(wish(words).unwrap().works_alone(), "{words}");
        }
    }

    #[test]
    fn the_help_of_each_program_has_examples_and_the_exit_status() {
        for name in ["ace", "comb", "miniapp", "noise"] {
            let shown = examples_of(name);
            assert!(shown.contains(&format!("foretop mpi {name} ")) && shown.contains("Exit status:"), "{shown}");
        }
    }

    #[test]
    fn a_value_that_makes_no_sense_is_named() {
        for (words, told) in [("-n 0", "`0`"), ("--ranks", "`--ranks`"), ("--mpi lam", "`lam`"), ("-n two", "`two`")] {
            let error = wish(words).unwrap_err().to_string();
            assert!(error.contains(told), "{words}: {error}");
        }
    }
}
