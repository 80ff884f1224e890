//! Commands that a worker runs: by name, and the arguments that each may have.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use signal::Glob;

/// A command that an operator allows.
///
/// An argument is allowed if it is a plain word (letters, digits and `_ + - . , : = %`, not beginning with `-`), or if
/// one of the operator's patterns matches it. So nothing that a coordinator sends names another file or an option,
/// unless the operator wants that: a star in a pattern without a slash does not stand for one (`-*` is for options, not
/// for `-out=/etc/passwd`), and no argument leads upward by `..`.
#[derive(Clone, Debug)]
pub struct Allowed {
    name: String,
    path: PathBuf,
    patterns: Vec<Glob>,
}

/// The reason why a command is not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllowError {
    /// Text that is not of the form that is needed.
    #[error("`{0}` is not NAME=/absolute/path, followed by patterns of arguments if there are any")]
    Form(String),
    /// Path of nothing that can be run.
    #[error("`{}` is no program that can be run by its absolute path", .0.display())]
    Path(PathBuf),
    /// A pattern that is none.
    #[error("`{0}` is no pattern of arguments")]
    Pattern(String),
    /// A command that nobody allowed.
    #[error("`{name}` is not allowed here; {allowed}")]
    Command {
        /// Name that was asked for.
        name: String,
        /// The commands that are allowed.
        allowed: String,
    },
    /// An argument that nobody allowed.
    #[error(
        "the argument `{argument}` of `{name}` is not allowed here: it is no plain word, and no pattern of the operator's matches it"
    )]
    Argument {
        /// The command.
        name: String,
        /// The argument.
        argument: String,
    },
}

impl Allowed {
    /// Parses `NAME=/absolute/path PATTERN…`.
    ///
    /// # Errors
    /// [`AllowError`]: another form, no program there, no pattern.
    pub fn new(text: &str) -> Result<Self, AllowError> {
        let form = || AllowError::Form(text.to_owned());
        let mut words = text.split_whitespace();
        let (name, path) = words.next().and_then(|word| word.split_once('=')).ok_or_else(form)?;
        if name.is_empty() || !is_plain(name) {
            return Err(form());
        }
        let path = PathBuf::from(path);
        if !path.is_absolute() || !is_program(&path) {
            return Err(AllowError::Path(path));
        }
        let pattern = |word: &str| word.parse::<Glob>().map_err(|_| AllowError::Pattern(word.to_owned()));
        Ok(Self { name: name.to_owned(), path, patterns: words.map(pattern).collect::<Result<_, _>>()? })
    }

    /// Returns the name by which the command is asked for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check(&self, argument: &str) -> Result<(), AllowError> {
        let is_allowed = is_plain(argument) || self.patterns.iter().any(|pattern| does_allow(pattern, argument));
        let refused = || AllowError::Argument { name: self.name.clone(), argument: argument.to_owned() };
        if is_allowed && !argument.contains('\0') { Ok(()) } else { Err(refused()) }
    }
}

/// Returns the command of that name, if it may have these arguments.
pub fn find<'a, 'b>(
    all: &'a [Allowed],
    name: &str,
    mut arguments: impl Iterator<Item = &'b String>,
) -> Result<&'a Allowed, AllowError> {
    let found = all.iter().find(|one| one.name == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(Allowed::name).collect();
        let allowed = if names.is_empty() { "nothing is".to_owned() } else { format!("allowed: {}", names.join(", ")) };
        AllowError::Command { name: name.to_owned(), allowed }
    })?;
    arguments.try_for_each(|argument| found.check(argument))?;
    Ok(found)
}

fn is_plain(word: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_+-.,:=%".contains(letter);
    !word.starts_with('-') && word != ".." && word.chars().all(is_allowed)
}

fn does_allow(pattern: &Glob, argument: &str) -> bool {
    let is_path = argument.contains('/');
    let leads_upward = argument.split(['/', '=', ',', ':']).any(|part| part == "..");
    pattern.matches(argument) && !(is_path && (leads_upward || !pattern.to_string().contains('/')))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_allowed_is_found() {
        let all = [Allowed::new("shell=/bin/sh -c exit*").unwrap()];
        let check = |name: &str, arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
            let found = find(&all, name, arguments.iter()).map(|found| found.path().to_owned());
            found.map_err(|error| error.to_string())
        };
        assert_eq!(check("shell", &["-c", "exit 0", "plain-word_7.5"]), Ok("/bin/sh".into()));
        for (name, argument, wanted) in [
            ("other", "", "`other` is not allowed here; allowed: shell"),
            ("shell", "-o", "the argument `-o` of `shell`"),
            ("shell", "/etc/passwd", "`/etc/passwd`"),
            ("shell", "..", "`..`"),
            ("shell", "a;b", "`a;b`"),
        ] {
            let told = check(name, &[argument]).unwrap_err();
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn a_pattern_lets_no_file_through_that_it_does_not_name() {
        let allowed = Allowed::new("search=/bin/sh -* /data/* --index=/data/*").unwrap();
        for argument in ["-out", "-evalue=1e-3", "-o..", "/data/lib", "/data/old/lib..v2", "--index=/data/lib"] {
            assert_eq!(allowed.check(argument), Ok(()), "{argument}");
        }
        for argument in [
            "-out=/etc/passwd",
            "-o/tmp/x",
            "-o../x",
            "--out=sub/../../x",
            "/data/../etc/passwd",
            "/data/..",
            "--index=/data/../x",
            "/database",
        ] {
            assert!(allowed.check(argument).is_err(), "{argument}");
        }
    }

    #[test]
    fn programs_are_named_by_absolute_paths() {
        for text in ["sh", "a/b=/bin/sh", "sh=bin/sh", "sh=/bin", "sh=/nowhere/sh"] {
            assert!(Allowed::new(text).is_err(), "{text}");
        }
    }
}
