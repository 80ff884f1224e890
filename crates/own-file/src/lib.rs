//! Opening files at places that others can guess, such as a lock in a data folder, without falling for what they put
//! there.
//!
//! Only a regular file of the user who runs this is opened. A symbolic link is never followed, a FIFO never waited for,
//! and nothing is truncated. This is I/O on a low floor, because stores, locks and run folders of several crates need
//! the same care.
#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

/// Something that is not ours in the place of a file or folder of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotOurs {
    /// A symbolic link, a FIFO or the like.
    #[error("`{}` is {found} where {needed} is needed; move it away", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
        /// The kind of file that is there.
        found: &'static str,
        /// The kind of file that has to be there.
        needed: &'static str,
    },
    /// Somebody else's.
    #[error(
        "`{}` belongs to user {owner}, and this program runs as user {user}; move it away, or change its owner",
        path.display()
    )]
    Owner {
        /// The path.
        path: PathBuf,
        /// The owner.
        owner: u32,
        /// The user who runs this program.
        user: u32,
    },
    /// A folder that others can enter.
    #[error("the folder `{}` is open to others (mode {mode:03o}); run: chmod 700 '{}'", path.display(), path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Opens the file at `path` to read and to write, from its start, and makes it if there is none. What is in it stays. A
/// new file has mode 600.
///
/// # Errors
/// An error with a [`NotOurs`] inside for anything but a regular file of this user; what the system says otherwise.
pub fn create(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600), path)
}

/// Opens the file at `path` to write behind all that is in it, and makes it if there is none. What several write at the
/// same time does not mix as long as each writes it at once.
///
/// # Errors
/// As those of [`create`].
pub fn append(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().append(true).create(true).mode(0o600), path)
}

/// Makes an empty file for a database of SQLite at `path`, if there is none, and takes the permissions of others from
/// it and from the files that SQLite keeps beside it. New ones of those get the mode of the database.
///
/// # Errors
/// As those of [`create`] for each of the files, and when a mode cannot be changed.
pub fn prepare_database(path: &Path) -> io::Result<()> {
    make_private(&create(path)?)?;
    for suffix in ["-journal", "-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        match open(Path::new(&beside)) {
            Ok(file) => make_private(&file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Opens the file at `path` to read.
///
/// # Errors
/// As those of [`create`], and when there is no such file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens the file at `path` to read and to write, from its start. What is in it stays.
///
/// # Errors
/// As those of [`open`].
pub fn open_to_write(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true), path)
}

/// Checks that there is a folder at `path` that this user owns and nobody else can enter.
///
/// # Errors
/// An error with a [`NotOurs`] inside if not; what the system says if it cannot be looked at.
pub fn check_folder(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(refused(NotOurs::Kind {
            path: path.to_owned(),
            found: name(found.file_type()),
            needed: "a folder",
        }));
    }
    check_owner(path, found.uid())?;
    match found.mode() & 0o777 {
        mode if mode & 0o077 != 0 => Err(refused(NotOurs::Open { path: path.to_owned(), mode })),
        _ => Ok(()),
    }
}

fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let wrong = |found| refused(NotOurs::Kind { path: path.to_owned(), found, needed: "a regular file" });
    // Opening a FIFO would otherwise wait for its other end. A regular file does not care.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match options.custom_flags(flags).open(path) {
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Err(wrong("a symbolic link")),
        opened => opened?,
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(wrong(name(found.file_type())));
    }
    check_owner(path, found.uid())?;
    Ok(file)
}

fn check_owner(path: &Path, owner: u32) -> io::Result<()> {
    let user = geteuid().as_raw();
    if owner == user { Ok(()) } else { Err(refused(NotOurs::Owner { path: path.to_owned(), owner, user })) }
}

fn make_private(file: &File) -> io::Result<()> {
    if file.metadata()?.mode() & 0o077 == 0 { Ok(()) } else { file.set_permissions(Permissions::from_mode(0o600)) }
}

fn refused(why: NotOurs) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn name(kind: fs::FileType) -> &'static str {
    match kind {
        _ if kind.is_file() => "a regular file",
        _ if kind.is_dir() => "a folder",
        _ if kind.is_symlink() => "a symbolic link",
        _ if kind.is_fifo() => "a FIFO",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::{chown, symlink};

    use rustix::fs::{CWD, Mode, mkfifoat};
    use tempfile::{TempDir, tempdir};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    /// A folder with a file of mode 644 in it.
    fn file() -> (TempDir, PathBuf) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "dear").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        (folder, path)
    }

    #[track_caller]
    fn check_refused<T: std::fmt::Debug>(opened: io::Result<T>, said: &str) {
        let error = opened.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn a_new_file_is_its_owners_alone_and_an_old_one_keeps_what_is_in_it() {
        let (folder, old) = file();
        let new = folder.path().join("new");
        create(&new).unwrap();
        assert_eq!(mode(&new), 0o600);
        let mut text = String::new();
        create(&old).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), mode(&old)), ("dear", 0o644));
    }

    #[test]
    fn a_database_and_what_lies_beside_it_are_their_owners_alone() {
        let (folder, path) = file();
        let log = folder.path().join("file-wal");
        fs::copy(&path, &log).unwrap();
        prepare_database(&path).unwrap();
        assert_eq!((mode(&path), mode(&log), fs::read(&path).unwrap().len()), (0o600, 0o600, 4));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        symlink(&path, folder.path().join("file-shm")).unwrap();
        check_refused(prepare_database(&path), "file-shm` is a symbolic link");
    }

    #[test]
    fn a_link_is_not_followed_and_a_fifo_not_waited_for() {
        let (folder, target) = file();
        let [link, fifo] = ["link", "fifo"].map(|name| folder.path().join(name));
        symlink(&target, &link).unwrap();
        mkfifoat(CWD, &fifo, Mode::RWXU).unwrap();
        for open in [create, open, open_to_write] {
            check_refused(open(&link), "link` is a symbolic link where a regular file is needed; move it away");
            check_refused(open(&fifo), "fifo` is a FIFO");
        }
        check_refused(open(folder.path()), "is a folder");
        assert_eq!(fs::read_to_string(&target).unwrap(), "dear");
    }

    #[test]
    fn only_a_folder_of_this_user_alone_will_do() {
        let (folder, file) = file();
        let (inner, link) = (folder.path().join("inner"), folder.path().join("link"));
        fs::create_dir(&inner).unwrap();
        symlink(&inner, &link).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o700)).unwrap();
        check_folder(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o750)).unwrap();
        check_refused(check_folder(&inner), "inner` is open to others (mode 750); run: chmod 700 ");
        check_refused(check_folder(&link), "link` is a symbolic link where a folder is needed");
        check_refused(check_folder(&file), "file` is a regular file where a folder is needed");
    }

    #[test]
    fn what_belongs_to_another_is_refused() {
        let (_folder, path) = file();
        // Only root can give a file away, and has files of others refused; anybody else looks at root's.
        match chown(&path, Some(12_345), None) {
            Ok(()) => {
                check_refused(create(&path), "file` belongs to user 12345, and this program runs as user 0; move it")
            }
            Err(_) => check_refused(open(Path::new("/proc/1/status")), "belongs to user 0"),
        }
    }
}
