//! Writing to the disk and reading back, as a database does.

use std::{
    convert::Infallible,
    env,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use rustix::fs::{Advice, fadvise};

use crate::{Step, chance::Chance, error::Fault};

/// Largest length of the scratch file, in blocks.
const FILE_BLOCKS: u64 = 128;
/// Number of bytes that are written and read in one go.
const BLOCK_BYTES: usize = 256 << 10;
/// Mean number of blocks that are written before the disk is waited for.
const MEAN_BLOCKS: f64 = 8.0;

/// Overwrites the scratch file from end to end, and round again.
///
/// The file has no name, so that it is gone with this process, however that ends.
pub(super) fn forever(mut chance: Chance, ready: impl FnOnce()) -> Result<Infallible, Fault> {
    let directory = scratch_directory();
    // What is not text is shown as far as it is.
    let shown = PathBuf::from(directory.to_string_lossy().into_owned());
    let fault = || Fault::at(Step::Scratch(shown.clone()));
    let mut file = tempfile::tempfile_in(&directory).map_err(fault())?;
    let mut block = vec![0; BLOCK_BYTES];
    chance.fill(&mut block);
    write_and_read(&mut file, 0, 1, &mut block).map_err(fault())?;
    ready();
    let mut at = 0;
    loop {
        let n_blocks = ((MEAN_BLOCKS * chance.exponential()) as u64).clamp(1, FILE_BLOCKS - at);
        write_and_read(&mut file, at, n_blocks, &mut block).map_err(fault())?;
        at = (at + n_blocks) % FILE_BLOCKS;
    }
}

/// `TMPDIR`, or else where a distribution keeps large temporary files; `/tmp` is memory on many.
fn scratch_directory() -> PathBuf {
    env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}

/// Writes some blocks, waits until the disk has them, and reads them from there.
fn write_and_read(file: &mut File, at: u64, n_blocks: u64, block: &mut [u8]) -> io::Result<()> {
    let start = SeekFrom::Start(at * BLOCK_BYTES as u64);
    file.seek(start)?;
    (0..n_blocks).try_for_each(|_| file.write_all(block))?;
    file.sync_all()?;
    // Without this the blocks would be read from memory.
    fadvise(&*file, 0, None, Advice::DontNeed)?;
    file.seek(start)?;
    (0..n_blocks).try_for_each(|_| file.read_exact(block))
}
