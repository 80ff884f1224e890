//! Place of files: the device, the file system and how it is mounted.

use std::path::Path;

use crate::Error;

/// The place of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The device that is mounted, such as `/dev/vda`.
    pub device: String,
    /// The file system on it.
    pub file_system: String,
    /// The mount options.
    pub options: String,
}

/// Returns the place of `folder`, by the table of mounts of this process.
///
/// # Errors
/// Where the folder is not there, or the table cannot be read.
pub fn place(folder: &Path) -> Result<Place, Error> {
    let file = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { doing, path, source }
    };
    let folder = folder.canonicalize().map_err(file("find", folder))?;
    let table = Path::new("/proc/self/mountinfo");
    let text = std::fs::read_to_string(table).map_err(file("read", table))?;
    Ok(of(&text, &folder).unwrap_or_default())
}

/// The last of the longest mount points that the folder lies under.
fn of(table: &str, folder: &Path) -> Option<Place> {
    let mounts = table.lines().filter_map(|line| {
        let (first, second) = line.split_once(" - ")?;
        let first: Vec<&str> = first.split(' ').collect();
        let mut second = second.split(' ');
        // Spaces in names are written as an octal number.
        let point = first.get(4)?.replace("\\040", " ");
        let file_system = second.next()?.to_owned();
        let place = Place { device: second.next()?.into(), file_system, options: (*first.get(5)?).into() };
        folder.starts_with(&point).then_some((point.len(), place))
    });
    mounts.max_by_key(|(length, _)| *length).map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_point_counts() {
        let table = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
                     30 22 0:25 / /a\\040b rw,nosuid - tmpfs none rw,size=1g\n";
        let place = of(table, Path::new("/a b/c")).unwrap();
        assert_eq!(
            (place.device.as_str(), place.file_system.as_str(), place.options.as_str()),
            ("none", "tmpfs", "rw,nosuid")
        );
        assert_eq!(of(table, Path::new("/a")).unwrap().device, "/dev/vda");
    }
}
