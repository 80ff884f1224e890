//! State that outlives a restart: the warnings that stand, the silences, and the alerts that nobody was sent yet.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use alert::Alert;
use serde::{Deserialize, Serialize};
use units::Timestamp;

use super::whole;
use crate::api;

const NAME: &str = "warnings.json";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    /// Standing warnings by the names of rules.
    pub(super) standing: BTreeMap<String, Stood>,
    /// Rules of which nobody is told, and until when.
    pub(super) silences: BTreeMap<String, Timestamp>,
    /// Waiting alerts by the names of ways.
    pub(super) waiting: BTreeMap<String, Vec<Alert>>,
}

/// A warning that stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stood {
    pub(super) since: Timestamp,
    /// The alert that others were sent of the warning; nothing if the rule was silent.
    pub(super) told: Option<Alert>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) escalation: Option<Escalation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) acknowledged: Option<api::Acknowledgement>,
}

/// Reach of a warning that was sent: which channels have got it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Escalation {
    /// Moment at which the first channels were sent it.
    pub(super) since: Timestamp,
    /// Channels that wait longer than this for an acknowledgement were not sent it.
    pub(super) reached: Duration,
}

impl Escalation {
    /// Returns how far a warning has gone; 0 for one that was not sent, or is from before there were escalations.
    pub(super) fn reached(of: Option<Self>) -> Duration {
        of.map_or(Duration::ZERO, |escalation| escalation.reached)
    }
}

/// The path of the file, and its content.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    written: Kept,
}

impl File {
    /// Opens the file of a data directory. One that cannot be read is moved out of the way, and this is reported.
    pub(super) fn open(directory: &Path) -> (Self, Kept) {
        let path = directory.join(NAME);
        let kept: Kept = whole::read(&path, "which warnings stood, so that they are raised anew", |bytes| {
            Ok(serde_json::from_slice(bytes)?)
        });
        (Self { path, written: kept.clone() }, kept)
    }

    /// Writes it, unless it is there already. What was there stays whole whatever happens.
    pub(super) fn write(&mut self, kept: Kept) -> io::Result<()> {
        if kept == self.written {
            return Ok(());
        }
        whole::write(&self.path, &serde_json::to_vec(&kept)?)?;
        self.written = kept;
        Ok(())
    }
}
