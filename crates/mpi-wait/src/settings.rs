//! Settings of the environment: `docs/formats/mpi-concurrency.md`.

use std::env;
use std::path::PathBuf;

use mpi_trace::{RankPlacing, WaitMode};

/// Folder of files if no other is given, in the folder that the program is started in.
const FOLDER: &str = "foretop-trace";

/// Settings as a rank's environment has them. Values that are not understood are as if they were not set.
#[derive(Debug)]
pub(crate) struct WaitSettings {
    pub(crate) mode: WaitMode,
    /// Number of cores of each host to which ranks bind themselves.
    pub(crate) n_processors: Option<usize>,
    pub(crate) placing: RankPlacing,
    /// Folder of `wait-RANK.jsonl`.
    pub(crate) folder: PathBuf,
    /// The folder of the job, if somebody else made it.
    pub(crate) job: Option<PathBuf>,
    /// Faults of settings.
    pub(crate) faults: Vec<String>,
}

impl WaitSettings {
    /// Reads the settings of this process.
    pub(crate) fn read() -> Self {
        Self::of(|name| env::var_os(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut faults = Vec::new();
        let mode = parsed(&variable, &mut faults, "FORETOP_MPI_WAIT", "library, yield or block", WaitMode::named);
        let n_processors =
            parsed(&variable, &mut faults, "FORETOP_MPI_PROCESSORS", "a number of cores from 1", |text| {
                text.parse().ok().filter(|n: &usize| *n > 0)
            });
        let placing = parsed(&variable, &mut faults, "FORETOP_MPI_PLACING", "blocked or cyclic", RankPlacing::named);
        let folder = variable("FORETOP_MPI_WAIT_FOLDER").or_else(|| variable("FORETOP_MPI_TRACE"));
        let folder = PathBuf::from(folder.unwrap_or_else(|| FOLDER.to_owned()));
        Self {
            mode: mode.unwrap_or(WaitMode::Library),
            n_processors,
            placing: placing.unwrap_or(RankPlacing::Blocked),
            // The program may go elsewhere later.
            folder: std::path::absolute(&folder).unwrap_or(folder),
            job: variable("FORETOP_MPI_JOB").map(PathBuf::from),
            faults,
        }
    }
}

fn parsed<T>(
    variable: &impl Fn(&str) -> Option<String>,
    faults: &mut Vec<String>,
    name: &str,
    wanted: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let text = variable(name)?;
    let value = parse(&text);
    if value.is_none() {
        faults.push(format!("{name} is `{text}` and is passed over: it takes {wanted}"));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> WaitSettings {
        WaitSettings::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_settings_ranks_wait_as_the_library_does() {
        let settings = of(&[]);
        assert_eq!((settings.mode, settings.n_processors, settings.faults.len()), (WaitMode::Library, None, 0));
        assert!(settings.folder.ends_with(FOLDER));
    }

    #[test]
    fn each_value_is_read_and_another_is_named() {
        let settings =
            of(&[("FORETOP_MPI_WAIT", "block"), ("FORETOP_MPI_PROCESSORS", "2"), ("FORETOP_MPI_TRACE", "/t")]);
        assert_eq!((settings.mode, settings.n_processors), (WaitMode::Block, Some(2)));
        assert_eq!(settings.folder, PathBuf::from("/t"));
        for (name, value) in
            [("FORETOP_MPI_WAIT", "spin"), ("FORETOP_MPI_PROCESSORS", "0"), ("FORETOP_MPI_PLACING", "random")]
        {
            let faults = of(&[(name, value)]).faults;
            assert!(faults.len() == 1 && faults[0].contains(name) && faults[0].contains(value), "{faults:?}");
        }
    }
}
