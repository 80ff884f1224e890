//! `foretop NAME` for a program of its own, `foretop-NAME`: from beside this program, or from PATH.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};

use crate::catalogue::{GROUPS, HIDDEN_TOOLS, PROGRAMS, Program, TOOLS, started_by_name};
use command_line::failure::OrUsage;
use command_line::near_name::near;
use command_line::terminal::say;

/// No program's name is longer.
const NAME_LENGTH_MAX: usize = 64;

/// Becomes the program that the first of `words` names, with the others as its arguments; returns only when that fails.
pub fn run(mut words: Vec<OsString>) -> anyhow::Result<()> {
    let typed = words.first().cloned().unwrap_or_default();
    let Some(name) = name(&typed) else { return Err(unknown(&typed.to_string_lossy())).or_usage() };
    if HIDDEN_TOOLS.contains(&name) {
        return run_tools(words);
    }
    let known = PROGRAMS.iter().find(|program| program.name == name);
    if let Some((program, instead)) = known.and_then(|program| Some((program, program.instead?))) {
        let Program { build, .. } = program;
        return Err(anyhow!("there is no command `{name}`; `{instead}` starts this program, and `{build}` builds it"))
            .or_usage();
    }
    let file = known.and_then(|program| program.file);
    if file.is_none() {
        words.remove(0);
    }
    match (find(file.unwrap_or(name)), known) {
        (Some(path), Some(program)) => {
            warn_of_version(&path, program);
            Err(become_program(&path, words))
        }
        (Some(path), None) => Err(become_program(&path, words)),
        (None, Some(program)) => Err(absent(program)),
        (None, None) => Err(unknown(name)).or_usage(),
    }
}

/// Becomes `foretop-tools` with these arguments; returns only when that fails.
pub fn run_tools(words: Vec<OsString>) -> anyhow::Result<()> {
    let path = find(TOOLS).with_context(|| missing(TOOLS, "make programs"))?;
    Err(become_program(&path, words))
}

fn become_program(path: &Path, words: Vec<OsString>) -> anyhow::Error {
    anyhow::Error::new(Command::new(path).args(words).exec()).context(format!("cannot start `{}`", path.display()))
}

/// Warns if a known program is of another version than this one: the two may not understand each other.
fn warn_of_version(path: &Path, Program { build, .. }: &Program) {
    let own = env!("CARGO_PKG_VERSION");
    let Ok(answer) = Command::new(path).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output() else {
        return;
    };
    let answer = String::from_utf8_lossy(&answer.stdout);
    let version = answer.split_whitespace().last().unwrap_or_default();
    if version != own && version.starts_with(|first: char| first.is_ascii_digit()) {
        let place = path.display();
        say(&format!("foretop: warning: `{place}` is version {version}, this is {own}; `{build}` builds it anew"));
    }
}

/// `foretop help NAME …` as `foretop NAME … --help`, where `NAME` is a program of its own.
pub fn help_of_program(words: Vec<OsString>, built_in: &clap::Command) -> Vec<OsString> {
    let [own, help, program, below @ ..] = &words[..] else { return words };
    let is_program = |name| built_in.find_subcommand(name).is_none() && name != "help";
    if help == "help" && name(program).is_some_and(is_program) {
        return [&[own.clone(), program.clone()], below, &["--help".into()]].concat();
    }
    words
}

/// `typed`, where it may be a part of a program's name: no path, no option, nothing that a shell or a terminal would
/// obey.
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

fn absent(Program { name, file, build, .. }: &Program) -> anyhow::Error {
    anyhow!(missing(file.unwrap_or(name), build))
}

fn missing(file: &str, build: &str) -> String {
    format!("`foretop-{file}` is neither beside this program nor in PATH; `{build}` in the project's folder builds it")
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
        let program = Program {
            name: "sim",
            file: None,
            group: Group::Simulate,
            purpose: "Simulate",
            build: "make sim",
            instead: None,
        };
        let told = absent(&program).to_string();
        assert!(told.contains("`foretop-sim`") && told.contains("`make sim`"), "{told}");
    }

    #[test]
    fn help_of_a_program_is_asked_of_the_program() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let built_in = clap::Command::new("foretop").subcommand(clap::Command::new("up"));
        assert_eq!(help_of_program(words("foretop help sim"), &built_in), words("foretop sim --help"));
        assert_eq!(help_of_program(words("foretop help sim run"), &built_in), words("foretop sim run --help"));
        for line in ["foretop help up", "foretop help", "foretop help help", "foretop help a/b", "foretop sim help"] {
            assert_eq!(help_of_program(words(line), &built_in), words(line));
        }
    }
}
