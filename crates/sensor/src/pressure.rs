//! Pressure stall information: for what share of time tasks had to wait, from `/proc/pressure/*`.
//!
//! From the totals, in microseconds, and not from the kernel's own averages, so that the time between two reads is
//! covered once and entirely. Not parsed by the `procfs` crate, which wants a line `some` and a line `full` in
//! each file: interrupts have no `some`, and the CPU has no `full` before Linux 5.13.
//! Format: `Documentation/accounting/psi.rst`.

use std::path::{Path, PathBuf};

use signal::{Family, Signal, row};

use crate::ReadError;
use crate::counter::Rate;
use crate::error::Absence;
use crate::file::{KernelFile, fields, lines, number};
use crate::tick::{Sensor, Tick};

const MICROSECOND: f64 = 1e-6;

/// The pressure on one resource.
pub(crate) struct Pressure {
    file: KernelFile,
    is_cpu: bool,
    some: Option<Rate>,
    full: Option<Rate>,
}

/// The files there are, each with a pattern for what it tells.
///
/// A kernel with pressure off has none of them or refuses to read any of them, and that is one absence.
pub(crate) fn open(root: &Path) -> Vec<(&'static str, Result<Pressure, Absence>)> {
    let cpu = Pressure::open(
        root,
        "proc/pressure/cpu",
        Some(const { row("pressure.cpu.some") }),
        Some(const { row("pressure.cpu.full") }),
    );
    if let Err(Absence::NoFile { .. } | Absence::Unsupported { .. }) = cpu {
        return vec![("pressure.*", Err(Absence::PressureOff))];
    }
    let memory = Pressure::open(
        root,
        "proc/pressure/memory",
        Some(const { row("pressure.memory.some") }),
        Some(const { row("pressure.memory.full") }),
    );
    let io = Pressure::open(
        root,
        "proc/pressure/io",
        Some(const { row("pressure.io.some") }),
        Some(const { row("pressure.io.full") }),
    );
    let irq = Pressure::open(root, "proc/pressure/irq", None, Some(const { row("pressure.irq.full") }));
    let irq = irq.map_err(|absence| match absence {
        Absence::NoFile { .. } | Absence::Unsupported { .. } => Absence::NoInterruptTime,
        other => other,
    });
    vec![("pressure.cpu.*", cpu), ("pressure.memory.*", memory), ("pressure.io.*", io), ("pressure.irq.full", irq)]
}

impl Pressure {
    /// The pressure of a control group, of which only `some` is a signal, if its file can be read.
    pub(crate) fn at(path: PathBuf, some: &'static Family) -> Option<Pressure> {
        let file = KernelFile::at(path);
        file.read(&mut Vec::new()).is_ok_and(|text| !text.is_empty()).then(|| Pressure {
            file,
            is_cpu: false,
            some: Some(Rate::new(Signal::only(some), MICROSECOND)),
            full: None,
        })
    }

    fn open(
        root: &Path,
        file: &'static str,
        some: Option<&'static Family>,
        full: Option<&'static Family>,
    ) -> Result<Pressure, Absence> {
        let rate = |family| Rate::new(Signal::only(family), MICROSECOND);
        Ok(Pressure {
            file: KernelFile::open(root, file)?,
            is_cpu: file.ends_with("cpu"),
            some: some.map(rate),
            full: full.map(rate),
        })
    }
}

impl Sensor for Pressure {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), ReadError> {
        let text = self.file.read(tick.text)?;
        if text.is_empty() {
            return Err(self.file.malformed("a line `some` or `full`", text));
        }
        for line in lines(text) {
            let is_some = fields(line).next() == Some(b"some");
            let rate = match fields(line).next() {
                Some(b"some") => &mut self.some,
                Some(b"full") => &mut self.full,
                _ => return Err(self.file.malformed("a line `some` or `full`", line)),
            };
            let total = fields(line).find_map(|field| number(field.strip_prefix(b"total=")?));
            let total = total.ok_or_else(|| self.file.malformed("`total=` and microseconds", line))?;
            if self.is_cpu && is_some {
                tick.waited_us = Some(total);
            }
            if let Some(rate) = rate {
                rate.step(tick.at, total, tick.readings);
            }
        }
        Ok(())
    }
}
