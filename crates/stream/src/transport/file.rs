//! Files of frames: recorded streams.

use std::io::{self, SeekFrom};
use std::path::Path;

use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::{BytesIn, io_error};
use crate::endpoint::Endpoint;
use crate::error::OpenError;
use crate::frame::Decoder;

pub(super) async fn source(endpoint: &Endpoint, path: &Path) -> Result<BytesIn, OpenError> {
    Ok(Box::new(File::open(path).await.map_err(io_error(endpoint))?))
}

/// A file that ends with a whole frame whenever nothing is being written to it.
pub(crate) struct FrameFile {
    file: File,
    n_whole: u64,
}

impl FrameFile {
    /// Opens a file to append to. What a dead process left of its last frame is cut off.
    pub(super) async fn open(endpoint: &Endpoint, path: &Path) -> Result<Self, OpenError> {
        let open = async {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).await?;
            let n_whole = whole_frames(&mut file).await?;
            let mut file = Self { file, n_whole };
            file.cut().await?;
            Ok(file)
        };
        open.await.map_err(io_error(endpoint))
    }

    /// Appends whole frames; none of them when that fails.
    pub(crate) async fn append(&mut self, frames: &[u8]) -> io::Result<()> {
        let written = async {
            self.file.write_all(frames).await?;
            self.file.flush().await
        };
        match written.await {
            Ok(()) => {
                self.n_whole += frames.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.cut().await?;
                Err(error)
            }
        }
    }

    async fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.n_whole).await?;
        self.file.seek(SeekFrom::Start(self.n_whole)).await.map(|_| ())
    }
}

/// Returns the position where the last whole frame ends. A file that is damaged before its end, or something else
/// altogether, is not touched.
async fn whole_frames(file: &mut File) -> io::Result<u64> {
    let mut decoder = Decoder::default();
    loop {
        decoder.buffer().reserve(1 << 16);
        let n_read = file.read_buf(decoder.buffer()).await?;
        while decoder.next_frame().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?.is_some() {}
        if n_read == 0 {
            return Ok(decoder.position());
        }
    }
}
