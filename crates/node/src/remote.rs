//! Servers that samples, forecasts and the node's own health are written to, beside the store.
//!
//! Each has a thread that makes chunks of what the ticks say, by the names and labels of `/metrics`, and puts them into
//! a buffer; what sends them from there is the crate `remote_write`. Neither can hold the sampler up.

mod collector;
mod outlet;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use remote_write::{Place, Settings, Writer};
use signal::{Selection, label_name};
use watch::{OnPanic, Thread, Watch};

use self::collector::Collector;
use self::outlet::Outlet;
use crate::error::StartError;
use crate::hub::health::grouped;
use crate::hub::{GAUGE_HORIZONS, Hub, RemoteCounters, Tick};

/// The longest horizon that is written, and the longest time between two forecasts.
const HORIZON_MAX: Duration = Duration::from_secs(86_400);

const NAME_BYTES_MAX: usize = 64;

/// A server that takes remote write, and what it is to have.
#[derive(Clone, Debug)]
pub struct RemoteWrite {
    /// The name of the server, in metrics, in problems and in the name of the buffer's file; unique among servers.
    pub name: String,
    /// Settings for writing to the server.
    pub settings: Settings,
    /// The signals that are written.
    pub select: Selection,
    /// Horizons of the forecasts that the server gets, up to a day; none for no forecasts.
    pub horizons: Vec<Duration>,
    /// Whether forecasts are written as `yhat`, `yhat_lower` and `yhat_upper` too.
    pub yhat: bool,
    /// The time between two forecasts of a signal, and between two reports on the node's own health.
    pub forecast_every: Duration,
    /// Labels of every series that is written. `job` is `foretop` and `instance` the host unless they say otherwise.
    pub labels: BTreeMap<String, String>,
}

/// A server that is written to.
#[derive(Debug)]
pub(crate) struct Remote {
    name: Arc<str>,
    outlet: Outlet,
    writer: Writer,
    /// The reason why the buffer cannot be written, while that is so.
    problem: Mutex<Option<String>>,
}

impl RemoteWrite {
    /// The server called `name`, with the forecasts that `/metrics` has, every 10 seconds.
    #[must_use]
    pub fn new(name: String, settings: Settings) -> Self {
        Self {
            name,
            settings,
            select: Selection::default(),
            horizons: GAUGE_HORIZONS.to_vec(),
            yhat: false,
            forecast_every: Duration::from_secs(10),
            labels: BTreeMap::new(),
        }
    }

    fn check(&self) -> Result<(), StartError> {
        let name = self.name.clone();
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) || name.contains(char::is_control) {
            return Err(StartError::RemoteWriteName { name });
        }
        let is_in_range = |span: &Duration| !span.is_zero() && *span <= HORIZON_MAX;
        if let Some(given) = self.horizons.iter().chain([&self.forecast_every]).find(|span| !is_in_range(span)) {
            return Err(StartError::RemoteWriteSpan { name, given: *given });
        }
        let is_label = |label: &&String| !label.starts_with("__") && label_name(label) == **label;
        if let Some(label) = self.labels.keys().find(|label| !is_label(label)) {
            return Err(StartError::RemoteWriteLabel { name, label: label.clone() });
        }
        self.settings.check().map_err(|source| StartError::RemoteWrite { name, source: Box::new(source.into()) })
    }

    /// The name of the file that the buffer is in: what is no letter, digit, dot or dash becomes `_`.
    fn file_name(&self) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
        let plain: String = self.name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
        format!("remote-write-{plain}.db")
    }

    fn place(&self, data_dir: Option<&Path>) -> Place {
        data_dir.map_or(Place::Memory, |directory| Place::File(directory.join(self.file_name())))
    }
}

/// Checks that all settings can be met, and no two servers would have the same buffer.
pub(crate) fn check(remotes: &[RemoteWrite]) -> Result<(), StartError> {
    let mut files = BTreeSet::new();
    for remote in remotes {
        remote.check()?;
        if !files.insert(remote.file_name()) {
            return Err(StartError::RemoteWriteTwice { name: remote.name.clone() });
        }
    }
    Ok(())
}

/// The servers that are written to. When it is dropped, what is there is written into the buffers, what a few seconds
/// allow is sent, and the threads end.
#[derive(Debug, Default)]
pub(crate) struct Remotes {
    remotes: Vec<Arc<Remote>>,
    collectors: Vec<Thread>,
}

impl Remotes {
    /// Opens the buffers. The folder of the store has to be locked.
    pub(crate) fn open(wanted: &[RemoteWrite], data_dir: Option<&Path>, watch: &Watch) -> Result<Self, StartError> {
        let mut opened = Self::default();
        for one in wanted {
            let failed = |source| StartError::RemoteWrite { name: one.name.clone(), source: Box::new(source) };
            opened.remotes.push(Arc::new(Remote {
                name: one.name.as_str().into(),
                outlet: Outlet::default(),
                writer: Writer::start(&one.settings, &one.place(data_dir), watch).map_err(failed)?,
                problem: Mutex::default(),
            }));
        }
        Ok(opened)
    }

    pub(crate) fn listeners(&self) -> Vec<Weak<Remote>> {
        self.remotes.iter().map(Arc::downgrade).collect()
    }

    /// Begins to collect what the hub tells those that were opened for `wanted`.
    pub(crate) fn collect(&mut self, wanted: &[RemoteWrite], hub: &Arc<Hub>, watch: &Watch) -> Result<(), StartError> {
        for (wanted, remote) in wanted.iter().zip(&self.remotes) {
            let mut collector = Collector::new(wanted, Arc::clone(remote), Arc::clone(hub));
            let name = format!("buffer {}", wanted.name);
            let thread = Thread::start(watch, name, OnPanic::BeginAgain, move |_| collector.run());
            self.collectors.push(thread.map_err(StartError::NoThread)?);
        }
        Ok(())
    }
}

impl Drop for Remotes {
    fn drop(&mut self) {
        self.remotes.iter().for_each(|remote| remote.outlet.stop());
        self.collectors.clear();
        thread::scope(|scope| {
            for remote in &self.remotes {
                scope.spawn(|| remote.writer.stop());
            }
        });
    }
}

impl Remote {
    pub(crate) fn offer(&self, tick: &Arc<Tick>) {
        self.outlet.offer(tick);
    }

    pub(crate) fn counters(&self) -> RemoteCounters {
        let (status, n_not_buffered) = (self.writer.status(), self.outlet.n_dropped());
        RemoteCounters { name: Arc::clone(&self.name), status, n_not_buffered }
    }

    /// Returns the problems that a person should look at.
    pub(crate) fn problems(&self) -> Vec<String> {
        let status = self.writer.status();
        let buffer = self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sending = status.problem.map(|problem| {
            format!("remote write {}: {problem}; {} samples wait", self.name, grouped(status.n_pending))
        });
        buffer.map(|problem| format!("remote write {}: {problem}", self.name)).into_iter().chain(sending).collect()
    }

    fn note(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}
