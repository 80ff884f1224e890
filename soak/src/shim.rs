//! Injector of disk and clock faults into one process: `shim.c`, compiled and preloaded, and the page that controls it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// Positions in the page of the clock's offset and of the error of writes, in bytes.
const CLOCK_AT: u64 = 0;
const WRITE_AT: u64 = 8;

/// The compiled shim and its page.
pub struct Shim {
    library: PathBuf,
    page: PathBuf,
    file: File,
}

impl Shim {
    /// Compiles it into `scratch`.
    pub fn build(scratch: &Path) -> anyhow::Result<Self> {
        let (source, library, page) = (scratch.join("shim.c"), scratch.join("shim.so"), scratch.join("control"));
        fs::write(&source, include_str!("shim.c"))?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl");
        let compiled = compiler.status().context("cannot start cc, which compiles the shim")?;
        ensure!(compiled.success(), "cc does not compile the shim: {compiled}");
        fs::write(&page, [0; 16])?;
        let file = File::options().write(true).open(&page)?;
        Ok(Self { library, page, file })
    }

    /// Lets it into a command, whose writes below `folder` it may fail.
    pub fn preload(&self, command: &mut Command, folder: &Path) {
        command.env("LD_PRELOAD", &self.library).env("SOAK_CONTROL", &self.page).env("SOAK_FOLDER", folder);
    }

    /// Sets the wall clock ahead, or behind, of the machine's.
    pub fn set_clock(&self, offset_ns: i64) -> anyhow::Result<()> {
        Ok(self.file.write_all_at(&offset_ns.to_ne_bytes(), CLOCK_AT)?)
    }

    /// Lets writes fail with this error of the system; none with 0.
    pub fn fail_writes(&self, errno: i32) -> anyhow::Result<()> {
        Ok(self.file.write_all_at(&i64::from(errno).to_ne_bytes(), WRITE_AT)?)
    }
}
