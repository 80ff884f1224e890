//! The common part of programs: how a command ends, who asks it to, and how far it is.
//!
//! It opens nothing, reads no clock but to begin counting, and writes where it is told. Arguments are each program's
//! own.
#![forbid(unsafe_code)]

mod failure;
mod interruption;
mod progress;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

pub use failure::{Failure, Fault};
pub use interruption::Interruption;
pub use progress::Progress;

/// Ends a program called `name`: what is left goes out, a failure is told in one line, and its status is the exit
/// status.
pub fn end(name: &str, done: Result<(), Failure>, out: &mut dyn Write, err: &mut dyn Write) -> ExitCode {
    match done.and_then(|()| written(out.flush())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to be done when even standard error is gone.
            let _ = writeln!(err, "{name}: {}", text::printable(&text::without_picture(&failure.message)));
            ExitCode::from(failure.status())
        }
    }
}

/// Checks that the folder of a file is there, before work whose result is written to that file at the end.
///
/// # Errors
/// When there is no such folder.
pub fn check_folder(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            let (file, folder) = (file.display(), folder.display());
            Err(Failure::usage(format!("cannot write `{file}`: there is no folder `{folder}`; make it first")))
        }
        _ => Ok(()),
    }
}

/// Checks the result of writing to standard output. A reader that went away had enough.
///
/// # Errors
/// When it failed for another reason.
pub fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::work(format!("cannot print: {error}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_a_line_without_controls() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let ended = end("foretop x", Err(Failure::usage("no `\x1b[2J`")), &mut out, &mut err);
        assert_eq!(format!("{ended:?}"), format!("{:?}", ExitCode::from(2)));
        let told = String::from_utf8(err).unwrap();
        assert!(told.starts_with("foretop x: no `") && !told.contains('\x1b'), "{told:?}");
    }

    #[test]
    fn a_file_in_no_folder_is_refused_before_the_work() {
        for file in ["x", "./x", "/x", "src/x"] {
            assert_eq!(check_folder(Path::new(file)), Ok(()), "{file}");
        }
        let refused = check_folder(Path::new("/nowhere/at/all/x")).unwrap_err();
        assert_eq!(refused.status(), 2);
        assert!(refused.message.contains("there is no folder `/nowhere/at/all`"), "{refused}");
        assert!(check_folder(Path::new("Cargo.toml/x")).is_err());
    }

    #[test]
    fn a_reader_that_went_away_had_enough() {
        assert_eq!(written(Err(io::ErrorKind::BrokenPipe.into())), Ok(()));
        assert!(written(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
