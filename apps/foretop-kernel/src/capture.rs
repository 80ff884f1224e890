//! A measurement into a file: summaries, records of traced points, and what became of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use kernel::{Engine, Error, Pulled, Recorder, Sink, Traced};
use program::Failure;
use record::Format;
use record::info::Info;
use record_file::RecordFile;

use crate::command::failed;

/// The origin that a file states.
#[derive(Clone)]
pub struct Origin {
    /// `host=…` and the like, by number.
    pub nodes: Vec<String>,
    /// The title that the file's maker gave.
    pub title: Option<String>,
}

impl Origin {
    /// Returns the origin's attributes, together with those of this host, here and now.
    pub fn attributes(&self) -> Vec<(String, String)> {
        let mut attributes = record_file::origin(format!("foretop-kernel {}", env!("CARGO_PKG_VERSION")));
        attributes.extend([
            ("NumNodes".to_owned(), self.nodes.len().to_string()),
            ("Nodes".to_owned(), self.nodes.join(", ")),
        ]);
        attributes.extend(self.title.clone().map(|title| ("Title".to_owned(), title)));
        attributes
    }
}

/// Writes into a folder.
pub struct Capture {
    path: PathBuf,
    recorder: Option<Recorder<BufWriter<File>>>,
    received: BTreeMap<(u32, &'static str), u64>,
    made: BTreeMap<(u32, &'static str), [u64; 2]>,
}

/// The numbers of records of traced points, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    pub made: u64,
    pub received: u64,
    pub dropped: u64,
}

impl Capture {
    /// Begins a file `HOST_YYYYMMDDhhmmss.kernel` in this folder.
    pub fn begin(folder: &Path, format: Format, engine: &Engine, origin: &Origin) -> Result<Self, Failure> {
        let RecordFile { path, file, head } = RecordFile::begin_from(folder, "kernel", origin.attributes())?;
        let recorder = Recorder::new(format, BufWriter::new(file), head, engine.groups().clone()).map_err(failed)?;
        let (received, made) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { path, recorder: Some(recorder), received, made })
    }

    /// Takes out what is traced. Where that is too much, the file has an alarm.
    fn drain(&mut self, engine: &mut Engine) -> Result<(), Error> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let mut result = Ok(());
        let received = &mut self.received;
        let alarm = engine.drain(|node, traced: Traced| {
            *received.entry((node, traced.subsystem.name)).or_default() += 1;
            if result.is_ok() {
                result = recorder.trace(node, &traced);
            }
        })?;
        result?;
        match alarm {
            Some(alarm) => recorder.alarm(clock::monotonic_ns(), alarm),
            None => Ok(()),
        }
    }

    /// Ends the file: nothing is traced any more, what is in the rings is taken out, and the account of it is written.
    pub fn end(mut self, engine: &mut Engine) -> Result<(PathBuf, Fate), Failure> {
        let fate = self.settle(engine).map_err(failed)?;
        let recorder = self.recorder.take().ok_or_else(|| Failure::work("the file has ended already"))?;
        let (_, info) = recorder.finish().map_err(failed)?;
        describe(&self.path, info)?;
        Ok((self.path, fate))
    }

    fn settle(&mut self, engine: &mut Engine) -> Result<Fate, Error> {
        engine.retreat()?;
        self.drain(engine)?;
        let pulled = engine.pull()?;
        self.pulled(engine, &pulled)?;
        let mut fate = Fate::default();
        for ((node, name), [made, dropped]) in std::mem::take(&mut self.made) {
            let received = self.received.get(&(node, name)).copied().unwrap_or(0);
            if made > 0 {
                if let Some(recorder) = &mut self.recorder {
                    recorder.account(node, name, [made, received, dropped])?;
                }
                fate.made += made;
                fate.received += received;
                fate.dropped += dropped;
            }
        }
        Ok(fate)
    }
}

impl Sink for Capture {
    fn pulled(&mut self, engine: &mut Engine, pulled: &[Pulled]) -> Result<(), Error> {
        self.drain(engine)?;
        for one in pulled {
            self.made.insert((one.key.node, one.key.name), [one.summary.records_made, one.summary.life_dropped]);
            if let Some(recorder) = &mut self.recorder {
                recorder.summary(one)?;
            }
        }
        Ok(())
    }

    fn traced(&mut self, engine: &mut Engine) -> Result<(), Error> {
        self.drain(engine)
    }
}

/// Returns the path of the text beside a file.
pub fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".info");
    beside.into()
}

/// Writes the text beside a file that is finished, which begins with the file's name and size.
pub fn describe(path: &Path, mut info: Info) -> Result<(), Failure> {
    let cannot =
        |path: &Path, error: std::io::Error| Failure::work(format!("cannot write `{}`: {error}", path.display()));
    let size = path.metadata().map_err(|error| cannot(path, error))?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    info.head.retain(|(name, _)| name != "FileName");
    info.head.splice(..0, [("FileName".into(), name), ("FileSize".into(), size.to_string())]);
    let beside = beside(path);
    std::fs::write(&beside, info.text()).map_err(|error| cannot(&beside, error))
}
