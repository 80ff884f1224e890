//! `foretop NAME` for a program of its own, `foretop-NAME`: from beside this program, or from PATH.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow};

use crate::catalogue::{GROUPS, PROGRAMS, Program, started_by_name};
use crate::failure::OrUsage;
use crate::near_name::near;

/// No program's name is longer.
const NAME_LENGTH_MAX: usize = 64;

/// Becomes the program that the first of `words` names, with the others as its arguments; returns only when that fails.
pub fn run(words: Vec<OsString>) -> anyhow::Result<()> {
    let mut words = words.into_iter();
    let typed = words.next().unwrap_or_default();
    let Some(name) = name(&typed) else { return Err(unknown(&typed.to_string_lossy())).or_usage() };
    let known = PROGRAMS.iter().find(|program| program.name == name);
    if let Some((program, instead)) = known.and_then(|program| Some((program, program.instead?))) {
        let Program { build, .. } = program;
        return Err(anyhow!("there is no command `{name}`; `{instead}` starts this program, and `{build}` builds it"))
            .or_usage();
    }
    match (find(name), known) {
        (Some(path), _) => {
            Err(Command::new(&path).args(words).exec()).with_context(|| format!("cannot start `{}`", path.display()))
        }
        (None, Some(program)) => Err(absent(program)),
        (None, None) => Err(unknown(name)).or_usage(),
    }
}

/// `foretop help NAME` as `foretop NAME --help`, where `NAME` is a program of its own.
pub fn help_of_program(words: Vec<OsString>, built_in: &clap::Command) -> Vec<OsString> {
    let [own, help, program] = &words[..] else { return words };
    let is_program = |name| built_in.find_subcommand(name).is_none() && name != "help";
    if help == "help" && name(program).is_some_and(is_program) {
        return vec![own.clone(), program.clone(), "--help".into()];
    }
    words
}

/// `typed`, where it may be a part of a program's name: no path, no option, nothing that a shell or a terminal would obey.
fn name(typed: &OsStr) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = |name: &str| {
        name.len() <= NAME_LENGTH_MAX && name.bytes().all(is_plain) && !name.is_empty() && !name.starts_with('-')
    };
    typed.to_str().filter(|name| is_name(name))
}

/// The first file of the program that can be executed.
fn find(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(std::env::split_paths(&path));
    // An empty or relative folder in PATH would be wherever somebody happens to stand.
    let files = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(format!("foretop-{name}")));
    files.into_iter().find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn absent(Program { name, build, .. }: &Program) -> anyhow::Error {
    anyhow!("`foretop-{name}` is neither beside this program nor in PATH; `{build}` in the project's folder builds it")
}

fn unknown(name: &str) -> anyhow::Error {
    let built_in = GROUPS.iter().flat_map(|(_, _, commands)| *commands).copied();
    match &near(name, built_in.chain(started_by_name(PROGRAMS).map(|program| program.name)))[..] {
        [] => anyhow!("there is no command `{name}`; `foretop help` lists them all"),
        near => anyhow!("there is no command `{name}`; did you mean {}?", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Group;

    #[test]
    fn what_is_no_name_is_never_looked_for() {
        for typed in ["", "../x", "a/b", "/bin/sh", "-x", "a b", "a\n", "a;b", "$(a)", "\u{1b}[2J", "ä", "A", "a.b"] {
            assert_eq!(name(OsStr::new(typed)), None, "{typed:?}");
        }
        assert_eq!(name(OsStr::new(&"a".repeat(NAME_LENGTH_MAX + 1))), None);
        assert_eq!(name(OsStr::new("sim-2")), Some("sim-2"));
    }

    #[test]
    fn a_program_that_is_absent_says_how_to_build_it() {
        let program =
            Program { name: "sim", group: Group::Simulate, purpose: "Simulate", build: "make sim", instead: None };
        let told = absent(&program).to_string();
        assert!(told.contains("`foretop-sim`") && told.contains("`make sim`"), "{told}");
    }

    #[test]
    fn help_of_a_program_is_asked_of_the_program() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let built_in = clap::Command::new("foretop").subcommand(clap::Command::new("up"));
        assert_eq!(help_of_program(words("foretop help sim"), &built_in), words("foretop sim --help"));
        for line in ["foretop help up", "foretop help", "foretop help help", "foretop help a/b", "foretop sim help"] {
            assert_eq!(help_of_program(words(line), &built_in), words(line));
        }
    }
}
