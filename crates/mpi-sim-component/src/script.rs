//! The process of a script that is the program to simulate: what a shell starts on its way inherits the preloaded
//! library too.
//!
//! Wrappers of pyenv, conda, Spack and modules are scripts that look for a program and become it (`exec`), or wait for
//! it. Helpers such as `sed` and `dirname` run before it.

use std::path::Path;

/// Programs that only start others.
const STARTERS: [&str; 21] = [
    "ash", "bash", "busybox", "chrt", "dash", "env", "fish", "ionice", "ksh", "ksh93", "mksh", "nice", "nohup",
    "numactl", "setsid", "sh", "stdbuf", "taskset", "time", "timeout", "zsh",
];
/// Beginnings of names of programs that load MPI while they run.
const INTERPRETERS: [&str; 3] = ["julia", "pypy", "python"];

/// A process that has just begun.
#[derive(Clone, Copy, Debug)]
pub struct ScriptProcess<'a> {
    /// File of its program.
    pub file: &'a Path,
    /// Its arguments, without its name.
    pub arguments: &'a [String],
    /// Whether the launcher started this process, maybe as another program that has become this one.
    pub is_launched: bool,
    /// Whether the program is linked with MPI.
    pub has_mpi: bool,
}

impl ScriptProcess<'_> {
    /// Whether this is the program whose ranks are simulated, where `wanted` are the arguments that the user gave.
    pub fn is_program(&self, wanted: &[String]) -> bool {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        if STARTERS.contains(&&*name) {
            return false;
        }
        // A helper may be an interpreter too, with arguments of its own.
        let is_interpreter = INTERPRETERS.iter().any(|interpreter| name.starts_with(interpreter));
        let has_arguments = !wanted.is_empty() && self.arguments.ends_with(wanted);
        self.is_launched || self.has_mpi || is_interpreter && has_arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_of_a_script_are_not_the_program_that_it_starts() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (file, arguments, is_launched, has_mpi, is_program) in [
            ("/usr/bin/bash", "/shims/python3 ring.py 8", true, false, false),
            ("/usr/bin/env", "python3 ring.py 8", true, false, false),
            ("/usr/bin/sed", "-n 1p", false, false, false),
            ("/usr/bin/dirname", "ring.py 8", false, false, false),
            ("/usr/bin/python3.11", "-m conda shell.posix activate", false, false, false),
            ("/usr/bin/python3.11", "ring.py 8", true, false, true),
            ("/usr/bin/python3.11", "-u ring.py 8", false, false, true),
            ("/home/ring", "", false, true, true),
            ("/bin/ls", "/", true, false, true),
        ] {
            let arguments = words(arguments);
            let process = ScriptProcess { file: Path::new(file), arguments: &arguments, is_launched, has_mpi };
            assert_eq!(process.is_program(&words("ring.py 8")), is_program, "{process:?}");
        }
        let arguments = [];
        let process =
            ScriptProcess { file: Path::new("python3"), arguments: &arguments, is_launched: false, has_mpi: false };
        assert!(!process.is_program(&[]));
    }
}
