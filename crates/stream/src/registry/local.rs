//! The streams of this host and user: a small file for each.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getuid, test_kill_process};

use super::{Announcement, N_FOUND_MAX, RegistryError, SILENCE};

/// Longer, and it was not written here: 4,096 signals have a hundred characters each.
const FILE_BYTES_MAX: u64 = 512 << 10;

/// A file that goes away with the value.
pub(super) struct Announced(PathBuf);

impl Drop for Announced {
    fn drop(&mut self) {
        // Whoever removed it before has done what was to be done.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes the file, whole or not at all, and removes that of `before` when it was another.
pub(super) fn announce(
    folder: Option<&Path>,
    announcement: &Announcement,
    before: Option<Announced>,
) -> Result<Announced, RegistryError> {
    let folder = open(folder)?;
    let failed = |source| RegistryError::Folder { path: folder.clone(), source };
    let path = folder.join(format!("{}.json", announcement.key()));
    let half = path.with_extension("half");
    let bytes = serde_json::to_vec(announcement).map_err(io::Error::from).map_err(failed)?;
    File::create(&half).and_then(|mut file| file.write_all(&bytes)).map_err(failed)?;
    fs::rename(&half, &path).map_err(failed)?;
    Ok(match before {
        Some(before) if before.0 == path => before,
        _ => Announced(path),
    })
}

/// Those that live. The files of those that do not are removed.
pub(super) fn find(folder: Option<&Path>) -> Result<Vec<Announcement>, RegistryError> {
    let folder = open(folder)?;
    let failed = |source| RegistryError::Folder { path: folder.clone(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)?.take(2 * N_FOUND_MAX) {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match read(&path) {
            Some(announcement) if is_alive(&announcement) => found.push(announcement),
            Some(announcement) if is_process(announcement.pid) => {}
            // Its process is gone, or it is none of ours.
            _ => drop(fs::remove_file(&path)),
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Option<Announcement> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// A process that is there and says nothing hangs, or has got the number of one that is no more.
fn is_alive(announcement: &Announcement) -> bool {
    let age_ns = clock::now().as_nanos().saturating_sub(announcement.heartbeat_ns);
    is_process(announcement.pid) && u128::try_from(age_ns).is_ok_and(|age_ns| age_ns < SILENCE.as_nanos())
}

fn is_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// The folder, made where there is none. It has to be this user's alone: what is in it is believed.
fn open(folder: Option<&Path>) -> Result<PathBuf, RegistryError> {
    let path = folder.map_or_else(of_user, Path::to_owned);
    let failed = |source| RegistryError::Folder { path: path.clone(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
    let folder = fs::symlink_metadata(&path).map_err(failed)?;
    if !folder.is_dir() || folder.uid() != getuid().as_raw() || folder.permissions().mode() & 0o077 != 0 {
        return Err(RegistryError::Exposed { path });
    }
    Ok(path)
}

fn of_user() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => PathBuf::from(folder).join("foretop/streams"),
        None => std::env::temp_dir().join(format!("foretop-streams-{}", getuid().as_raw())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Carries;

    fn announcement(pid: u32) -> Announcement {
        Announcement {
            component: "writer".to_owned(),
            stream: "load".to_owned(),
            host: "pyramid".to_owned(),
            carries: Carries::Measurement,
            signals: vec!["load.1".to_owned()],
            model: None,
            addresses: vec!["tcp:127.0.0.1:5011".to_owned()],
            servers: vec![],
            pid,
            heartbeat_ns: clock::now().as_nanos(),
        }
    }

    fn n_files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_is_announced_is_found_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let streams = folder.path().join("a/b");
        let ours = announcement(std::process::id());
        let announced = announce(Some(&streams), &ours, None).unwrap();
        let announced = announce(Some(&streams), &ours, Some(announced)).unwrap();
        assert_eq!(find(Some(&streams)).unwrap(), [ours]);
        drop(announced);
        assert_eq!((find(Some(&streams)).unwrap().len(), n_files(&streams)), (0, 0));
    }

    #[test]
    fn the_dead_are_cleared_and_the_silent_are_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let streams = folder.path().join("streams");
        // No kernel gives so high a number.
        let _dead = announce(Some(&streams), &announcement(0x3fff_fffe), None).unwrap();
        let silent =
            Announcement { heartbeat_ns: clock::now().as_nanos() - 11_000_000_000, ..announcement(std::process::id()) };
        let _silent = announce(Some(&streams), &silent, None).unwrap();
        fs::write(streams.join("letter.json"), "Dear reader").unwrap();
        assert_eq!((find(Some(&streams)).unwrap(), n_files(&streams)), (vec![], 1));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(find(Some(folder.path())), Err(RegistryError::Exposed { .. })));
    }
}
