//! The list of what is watched, and which processes belong to each entry of it.

use crate::process::ProcessCgroup;
use crate::task_stat::TaskStat;

/// Largest number of entries, one for each bit of a mask.
pub(super) const N_ENTRIES_MAX: usize = u64::BITS as usize;

/// Largest length of an entry, in bytes: names of units are shorter than `UNIT_NAME_MAX` of systemd.
const ENTRY_LEN_MAX: usize = 255;

/// Length of a program's name in the kernel: `TASK_COMM_LEN` of `include/linux/sched.h`, without the 0 at the end.
const NAME_LEN: usize = 15;

/// Least number of digits by which a container is known, as container engines show them.
const ID_DIGITS_MIN: usize = 12;

/// Programs, systemd services and containers that are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchList {
    entries: Vec<WatchEntry>,
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WatchEntry {
    /// Text of the entry, as it was given.
    pub given: String,
    wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Program(String),
    Unit(String),
    Container { engine: Option<String>, name: String },
}

/// The reason why texts are not a list of what to watch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchListError {
    /// No name is given.
    #[error("`{given}` names nothing to watch: write postgres, unit:nginx.service or container:web")]
    Empty {
        /// The text.
        given: String,
    },
    /// The text before the colon is no kind of what can be watched.
    #[error(
        "`{given}` begins with the unknown `{prefix}:`: write unit:NAME.service, container:NAME, or program:NAME for \
         a program whose name has a colon"
    )]
    UnknownPrefix {
        /// The text.
        given: String,
        /// The part before the colon.
        prefix: String,
    },
    /// The unit is no service.
    #[error("`{given}` is no service: write the whole name, such as unit:nginx.service")]
    NoService {
        /// The text.
        given: String,
    },
    /// The text is longer than any name.
    #[error("a name of {given} bytes is too long to watch: {ENTRY_LEN_MAX} is the most")]
    TooLong {
        /// The length, in bytes.
        given: usize,
    },
    /// An entry is there twice.
    #[error("`{given}` is to be watched twice: write it once")]
    Twice {
        /// The text.
        given: String,
    },
    /// The list is too long.
    #[error("{given} programs, units and containers are too many to watch: {N_ENTRIES_MAX} is the most")]
    TooMany {
        /// The number of entries.
        given: usize,
    },
}

impl WatchList {
    /// Parses a list of at most 64 different entries of at most 255 bytes each:
    ///
    /// - `NAME` or `program:NAME`, a program by the name in `/proc/PID/stat`. That has at most 15 bytes, so a longer
    ///   name matches by its first 15. Threads of the kernel are known by the part before the `/` as well.
    /// - `unit:NAME.service`, the processes whose innermost systemd service has this name.
    /// - `container:NAME`, the processes in the container with this name, or whose id begins with these 12 or more
    ///   digits, as far as paths of control groups have them. An engine may stand before it:
    ///   `container:docker:0123456789ab`.
    ///
    /// # Errors
    /// [`WatchListError`] for the first text that is no entry, or is there twice, and for too many.
    pub fn new<S: AsRef<str>>(given: &[S]) -> Result<WatchList, WatchListError> {
        if given.len() > N_ENTRIES_MAX {
            return Err(WatchListError::TooMany { given: given.len() });
        }
        let mut entries: Vec<WatchEntry> = Vec::with_capacity(given.len());
        for text in given {
            let entry = WatchEntry::parse(text.as_ref())?;
            if entries.contains(&entry) {
                return Err(WatchListError::Twice { given: entry.given });
            }
            entries.push(entry);
        }
        Ok(WatchList { entries })
    }

    /// Whether nothing is watched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn entries(&self) -> &[WatchEntry] {
        &self.entries
    }
}

impl WatchEntry {
    fn parse(text: &str) -> Result<WatchEntry, WatchListError> {
        let given = text.to_owned();
        let (prefix, name) = text.split_once(':').unwrap_or(("program", text));
        let wanted = match prefix {
            _ if text.len() > ENTRY_LEN_MAX => return Err(WatchListError::TooLong { given: text.len() }),
            _ if name.trim().is_empty() => return Err(WatchListError::Empty { given }),
            "program" => Wanted::Program(name.to_owned()),
            "unit" if name.ends_with(".service") => Wanted::Unit(name.to_owned()),
            "unit" => return Err(WatchListError::NoService { given }),
            "container" => {
                let (engine, name) = name.split_once(':').map_or((None, name), |(engine, name)| (Some(engine), name));
                Wanted::Container { engine: engine.map(str::to_owned), name: name.to_owned() }
            }
            prefix => return Err(WatchListError::UnknownPrefix { prefix: prefix.to_owned(), given }),
        };
        Ok(WatchEntry { given, wanted })
    }

    /// Whether it is a unit or a container, which control groups show.
    pub(super) fn is_of_groups(&self) -> bool {
        !matches!(self.wanted, Wanted::Program(_))
    }

    /// Whether a process with this `stat` is the program.
    pub(super) fn is_program(&self, stat: &TaskStat<'_>) -> bool {
        let Wanted::Program(name) = &self.wanted else { return false };
        let is_same = |other: &[u8]| name.as_bytes() == other || name.as_bytes().get(..NAME_LEN) == Some(other);
        let before_slash = stat.name.split(|&byte| byte == b'/').next().filter(|_| stat.is_kernel);
        is_same(stat.name) || before_slash.is_some_and(is_same)
    }

    /// Whether a process in this group belongs to the unit or container.
    pub(super) fn is_in(&self, group: &ProcessCgroup) -> bool {
        match &self.wanted {
            Wanted::Program(_) => false,
            Wanted::Unit(unit) => group.unit.as_ref() == Some(unit),
            Wanted::Container { engine: wanted, name } => {
                let Some((engine, shown)) = group.container.as_deref().and_then(|shown| shown.split_once(':')) else {
                    return false;
                };
                // Of an id, `shown` has the first digits, and the path has all of them.
                let is_id = || name.get(..ID_DIGITS_MIN) == Some(shown) && group.path.contains(name.as_str());
                wanted.as_deref().is_none_or(|wanted| wanted == engine) && (shown == name || is_id())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(given: &[&str], message: &str) {
        let error = WatchList::new(given).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }

    #[test]
    fn a_text_that_can_match_nothing_is_refused() {
        check_refused(&[""], "`` names nothing to watch: write postgres,");
        check_refused(&["a", "unit: "], "`unit: ` names nothing to watch");
        check_refused(&["uint:a.service"], "`uint:a.service` begins with the unknown `uint:`: write unit:NAME.service");
        check_refused(&["unit:nginx"], "`unit:nginx` is no service: write the whole name");
        check_refused(&["a", "b", "a"], "`a` is to be watched twice");
        check_refused(&[&"a".repeat(256)], "a name of 256 bytes is too long to watch: 255 is the most");
        let many: Vec<String> = (0..65).map(|idx| format!("p{idx}")).collect();
        assert_eq!(WatchList::new(&many), Err(WatchListError::TooMany { given: 65 }));
        assert!(WatchList::new(&many[1..]).is_ok() && WatchList::new::<&str>(&[]).unwrap().is_empty());
    }

    #[track_caller]
    fn check_program(given: &str, name: &[u8], is_kernel: bool, expected: bool) {
        let zeros = "0 ".repeat(15);
        let flags = if is_kernel { 0x0020_0000 } else { 0 };
        let after = format!(") S 1 1 1 0 -1 {flags} 0 0 0 0 1 0 0 0 20 0 1 0 5 {zeros}17 0 0 0");
        let text = [b"7 (", name, after.as_bytes()].concat();
        let list = WatchList::new(&[given]).unwrap();
        assert_eq!(list.entries[0].is_program(&TaskStat::parse(&text).unwrap()), expected, "{given}");
    }

    #[test]
    fn a_program_has_the_name_in_its_stat() {
        check_program("postgres", b"postgres", false, true);
        check_program("postgre", b"postgres", false, false);
        check_program("postgres-exporter", b"postgres-export", false, true);
        check_program("postgres-exporter", b"postgres", false, false);
        check_program("program:tmux: server", b"tmux: server", false, true);
        check_program(") R 1 (", b") R 1 (", false, true);
        check_program("kworker", b"kworker/0:1-events", true, true);
        check_program("program:kworker/0:1-events", b"kworker/0:1-events", true, true);
        check_program("kworker", b"kworker/0:1", false, false);
    }

    #[track_caller]
    fn check_group(given: &str, path: &str, expected: bool) {
        let id = "3f4e0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789ab";
        let group = ProcessCgroup::parse(format!("0::{path}\n").replace("ID", id).as_bytes());
        let list = WatchList::new(&[given.replace("ID", id)]).unwrap();
        assert_eq!(list.entries[0].is_in(&group), expected, "{given} {group:?}");
    }

    #[test]
    fn a_unit_is_the_innermost_one() {
        check_group("unit:nginx.service", "/system.slice/nginx.service", true);
        check_group("unit:nginx.service", "/system.slice/nginx.service/web.service", false);
        check_group("unit:nginx.service", "/system.slice/my-nginx.service", false);
        check_group("unit:nginx.service", "/", false);
    }

    #[test]
    fn a_container_is_known_by_its_name_or_the_first_digits_of_its_id() {
        check_group("container:web", "/lxc.payload.web/system.slice/nginx.service", true);
        check_group("container:machine:web", "/lxc.payload.web", false);
        check_group("container:we", "/lxc.payload.web", false);
        for given in
            ["container:3f4e0a1b2c3d", "container:3f4e0a1b2c3d4e5f", "container:docker:3f4e0a1b2c3d", "container:ID"]
        {
            check_group(given, "/system.slice/docker-ID.scope", true);
        }
        check_group("container:3f4e0a1b2c3", "/system.slice/docker-ID.scope", false);
        check_group("container:3f4e0a1b2c3d0", "/system.slice/docker-ID.scope", false);
        check_group("container:podman:3f4e0a1b2c3d", "/system.slice/docker-ID.scope", false);
    }
}
