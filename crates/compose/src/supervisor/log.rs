//! Output of a component: the end of it, in a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Length at which a log begins anew. The output at a component's start and at its end is what is looked for.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Greatest length of a line; the rest of a longer line begins a line of its own.
const LINE_BYTES_MAX: u64 = 4096;

/// A component's log, over all of its processes.
#[derive(Clone)]
pub(super) struct Log(Arc<Mutex<Written>>);

struct Written {
    file: File,
    n_bytes: u64,
    last_line: Option<String>,
}

impl Log {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = own_file::create(path)?;
        file.set_len(0)?;
        Ok(Self(Arc::new(Mutex::new(Written { file, n_bytes: 0, last_line: None }))))
    }

    /// Opens the pipes for a process, as its standard output and its standard error.
    pub(super) fn open(&self) -> io::Result<(PipeWriter, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let second = writer.try_clone()?;
        let written = Arc::clone(&self.0);
        // It ends when the last process that has the other end does.
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            while matches!(reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line), Ok(1..)) {
                written.lock().unwrap_or_else(PoisonError::into_inner).take(&line);
                line.clear();
            }
        })?;
        Ok((writer, second))
    }

    /// Returns the last line that is not blank.
    pub(super) fn last_line(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last_line.clone()
    }
}

impl Written {
    /// Writes a line; a log that cannot be written is no reason to let the component wait.
    fn take(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if !text.trim().is_empty() {
            self.last_line = Some(text.trim().to_owned());
        }
        if self.n_bytes + line.len() as u64 > FILE_BYTES_MAX {
            let began = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
            if let Err(error) = began {
                tracing::warn!(%error, "a log cannot begin anew");
                return;
            }
            self.n_bytes = 0;
        }
        match self.file.write_all(line) {
            Ok(()) => self.n_bytes += line.len() as u64,
            Err(error) => tracing::debug!(%error, "a log cannot be written"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_that_never_stops_talking_fills_no_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = Log::create(&path).unwrap();
        let mut written = log.0.lock().unwrap();
        (0..5000).for_each(|_| written.take(&[b'x'; 1000]));
        written.take(b"the last line\n");
        drop(written);
        assert!(std::fs::metadata(&path).unwrap().len() <= FILE_BYTES_MAX);
        assert_eq!(log.last_line().as_deref(), Some("the last line"));
    }
}
